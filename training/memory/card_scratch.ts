/**
 * Memory of operations on a graphics card beside their tensors: it is taken for one operation at a
 * time.
 */
import { gradientScratch } from "../../kernels/ops/attention/scratch.ts";
import { decodeScratch } from "../../kernels/ops/attention_decode/scratch.ts";
import { chunkSizes } from "../../kernels/ops/head/choose.ts";
import { sumScratch } from "../../kernels/ops/matmul/webgpu/choose.ts";
import { matrixScratch } from "../../kernels/ops/matmul/webgpu/matrix_product.ts";
import { linearDims, modulesOf } from "../../models/architectures/mod.ts";
import type { GenerationSizes } from "../../models/generation/memory/generation_bytes.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";

/** A card's limits are not known before it is opened: these leave the most scratch. */
const ANY_LIMITS = {
  bindingElements: Infinity,
  groupsPerDimension: Infinity,
  workgroupBytes: Infinity,
  invocations: Infinity,
};

interface Work {
  /** Rows, and branch tokens, of the largest pass. */
  rows: number;
  pairs: number;
  wave: GenerationSizes;
}

/** Maximum number of bytes that one operation takes; 0 on a CPU. */
export function cardScratchBytes(sizes: ModelSizes, { rows, pairs, wave }: Work): number {
  const { config, card, lora, computeDtype } = sizes;
  if (card === null) return 0;
  const traits = { ...card, limits: ANY_LIMITS };
  const { numHeads: heads, numKvHeads: kvHeads, headDim, vocabSize: vocab, hiddenSize: d } = config;
  const modules = modulesOf(config).map((module) => linearDims(config, module));
  const onUnits = (m: number, n: number, k: number) =>
    card.matrixUnits && computeDtype !== "float32" ? matrixScratch({ m, n, k }) : 0;
  const chunk = chunkSizes({ rows: pairs, vocab, d }, traits);
  const needs = [
    gradientScratch({ rows, heads, kvHeads, headDim }, traits),
    // The logits, while a product of theirs has scratch of its own.
    chunk.rows * (chunk.width + 4) + onUnits(chunk.rows, chunk.width, d),
    decodeScratch({ ...wave, heads, headDim }),
    ...modules.flatMap(([from, to]) => [
      onUnits(rows, to, from),
      onUnits(rows, from, to),
      onUnits(to, from, rows),
    ]),
    ...(card.software ? [] : lora.flatMap(({ module, r }) => {
      const [from, to] = linearDims(config, module);
      return [sumScratch({ m: to, n: r, k: rows }), sumScratch({ m: r, n: from, k: rows })];
    })),
  ];
  return 4 * Math.max(...needs);
}
