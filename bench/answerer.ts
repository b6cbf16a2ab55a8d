/**
 * The interface of a model that answers the questions of a benchmark, and the types of questions
 * and answers.
 */
import type { ModelRequest } from "./plan/model_request.ts";
import type { TestSet } from "./plan/test_set.ts";
import type { SampleResult } from "./results/result_file.ts";

/** A problem of a test set, and the samples of it that are still missing. */
export interface Question {
  set: TestSet;
  index: number;
  /** Numbers of the samples, ascending. */
  samples: readonly number[];
}

/** A completion before it is scored. */
export interface RawAnswer extends Omit<SampleResult, "extracted" | "formatted" | "score"> {
  prompt_tokens: number;
  /** Where it was made. */
  device: string;
}

export type OnAnswer = (question: Question, sample: number, answer: RawAnswer) => void;

/** A model that can be asked, on this machine or on a server. */
export interface Answerer {
  /** For a model on this machine: seconds spent in the model so far, without the harness. */
  readonly modelSeconds?: number;
  /**
   * Answers all questions, in any order.
   * @param onAnswer called for each sample, soon after it is there
   * @throws Interrupted when `shouldStop` returned true; Refused when the server refuses all else
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
   * Opens a model. The model that was opened before must not be asked any more.
   * @param onLoad called with the share of the weights that is loaded, where there are weights
   */
  open(model: ModelRequest, onLoad: (share: number) => void): Promise<Answerer>;
  /** Frees the memory of the last model. */
  close(): void;
}

/** Where the time of asking a model went, in seconds. */
export interface Took {
  /** Reading the model and copying it to its device. */
  loading: number;
  /** From the first question to the last answer. */
  asking: number;
  /** The part of `asking` spent in the model itself; for a remote model all of it. */
  model: number;
}
