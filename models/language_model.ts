/**
 * The interface that the trainer needs of a model. Tests of the trainer replace the model by a
 * stub.
 */
import type { Completion, GenerateOptions, GenerateRequest } from "./generation/types.ts";
import type {
  ForwardOptions,
  ForwardResult,
  Group,
  Parameter,
  TrainableArena,
} from "./network/types.ts";

/** A model that can be trained: passes forward and backward over groups, generation, parameters. */
export interface LanguageModel {
  readonly vocabSize: number;
  /** All tensors, frozen and trainable, sorted by name. */
  readonly parameters: readonly Parameter[];
  /** The trainable tensors, sorted by name: the adapter's, or all of them in full fine-tuning. */
  readonly trainable: readonly Parameter[];
  /** Null when nothing is trainable. */
  readonly trainableArena: TrainableArena | null;
  /**
   * A copy of a parameter's values.
   * @throws RgxError for an unknown name
   */
  readParameter(name: string): Promise<Float32Array>;
  /**
   * Replaces a parameter's values.
   * @throws RgxError for an unknown name or a wrong size
   */
  writeParameter(name: string, data: Float32Array | Float64Array): void;
  /** Logits (temperature 1) of the token that follows `ids`: [vocabSize]. */
  lastLogits(
    ids: readonly number[],
    options?: { adapter?: boolean },
  ): Promise<Float32Array | Float64Array>;
  forward(groups: readonly Group[], options: ForwardOptions): Promise<ForwardResult>;
  /**
   * Adds the gradient of Σ dlogp·logp + Σ dentropy·entropy to the `grad` of every trainable
   * parameter. It belongs to the last `forward` with `train: true` and uses up its activations.
   */
  backward(dlogp: Float64Array, dentropy?: Float64Array): void;
  zeroGrad(): void;
  generate(requests: readonly GenerateRequest[], options: GenerateOptions): Promise<Completion[][]>;
  /** Planned peak number of bytes for a pass over such a batch, besides the parameters. */
  planBytes(rows: number, pairs: number, train: boolean): number;
  dispose(): void;
}
