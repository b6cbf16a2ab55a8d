/** The scratch memory of attention on a GPU, for the operation and for plans. */
import type { WebgpuTraits } from "../common/webgpu_op.ts";
import { MIN_PART_ROWS } from "./backward.wgsl.ts";
import { splitLength, unitsForAttention } from "./matrix_attention.ts";
import type { AttentionArgs } from "./spec.ts";

/**
 * Max number of parts that the queries of a tile of keys are divided into, and max number of
 * elements of the sums of all parts together.
 */
const MAX_PARTS = 8;
const MAX_PART_ELEMENTS = 2 ** 24;

type Shape = Pick<AttentionArgs, "rows" | "heads" | "kvHeads" | "headDim">;

/**
 * Number of parts of the queries in the gradient of the keys.
 * @param elements of the keys in one binding
 */
export function gradientParts(rows: number, elements: number, bindingElements: number): number {
  const fitting = Math.floor(
    Math.min(MAX_PART_ELEMENTS, bindingElements) / Math.max(1, elements),
  );
  return Math.max(1, Math.min(MAX_PARTS, Math.ceil(rows / MIN_PART_ROWS), fitting));
}

/** Maximum number of scratch elements that the gradient takes, with any of its kernels. */
export function gradientScratch(
  shape: Shape,
  traits: Pick<WebgpuTraits, "limits" | "matrixUnits">,
): number {
  const { rows, heads, kvHeads, headDim } = shape, elements = rows * kvHeads * headDim;
  const parts = gradientParts(rows, elements, traits.limits.bindingElements);
  const units = unitsForAttention(shape, 2, traits);
  const stats = 2 * rows * heads, limits = 2 * rows;
  return stats + limits + (parts === 1 ? 0 : 2 * parts * elements) +
    (units === null ? 0 : splitLength(shape, units, 2));
}
