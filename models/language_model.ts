/**
 * The interface that the trainer needs of a model. Tests of the trainer replace the model by a
 * stub.
 */
import type { WeightStorage } from "./formats/stored_weight.ts";
import type { TopToken } from "./logits.ts";
import type { ActivationStore } from "./network/activation_store.ts";
import type {
  Ask,
  Completion,
  DialogueRoom,
  GenerateOptions,
  GenerateRequest,
} from "./generation/types.ts";
import type {
  ForwardOptions,
  ForwardResult,
  Group,
  Parameter,
  TrainableArena,
} from "./network/types.ts";

/** How a frozen copy stores what is trained in full; adapters are float. */
export interface CopyOptions {
  /** Halves by tensor; a tensor whose values they do not hold exactly is float. */
  storage: WeightStorage;
  /** Operations may change the values, which are float then; default false. */
  writable?: boolean;
  /** The values are written later, in exactly these types; default false. */
  empty?: boolean;
}

export interface PassOptions extends ForwardOptions {
  /**
   * What sampling has kept of all tokens of the groups (`GenerateOptions.keep`), under the present
   * values of all parameters. Only the head is then computed. Not with dropout, and only with the
   * adapter.
   */
  kept?: ActivationStore | undefined;
}

/** How a student is compared with a teacher (`network/divergence.ts`). */
export interface DivergenceOptions {
  beta: number;
  temperature: number;
  /** Of each branch token in the loss. [tokens] */
  weights: Float64Array;
}

/** What TRL logs of the logits in the place of a token. */
export interface LogitSummary {
  mean: number;
  /** The likeliest token. */
  top: number;
}

/** A model that can be trained: passes forward and backward over groups, generation, parameters. */
export interface LanguageModel {
  /** Number of tokens. */
  readonly vocabSize: number;
  /** All tensors, frozen and trainable, sorted by name. */
  readonly parameters: readonly Parameter[];
  /** The trainable tensors, sorted by name: the adapter's, or all of them in full fine-tuning. */
  readonly trainable: readonly Parameter[];
  /**
   * Empty when nothing is trainable.
   * @internal
   */
  readonly trainableArenas: readonly TrainableArena[];
  /** A parameter's values, from element `from` on, or all. @throws RgxError for an unknown name */
  readParameter(name: string, from?: number, count?: number): Promise<Float32Array>;
  /** Replaces a parameter's values. @throws RgxError for an unknown name or a wrong size */
  writeParameter(name: string, data: Float32Array | Float64Array): void;
  /** Logits (temperature 1) of the token that follows `ids`: [vocabSize]. */
  lastLogits(
    ids: readonly number[],
    options?: { adapter?: boolean },
  ): Promise<Float32Array | Float64Array>;
  /** @internal */
  forward(groups: readonly Group[], options: PassOptions): Promise<ForwardResult>;
  /**
   * Adds the gradient of Σ dlogp·logp + Σ dentropy·entropy to the `grad` of every trainable
   * parameter. It belongs to the last `forward` with `train: true` and uses up its activations.
   */
  backward(dlogp: Float64Array, dentropy?: Float64Array): void;
  /**
   * Adds Σ weights·divergence, of each token's distribution from the teacher's, to what the next
   * `backward` takes the gradient of. Both have just done a forward pass over the same branches:
   * the teacher without gradient, then this one with it.
   * @returns the divergences, unweighted [tokens]
   * @internal
   */
  addDivergence(teacher: LanguageModel, options: DivergenceOptions): Promise<Float64Array>;
  /**
   * The likeliest tokens in the place of each branch token of the last pass without gradient, in
   * descending order. [tokens][count]
   * @internal
   */
  topTokens(count: number, temperature: number): Promise<TopToken[][]>;
  /**
   * Of the logits in the same places.
   * @internal
   */
  logitSummaries(): Promise<LogitSummary[]>;
  /** Sets the gradients of all trainable parameters to 0. */
  zeroGrad(): void;
  /**
   * A frozen model with the present values of what is trained, for passes without gradient. It
   * shares everything else with this one, which must not run at the same time.
   * @internal
   */
  frozenCopy(options: CopyOptions): Promise<LanguageModel>;
  /** Samples completions of prompts; the result has those of each request, in order. */
  generate(requests: readonly GenerateRequest[], options: GenerateOptions): Promise<Completion[][]>;
  /**
   * Samples the answers of dialogues while `play` asks for them.
   * @internal
   */
  generateDialogues<T>(
    room: DialogueRoom,
    options: GenerateOptions,
    play: (ask: Ask) => Promise<T>,
  ): Promise<T>;
  /**
   * A store for the activations of sampling, which the caller disposes.
   * @internal
   */
  activationStore(): ActivationStore;
  /** Frees the buffers of training passes; the next one allocates what it needs. */
  releasePasses(): void;
  /** Frees its tensors. The device stays open. */
  dispose(): void;
}
