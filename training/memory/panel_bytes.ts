/** Memory of products in 16 bits on a CPU: their operands are packed for one product at a time. */
import { roundedHeadBytes } from "../../kernels/ops/head/wasm.ts";
import { operandBytes, packedRowBytes } from "../../kernels/ops/matmul/wasm/rounded.ts";
import { linearDims, modulesOf } from "../../models/architectures/mod.ts";
import { backwardWidths } from "../../models/network/layer_buffers.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";

/**
 * Bytes of the packed operand of the largest product of a training pass, and of the head's chunk;
 * 0 in float32, and on a card (card_scratch.ts). The panels of weights are in the threads' scratch,
 * some 100 KB each.
 */
export function panelBytes(
  { config, computeDtype, card, lora }: ModelSizes,
  { rows, pairs }: { rows: number; pairs: number },
): number {
  if (computeDtype === "float32" || card !== null) return 0;
  const widest = Math.max(...Object.values(backwardWidths(config)));
  // An adapter's operand is packed beside that of the layer.
  const rank = Math.max(0, ...lora.map(({ r }) => r));
  const layers = modulesOf(config).flatMap((module) => {
    const [from, to] = linearDims(config, module);
    return [operandBytes(rows, to, from, rank), operandBytes(rows, from, to, 0)];
  });
  return Math.max(
    ...layers,
    packedRowBytes(widest, rows),
    roundedHeadBytes(pairs, config.vocabSize, config.hiddenSize),
  );
}
