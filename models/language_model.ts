/** What the trainer asks of a model, so that it can be tested without one. */
import type { Completion, GenerateOptions, GenerateRequest } from "./generation/types.ts";
import type {
  ForwardOptions,
  ForwardResult,
  Group,
  Parameter,
  TrainableArena,
} from "./network/types.ts";

/** What the trainer asks of a model: groups forward and backward, generation, parameters. */
export interface LanguageModel {
  readonly vocabSize: number;
  /** All tensors (frozen and trainable), sorted by name. */
  readonly parameters: readonly Parameter[];
  /** The trainable ones, sorted by name: LoRA matrices, or everything under full fine-tuning. */
  readonly trainable: readonly Parameter[];
  /** Null when nothing is trainable. */
  readonly trainableArena: TrainableArena | null;
  /** A copy of a parameter's values. @throws RgxError for an unknown name. */
  readParameter(name: string): Promise<Float32Array>;
  /** Replaces a parameter's values. @throws RgxError for an unknown name or a wrong size. */
  writeParameter(name: string, data: Float32Array | Float64Array): void;
  /** Logits (temperature 1) of the token that would follow `ids`: [vocabSize]. */
  lastLogits(
    ids: readonly number[],
    options?: { adapter?: boolean },
  ): Promise<Float32Array | Float64Array>;
  forward(groups: readonly Group[], options: ForwardOptions): Promise<ForwardResult>;
  /**
   * Adds the gradient of Σ dlogp·logp + Σ dentropy·entropy to every trainable `grad`.
   * Belongs to the last `forward` with `train: true`, whose activations it consumes.
   */
  backward(dlogp: Float64Array, dentropy?: Float64Array): void;
  zeroGrad(): void;
  generate(requests: readonly GenerateRequest[], options: GenerateOptions): Promise<Completion[][]>;
  /** Bytes that training on such a batch needs at its peak, beside the parameters (planned, not measured). */
  planBytes(rows: number, pairs: number, train: boolean): number;
  dispose(): void;
}
