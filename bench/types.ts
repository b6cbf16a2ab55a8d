/** What the parts of a benchmark hand to each other. */
import type { StorageOptions } from "../models/network/weights/weight_storage.ts";
import type { Entry } from "../tasks/types.ts";
import type { PromptSettings, SampleResult, Sampling } from "./results/result_file.ts";
import type { Untrained } from "./plan/untrained.ts";

/** A task as it is asked for. */
export interface TaskRequest {
  /** A registered task, or a data set (`gsm8k`, `math500`, `mmlu_pro`, `file`), which needs `path`. */
  name: string;
  /** How charts, tables and file names call it; default: the name. */
  label?: string;
  category?: string | null;
  parameters?: Record<string, unknown>;
  /** Problems; default: the benchmark's. */
  size?: number;
  /** Seed of the problems; default: the benchmark's. */
  seed?: number;
  path?: string;
  /** Scores below 1 count as 0. */
  binary?: boolean;
}

/** The problems of a task: the same for every model. */
export interface TestSet {
  label: string;
  taskName: string;
  category: string | null;
  parameters: Record<string, unknown>;
  seed: number;
  binary: boolean;
  entries: readonly Entry[];
  /** Of a file of which only the questions are asked that training on it holds out: how many it has in all. */
  heldOutOf?: number;
  /** Of a file: how many categories its problems have, those that are not asked included. */
  categories?: number;
  /** For few-shot prompts: from another split than the problems; of a task one more than a prompt takes. */
  shots: readonly Entry[];
}

/** How a model is asked. */
export interface ModelSettings {
  prompt: PromptSettings;
  sampling: Sampling;
  /** Seed of the draws. */
  seed: number;
  /** Prompts keep their last so many tokens, as the checkpoint's run cut them; null = all. */
  keepPromptTokens: number | null;
  /** Most completions at once on this machine; absent = as many as are fastest. No answer depends on it. */
  batchSize?: number;
}

/** A completion as it comes, not yet scored. */
export interface RawAnswer {
  completion: string;
  truncated: boolean;
  completion_tokens: number;
  prompt_tokens: number;
  /** Where it was made. */
  device: string;
  reasoning?: string;
  error?: string;
  /** The prompt leaves no room for an answer, so the model was not asked; `error` says so in words. */
  too_long?: true;
}

/** A problem of a test set and the samples of it that are still missing. */
export interface Question {
  set: TestSet;
  index: number;
  samples: readonly number[];
}

export type OnAnswer = (question: Question, sample: number, answer: RawAnswer) => void;

/** A model that can be asked, on this machine or far away. */
export interface Answerer {
  /** Of one on this machine: seconds in the model itself so far; the rest is the harness. */
  readonly modelSeconds?: number;
  /**
   * Answers all questions, in any order; `onAnswer` is told of every sample soon after it is there.
   * @throws Interrupted when `shouldStop` said so
   */
  answer(
    questions: readonly Question[],
    onAnswer: OnAnswer,
    shouldStop: () => boolean,
  ): Promise<void>;
}

/** Models that are asked one after the other. */
export interface Answerers {
  /**
   * The model that was opened before is asked no more.
   * @param onLoad told which share of the weights is there, where there are any to load
   */
  open(model: ModelRequest, onLoad: (share: number) => void): Promise<Answerer>;
  /** Frees what the last one holds. */
  close(): void;
}

/** Where the time of asking a model went, in seconds. */
export interface Took {
  /** Reading the model and bringing it to its device. */
  loading: number;
  /** From the first question to the last answer. */
  asking: number;
  /** Of `asking`: in the model itself; of a remote one all of it. */
  model: number;
}

/** A model of a benchmark. */
export interface ModelRequest {
  /** As it was given; its name in results and charts. */
  name: string;
  /**
   * A folder (that of the weights, an adapter's base, and how these are held where it is not as they are stored;
   * that of the tokenizer where it is not the model's own), a seed, or a name on an OpenAI-compatible server.
   */
  where:
    | {
      kind: "local";
      path: string;
      weights: string;
      storage?: StorageOptions;
      tokenizer?: string;
    }
    | { kind: "untrained"; made: Untrained }
    | { kind: "remote"; model: string };
  settings: ModelSettings;
  /** Changes when the weights do. */
  fingerprint: string;
}

/** Equal for models that can share what is on the device; null = shared with none. */
export function sharedWeights({ where }: Pick<ModelRequest, "where">): string | null {
  if (where.kind !== "local") return null;
  return `${where.weights} ${JSON.stringify(where.storage ?? {})}`;
}

/** What a benchmark tells while it runs. */
export type BenchEvent =
  | { type: "plan"; models: string[]; tasks: string[]; combinations: number; samples: number }
  | { type: "resumed"; samples: number }
  /** Once at the beginning, then while it goes on; `share` of the weights, 0 to 1. */
  | { type: "loading"; worker: number; model: string; share: number }
  | { type: "progress"; worker: number; model: string; done: number; total: number }
  | { type: "failed"; model: string; task: string; error: string }
  | { type: "warning"; message: string };

/** A finished sample, as a line of the file that a resume reads. */
export interface SampleLine {
  /** Hash of everything that the answer depends on, the model and the task included. */
  key: string;
  model: string;
  task: string;
  index: number;
  sample: number;
  prompt_tokens: number;
  device: string;
  result: SampleResult;
}
