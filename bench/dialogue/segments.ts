/**
 * A rollout is token ids that grow in segments and are made once: what the model writes, and what
 * comes back to it. What the loss counts of them is a view.
 */

import type { AnswerSpan } from "../../models/generation/types.ts";
import type { EncodedPrompt } from "../evaluation/prompt_encoder.ts";

/** Tokens that follow one another and come from one place. */
export interface Segment {
  /** "closing": what a chat template writes after an answer that did not end by itself. */
  from: "model" | "environment" | "closing";
  ids: readonly number[];
  /** Log-probabilities under the sampler; 0 for what it did not sample. [ids] */
  logprobs: readonly number[];
}

/** A prompt and what followed it, as one row of a training batch. */
export interface DialogueRow {
  prompt: EncodedPrompt;
  segments: Segment[];
  /** Numbers of the model's answers in it, among those of the dialogue. */
  turns: number[];
}

/** What consists of segments. */
export interface Segmented {
  segments: readonly Segment[];
}

/** What consists of tokens that nobody need have sampled. */
export interface Written {
  segments: readonly Pick<Segment, "from" | "ids">[];
}

/** The rows of what follows a prompt: one, unless there are others. */
export function rowsOf(
  { prompt, segments, rows }: Segmented & Pick<DialogueRow, "prompt"> & {
    rows?: readonly DialogueRow[];
  },
): readonly DialogueRow[] {
  const turns = segments.filter(({ from }) => from === "model").keys();
  return rows ?? [{ prompt, segments: [...segments], turns: [...turns] }];
}

/** Where the model's answers stand among all tokens, of the prompt and of what followed it. */
export function answerSpans(
  { prompt, segments }: Written & Pick<DialogueRow, "prompt">,
): AnswerSpan[] {
  let end = prompt.ids.length;
  return segments.flatMap(({ from, ids: { length } }) => {
    const begin = end;
    end += length;
    return from === "model" && length > 0 ? [{ begin, end }] : [];
  });
}

/** All tokens of a rollout. */
export function idsOf({ segments }: Written): readonly number[] {
  return segments.length === 1 ? segments[0]!.ids : segments.flatMap(({ ids }) => ids);
}

/** The sampler's log-probabilities of all tokens. */
export function logprobsOf({ segments }: Segmented): readonly number[] {
  return segments.length === 1 ? segments[0]!.logprobs : segments.flatMap((part) => part.logprobs);
}

/** 1 for the tokens that the loss counts, which are the model's; null = all of them. */
export function lossMask({ segments }: Written): readonly number[] | null {
  if (segments.every(({ from }) => from === "model")) return null;
  return segments.flatMap(({ from, ids }) => ids.map(() => from === "model" ? 1 : 0));
}

/** Values of the model's segments as values of all tokens, 0 elsewhere. */
export function perToken({ segments }: Segmented, turns: readonly number[]): number[] {
  let turn = 0;
  return segments.flatMap(({ from, ids }) => {
    const value = from === "model" ? turns[turn++]! : 0;
    return ids.map(() => value);
  });
}

/** The number of tokens that the model writes. */
export function sampledTokens({ segments }: Written): number {
  return segments.reduce((sum, { from, ids }) => sum + (from === "model" ? ids.length : 0), 0);
}
