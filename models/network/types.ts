/**
 * What goes into a pass over a model and what comes out of it. The one data structure is the group: a prompt
 * once, and its branches. Nothing here is padded.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import type { WeightType } from "../formats/stored_weight.ts";

/** A prompt and its branches (completions), as token ids. Branches may be empty; a group may have none. */
export interface Group {
  promptIds: readonly number[];
  branches: readonly (readonly number[])[];
  /** The prompt's number in the run (within the pass), which with the branch keys dropout; else not needed. */
  promptId?: number;
  /** Number of the first branch, where a group is cut into several; default 0. */
  firstBranch?: number;
}

/** Which masks dropout takes; with each row's prompt, branch and position (dropout.ts). */
export interface DropoutKey {
  seed: number;
  /** Which training over the prompts: DROPOUT_PASS of core/philox.ts. */
  pass: number;
}

/** A tensor of the model. `grad` exists on trainable parameters only and is increased by `backward`. */
export interface Parameter {
  /** Hugging Face (or PEFT) tensor name. */
  name: string;
  shape: readonly number[];
  /** u32 where it is stored. */
  value: Tensor;
  /** The type that a frozen weight is held in, which products widen; null = float. */
  storage: WeightType | null;
  grad: Tensor | null;
  /** False for norms and biases, which AdamW does not decay. */
  decay: boolean;
}

/**
 * All trainable values in one tensor and all their gradients in another, so that the optimizer and the
 * gradient norm are one operation a range: [0, decayedLength) holds the parameters that AdamW decays,
 * [decayedLength, length) the others. Gaps between parameters are zero and stay zero.
 */
export interface TrainableArena {
  value: Tensor;
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
  /** Keep activations for `backward`. */
  train: boolean;
  /** False switches the LoRA adapter off (the reference model). Default true. */
  adapter?: boolean;
  /**
   * Drop what the adapter reads, if the model was made with `lora.dropout`. Absent = no dropout, which a
   * forward with `train` refuses of such a model.
   */
  dropout?: DropoutKey;
}

/**
 * Log-probability and entropy of every branch token, in order (group, branch, position):
 * Float32Array on f32 devices, Float64Array on f64 ones. `logp.length` = total branch tokens.
 */
export interface ForwardResult {
  logp: Float32Array | Float64Array;
  entropy: Float32Array | Float64Array;
}

/** What products with 4-bit weights take. */
export type ActivationType = "int8" | "float32";
