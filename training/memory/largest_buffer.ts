/**
 * The largest single buffer of a run. WebGPU, and some drivers, limit a buffer to less than the
 * memory of a card, so a run can fail there although all of its buffers together would fit.
 */
import { bytesText } from "../../core/bytes.ts";
import { packedLength } from "../../kernels/ops/matmul/spec.ts";
import { headName } from "../../models/architectures/mod.ts";
import { MAX_COPY_BYTES } from "../../models/network/merged_copies.ts";
import { backwardWidths } from "../../models/network/layer_buffers.ts";
import { layerBuffers, passBuffers, planParameterBytes } from "../../models/network/model_bytes.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { bufferCapacity } from "../../models/network/workspace.ts";
import { packedBytes } from "../../models/generation/packed_weights.ts";
import { largestPasses, type StepSize } from "./step_memory.ts";

/** The largest tensor of a run. */
export interface LargestBuffer {
  /** Its size. */
  bytes: number;
  /** What it holds, for messages. */
  what: string;
}

/**
 * The largest buffer of the weights and of the training passes. A generation is not counted: it
 * runs in parts whose buffers are small enough.
 */
export function largestBuffer(sizes: ModelSizes, size: StepSize): LargestBuffer {
  const { config, floatBytes } = sizes, { vocabSize, hiddenSize } = config;
  const { largestGradient, largestFrozen: [frozen] } = planParameterBytes(sizes);
  const copies = packedBytes(sizes), width = sizes.computeDtype === "bfloat16" ? 2 : floatBytes;
  const packsHead = copies > 0 && copies <= MAX_COPY_BYTES && !sizes.storage.has(headName(config));
  const buffers: LargestBuffer[] = [
    { bytes: largestGradient, what: "the gradient of the largest weight" },
    { bytes: frozen, what: "the largest frozen weight" },
    {
      bytes: packsHead ? width * packedLength(vocabSize, hiddenSize) : 0,
      what: "the head's weight, packed",
    },
  ];
  for (const { rows, pairs } of largestPasses(sizes, size).passes) {
    const widest = Math.max(
      ...layerBuffers(sizes, rows, "all"),
      ...passBuffers(sizes, rows),
      ...Object.values(backwardWidths(config)).map((width) => rows * width),
      pairs * hiddenSize,
    );
    const bytes = floatBytes * bufferCapacity(widest);
    buffers.push({ bytes, what: `activations of ${rows} tokens in one pass` });
  }
  return buffers.reduce((best, buffer) => buffer.bytes > best.bytes ? buffer : best);
}

/** Why the largest buffer is too large for a device; null when it is not. */
export function bufferMisfit(
  { bytes, what }: LargestBuffer,
  { largestTensor = Infinity, adapter }: {
    largestTensor?: number | undefined;
    adapter?: { name: string } | undefined;
  },
): string | null {
  if (bytes <= largestTensor) return null;
  return `the run needs a buffer of ${bytesText(bytes)} (${what}), and ` +
    `${adapter?.name ?? "the device"} has buffers of at most ${bytesText(largestTensor)}`;
}
