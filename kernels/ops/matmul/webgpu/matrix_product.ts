/** Dispatches of a product on matrix units (matrix.wgsl.ts). */
import type { Tensor } from "../../../tensor.ts";
import { isBlockType, type WeightType } from "../../../weights/types.ts";
import { blockParams } from "../../../weights/widen.wgsl.ts";
import { variants } from "../../common/wgsl/kernel.ts";
import type { MatrixUnits, WebgpuContext, WebgpuTraits } from "../../common/webgpu_op.ts";
import type { MatmulArgs } from "../spec.ts";
import {
  MATRIX_TERMS,
  MATRIX_TILE,
  matrixBytes,
  matrixKernel,
  PACKED_ROWS,
  packHalvesKernel,
} from "./matrix.wgsl.ts";
import type { Rounding } from "./elements.wgsl.ts";
import type { Layout } from "./operands.wgsl.ts";

/** A product with fewer rows, columns or terms leaves most of a tile empty. */
const MIN_SIZE = 16;

const packHalves = variants(packHalvesKernel);
const matrix = variants(matrixKernel);

const padded = (n: number, to: number) => Math.ceil(n / to) * to;
/** Words of an operand in halves. */
const halvesLength = (rows: number, k: number) =>
  padded(rows, MATRIX_TILE) * padded(k, MATRIX_TERMS) / 2;

/** The units for a product, without its adapter; null where it needs other kernels. */
export function unitsFor(
  { a, b, out, m, n, k }: MatmulArgs,
  { matrixUnits = null, limits }: Pick<WebgpuTraits, "matrixUnits" | "limits">,
): MatrixUnits | null {
  if (matrixUnits === null || Math.min(m, n, k) < MIN_SIZE) return null;
  if (matrixBytes(matrixUnits.edge) > limits.workgroupBytes) return null;
  if (4 * matrixUnits.subgroup > limits.invocations) return null;
  const lengths = [a.length, b.length, out.length, halvesLength(m, k), halvesLength(n, k)];
  return lengths.every((length) => length <= limits.bindingElements) ? matrixUnits : null;
}

/** The product without its adapter. @param rounding how both operands are rounded */
export function matrixProduct(
  args: MatmulArgs,
  units: MatrixUnits,
  rounding: Exclude<Rounding, null>,
  ctx: WebgpuContext,
): void {
  const { m, n, k, transA, transB, weightType = "f32" } = args;
  const along = { layout: transA ? "across" : "along", type: "f32", rounding } as const;
  const a = packed(args.a, along, transA ? m : k, m, k, ctx);
  const layout = transB ? "along" : "across";
  const kind = { layout, type: weightType, rounding } as const;
  const b = packed(args.b, kind, transB ? k : n, n, k, ctx);
  const groups = Math.ceil(m / MATRIX_TILE) * Math.ceil(n / MATRIX_TILE);
  ctx.dispatch({
    kernel: matrix(units),
    buffers: {
      mat_a: a.halves,
      mat_b: b.halves,
      scale_a: a.scales,
      scale_b: b.scales,
      mat_out: args.out,
    },
    params: {
      m,
      n,
      padded_k: padded(k, MATRIX_TERMS),
      ldo: n,
      m_first: m <= n ? 1 : 0,
      add: args.accumulate ? 1 : 0,
      alpha: args.alpha ?? 1,
    },
    groups,
    flops: 2 * m * n * k,
  });
}

/** @param length elements of a row of the stored matrix */
function packed(
  operand: Tensor,
  kind: { layout: Layout; type: "f32" | WeightType; rounding: Exclude<Rounding, null> },
  length: number,
  rows: number,
  k: number,
  ctx: WebgpuContext,
): { halves: Tensor; scales: Tensor } {
  const halves = ctx.scratch("u32", halvesLength(rows, k), "halves");
  const scales = ctx.scratch("float", rows, "scales");
  const { type } = kind;
  ctx.dispatch({
    kernel: packHalves(kind),
    buffers: { mat_b: operand, packed_halves: halves, row_scales: scales },
    params: {
      rows,
      k,
      padded_k: padded(k, MATRIX_TERMS),
      ...(isBlockType(type)
        ? { ...blockParams(type, length, 0), b_column: 0 }
        : { ldb: length, b_base: 0 }),
    },
    groups: padded(rows, MATRIX_TILE) / PACKED_ROWS,
  });
  return { halves, scales };
}
