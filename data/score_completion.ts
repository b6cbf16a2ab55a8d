/**
 * Scores a completion: extracts its answer, which the entry's task then scores. When a scorer
 * throws, the score is 0, and the reason is returned.
 */
import { messageOf } from "../core/errors.ts";
import { scoreAnswer } from "../tasks/registered.ts";
import { equalDecimals, parseDecimal } from "../tasks/python/decimals.ts";
import { isBlank, strip } from "../tasks/python/text.ts";
import type { ScorableEntry } from "../tasks/types.ts";
import { extractAnswer } from "./extract.ts";
import { systemPromptText } from "./prompt.ts";
import { plainAnswer, publishedFormat, unboxed } from "./published_formats.ts";

/** `metadata.source_dataset` of entries that come from a file and belong to no task. */
export const FILE_SOURCE = "file";

/** A score of at least this counts as correct. */
export const CORRECT = 1 - 1e-9;

/** The result of scoring a completion. */
export interface ScoredCompletion {
  /** null: no answer was found. */
  extracted: string | null;
  /** The answer has the form that was asked for. */
  formatted: boolean;
  /** In [0, 1]. */
  score: number;
  /** Why the answer could not be scored; normally null. */
  error: string | null;
}

/**
 * The answer in a completion; null: there is none. The answer is in `<answer>` tags, or in the form
 * of a published data set. For problems of a file that do not ask for the tags, other forms count,
 * too.
 * @param asked the prompt, or the part of it that may ask for the tags
 */
export function answerOf(
  completion: string,
  { metadata, question = "" }: ScorableEntry,
  asked: string,
): string | null {
  const source = metadata?.["source_dataset"], format = publishedFormat(source);
  if (format !== null) return format.extract(completion);
  const isPlain = source === FILE_SOURCE && !`${asked}${question}`.includes("<answer>");
  return isPlain ? plainAnswer(completion) : extractAnswer(completion);
}

/** Whether a problem has a right answer to compare with; one of a file may have none. */
export const hasAnswer = ({ answer, metadata }: ScorableEntry): boolean =>
  answer != null || metadata?.["source_dataset"] !== FILE_SOURCE;

/**
 * Scores a completion, in training and in benchmarks. Nothing that a completion says makes it
 * throw.
 * @param systemPrompt name or text of the system prompt, which may ask for a special form
 * @param prompt the whole prompt, if it is more than the system prompt and the question
 */
export function scoreCompletion(
  completion: string,
  entry: ScorableEntry,
  systemPrompt: string | null = null,
  prompt = "",
): ScoredCompletion {
  const format = publishedFormat(entry.metadata?.["source_dataset"]);
  const asked = systemPrompt === null ? "" : systemPromptText(systemPrompt);
  const extracted = answerOf(completion, entry, asked + prompt);
  const formatted = extracted !== null && (format?.isFormatted?.(completion, asked) ?? true);
  return { extracted, formatted, ...scoreExtracted(extracted, entry) };
}

/** Scores an answer that was already extracted. */
export function scoreExtracted(
  answer: string | null,
  entry: ScorableEntry,
): { score: number; error: string | null } {
  try {
    return { score: entryScore(answer, entry), error: null };
  } catch (error) {
    return { score: 0, error: messageOf(error) };
  }
}

function entryScore(answer: string | null, entry: ScorableEntry): number {
  const source = entry.metadata?.["source_dataset"], format = publishedFormat(source);
  if (format !== null) {
    return typeof answer !== "string" || typeof entry.answer !== "string"
      ? 0
      : format.score(answer, entry.answer, entry.question);
  }
  if (source !== FILE_SOURCE) return scoreAnswer(answer, entry);
  if (typeof answer !== "string" || isBlank(answer) || typeof entry.answer !== "string") return 0;
  return isEqual(answer, entry.answer) || isEqual(unboxed(answer), unboxed(entry.answer)) ? 1 : 0;
}

/** For entries of files: the same text apart from surrounding space, or the same number. */
function isEqual(answer: string, oracle: string): boolean {
  if (strip(answer) === strip(oracle)) return true;
  const a = parseDecimal(answer.replaceAll(",", "")), b = parseDecimal(oracle.replaceAll(",", ""));
  return a !== null && b !== null && equalDecimals(a, b);
}
