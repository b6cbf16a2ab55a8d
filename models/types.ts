/**
 * What training, benchmarks and the server see of a language model. The one data structure is the
 * group: a prompt once, and its branches. Nothing here is padded.
 */
import type { Tensor } from "../kernels/device.ts";
import type { WeightType } from "./stored_weight.ts";

export type { LlamaConfig, RopeScaling } from "./llama_config.ts";

/** The weights of a file, by Hugging Face name, read one at a time. Row-major. */
export interface WeightReader {
  /** What messages call them: a folder or a file. */
  readonly label: string;
  /** Widened; null when there is no such tensor. @throws RgxError for a wrong shape */
  values(
    name: string,
    shape: readonly number[],
  ): Promise<Float32Array | Float64Array | null>;
  /**
   * Whether there is such a tensor, from what the file says of itself; absent where only a read tells.
   * @throws RgxError for a wrong shape
   */
  holds?(name: string, shape: readonly number[]): boolean;
  /** The type that it is stored in, where products read it as it is; null for others, or no such tensor. */
  typeOf(name: string): WeightType | null;
  /** Whether it is stored as float32, which `typeOf` does not tell; absent, or false, where its bytes are not given. */
  isFloat32?(name: string): boolean;
  /** As stored, of a tensor that has a `typeOf` or `isFloat32`. @throws RgxError for a wrong shape */
  bytes(name: string, shape: readonly number[]): Promise<Uint8Array<ArrayBuffer>>;
  /** Fills `out` with these from byte `from` on; absent, or false, where they are only read at once. */
  bytesInto?(
    name: string,
    shape: readonly number[],
    from: number,
    out: Uint8Array<ArrayBuffer>,
  ): Promise<boolean>;
}

/**
 * Where weights come from: a file, a map, or a function that is asked once per tensor by its Hugging Face name
 * and returns null when there is no such tensor. Row-major, of exactly the shape's size.
 */
export type WeightSource =
  | WeightReader
  | ReadonlyMap<string, Float32Array | Float64Array>
  | ((
    name: string,
    shape: readonly number[],
  ) => Float32Array | Float64Array | null | Promise<Float32Array | Float64Array | null>);

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

/** `n` branches of one prompt. `promptId` is the prompt's number in the whole run (it keys the random draws). */
export interface GenerateRequest {
  promptId: number;
  promptIds: readonly number[];
  n: number;
  /** Number of the first branch; default 0. */
  firstBranch?: number;
  /** Where this request is sampled otherwise than the others. */
  sampling?: Partial<SamplingOptions>;
  /** Told of every token of branch 0 … n − 1, in order within a branch. */
  onToken?: (branch: number, token: number, logprob: number) => void;
  /** Aborted: the request ends soon, and fails with the signal's reason. */
  signal?: AbortSignal;
}

/** What a generation took. */
export interface WaveTiming {
  promptTokens: number;
  newTokens: number;
  /** Of all prompts, up to the look at their first tokens. */
  prefillSeconds: number;
  decodeSeconds: number;
}

/** How tokens are drawn, and when a completion ends. */
export interface SamplingOptions {
  maxNewTokens: number;
  /** 0 = greedy. */
  temperature: number;
  topK?: number; // 0 = off
  topP?: number; // 1 = off
  minP?: number; // 0 = off
  /**
   * Logits of tokens that stand in the prompt or the completion are divided (> 0) or multiplied (≤ 0) by it,
   * before temperature; 1 = off.
   */
  repetitionPenalty?: number;
  /** `eosIds` are impossible, and `stopWhen` is not asked, until a completion has so many tokens. Default 0. */
  minNewTokens?: number;
  /**
   * Asked after each further token of a completion that `eosIds` does not end: true ends it with that token,
   * which is kept. It must be a function of the ids alone (stop_strings.ts).
   */
  stopWhen?: (ids: readonly number[]) => boolean;
  /**
   * Changes the logits of a completion's next token in place, before all other rules; `ids` are those it has. Must
   * be a function of its arguments alone. Each token then costs a way of its logits to the host and back.
   */
  adjust?: (ids: readonly number[], logits: Float32Array | Float64Array) => void;
  seed: number;
  /** A completion ends with the first of these, which is kept. Empty = never stop early. */
  eosIds: readonly number[];
}

/** What products with 4-bit weights take. */
export type ActivationType = "int8" | "float32";

/** How a batch is generated. */
export interface GenerateOptions extends SamplingOptions {
  adapter?: boolean;
  /**
   * "int8": products with frozen weights of 4 bits take their inputs rounded to bytes, as llama.cpp does: about
   * twice as fast on a CPU, with logits that differ a little from those of training. Default: float32.
   */
  activations?: ActivationType;
  /** Most completions at once; default: as many as suit the device and fit the memory. */
  slots?: number;
  /** Told when all completions of a request have ended; must not throw. */
  onEnd?: (request: GenerateRequest) => void;
  /** Told at the end what it took. */
  onWave?: (timing: WaveTiming) => void;
  /** Asked between tokens: true ends generation early by throwing `Interrupted`. */
  shouldStop?: () => boolean;
}

/** What a model added to a prompt. */
export interface Completion {
  ids: number[];
  /** log p of the policy at sampling, per id: temperature applied, no penalty, minimum, top-k, top-p or min-p. */
  logprobs: number[];
  /** "stop": ended by one of `eosIds` or by `stopWhen`. */
  finishReason: "stop" | "length";
}

/** Text to ids and back; the same object for training, generation and benchmarks. */
export interface Tokenizer {
  readonly vocabSize: number;
  readonly eosId: number | null;
  readonly padId: number | null;
  /**
   * Ids of a text. Special tokens written in it are recognised, unless it is `literal` or
   * `applyChatTemplate` has marked them as a message's content.
   */
  encode(text: string, options?: { addSpecialTokens?: boolean; literal?: boolean }): number[];
  decode(ids: readonly number[], options?: { skipSpecialTokens?: boolean }): string;
  /** Id of one token, or null. */
  tokenId(token: string): number | null;
  /**
   * Chat template rendered to text, or null when the model has none. Special tokens in a content carry an
   * invisible mark, by which `encode` knows them to be text.
   */
  applyChatTemplate(messages: readonly { role: string; content: string }[]): string | null;
  /** Files to store beside weights: name → content ("tokenizer.json", "tokenizer_config.json", …). */
  files(): ReadonlyMap<string, string>;
}
