/**
 * The input and output of passes over a model. The one data structure is the group: a prompt once,
 * and its branches. Nothing is padded.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import type { WeightType } from "../formats/stored_weight.ts";

/** A prompt and its branches (completions), as token ids. There may be none, or empty ones. */
export interface Group {
  promptIds: readonly number[];
  branches: readonly (readonly number[])[];
  /** The prompt's number in the run (within the pass), which keys dropout with the branch. */
  promptId?: number;
  /** Number of the first branch, when a group is split into several; default 0. */
  firstBranch?: number;
}

/** Keys the dropout masks, with the prompt, branch and position of each row (dropout.ts). */
export interface DropoutKey {
  seed: number;
  /** Which training over the prompts it is: a value of DROPOUT_PASS in core/philox.ts. */
  pass: number;
}

/** A tensor of the model. Only trainable parameters have a `grad`, which `backward` adds to. */
export interface Parameter {
  /** Name of the tensor in Hugging Face's (or PEFT's) format. */
  name: string;
  /** Its dimensions, in the order of the file. */
  shape: readonly number[];
  /**
   * u32 for weights in a storage type.
   * @internal
   */
  value: Tensor;
  /**
   * Storage type of a weight, which products widen; null = float. A trained one is bf16.
   * @internal
   */
  storage: WeightType | null;
  /** @internal */
  grad: Tensor | null;
  /** False for norms and biases, which AdamW does not decay. */
  decay: boolean;
  /** Whether it is an embedding: of tokens or positions. */
  embedding: boolean;
}

/**
 * Trainable values in one tensor, and their gradients in another, so that the optimizer and the
 * gradient norm need one operation per range: [0, decayedLength) holds the parameters that AdamW
 * decays, [decayedLength, length) the others. Gaps between parameters are zero and stay zero. A
 * model has several arenas where one would be larger than a tensor of its device may be.
 */
export interface TrainableArena {
  /** Null where trained weights are in bfloat16: then every parameter is a tensor of its own. */
  value: Tensor | null;
  grad: Tensor;
  length: number;
  /** A multiple of VIEW_ALIGNMENT. */
  decayedLength: number;
  /** First element of each trainable parameter, by name. */
  offsets: ReadonlyMap<string, number>;
}

export interface ForwardOptions {
  /** Softmax temperature of log-probabilities and entropies. */
  temperature: number;
  /** Keep the activations for `backward`. */
  train: boolean;
  /** False switches the LoRA adapter off (the reference model). Default true. */
  adapter?: boolean;
  /** Keys the dropout of adapters' inputs; a model with `lora.dropout` needs it in training. */
  dropout?: DropoutKey;
  /** Further tokens in the place of each branch token that log-probabilities are wanted of. */
  alternatives?: readonly (readonly number[])[];
}

/**
 * Log-probability and entropy of every branch token, in the order (group, branch, position):
 * Float32Array on f32 devices, Float64Array on f64 ones. `logp.length` is the total number of
 * branch tokens, and of their alternatives, which follow all of them in the same order.
 */
export interface ForwardResult {
  logp: Float32Array | Float64Array;
  entropy: Float32Array | Float64Array;
  /**
   * The loss that balances experts, times its coefficient; absent where the model has none.
   * `backward` adds its gradient.
   */
  balance?: number;
}

/** Type of the activations in products with 4-bit weights. */
export type ActivationType = "int8" | "float32";

/** Type of the keys and values that a generation keeps. */
export type KvCacheDtype = "float32" | "bfloat16";
