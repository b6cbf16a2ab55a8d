/** Tensors of a card that is not there, and the sizes of a model of 0.5 billion parameters. */
import type { DType, Tensor } from "../../kernels/tensor.ts";

/** Qwen2.5-0.5B; rows of a training batch and of a chunk of the head; branches while decoding. */
export const CARD = {
  d: 896,
  inner: 4864,
  vocab: 151_936,
  heads: 14,
  kvHeads: 2,
  rows: 4096,
  headRows: 256,
  branches: 64,
} as const;

/** A tensor that has only a size; every one has memory of its own. */
export function sized(length: number, dtype: DType = "float"): Tensor {
  return {
    device: { name: "card" },
    dtype,
    length,
    label: "sized",
    view: (_, part) => sized(part, dtype),
  };
}
