/** Memory of products in 16 bits on a CPU: their operands are packed for one product at a time. */
import { roundedHeadBytes } from "../../kernels/ops/head/wasm.ts";
import { packedRowBytes } from "../../kernels/ops/matmul/wasm/rounded.ts";
import { backwardWidths } from "../../models/network/layer_buffers.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";

/**
 * Bytes of the packed rows of the largest product of a training pass, and of the head's chunk; 0 in
 * float32, and on a card (card_scratch.ts). The panels of weights are in the threads' scratch, some
 * 100 KB each.
 */
export function panelBytes(
  { config, computeDtype, card, lora }: ModelSizes,
  { rows, pairs }: { rows: number; pairs: number },
): number {
  if (computeDtype === "float32" || card !== null) return 0;
  const widest = Math.max(...Object.values(backwardWidths(config)));
  // The rows of an adapter's input are packed beside those of the layer's.
  const rank = Math.max(0, ...lora.map(({ r }) => r)), adapter = packedRowBytes(rows, rank);
  const layers = Math.max(packedRowBytes(rows, widest) + adapter, packedRowBytes(widest, rows));
  return Math.max(layers, roundedHeadBytes(pairs, config.vocabSize, config.hiddenSize));
}
