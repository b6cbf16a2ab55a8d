/** The right answers in the rows of data sets that are not rgx's: their results and their kind. */
import { findMathAnswer } from "./math_answer/find.ts";
import { MATH_SOURCE } from "./published_formats.ts";
import { FILE_SOURCE } from "./score_completion.ts";

/** An answer that ends with its result after "####", as in GSM8K. */
const MARKED = /(?:^|\s)####[ \t]*(\S[^\n]*?)\s*$/;
const BOXED = /\\(?:boxed|fbox)\s*\{/;
/** A command of LaTeX, or a formula between dollars. */
const LATEX = /\\[A-Za-z]{2,}|\$[^$\n]+\$/;

export interface Gold {
  /** The text with which a completion is compared. */
  answer: string;
  /** The whole text if it is longer than the result, else null. */
  worked: string | null;
}

/** The result after "####" at the end of a worked answer; null where there is none. */
export const markedResult = (text: string): string | null => MARKED.exec(text)?.[1] ?? null;

/** The result of an answer, and the text that leads to it. */
export function readGold(text: string): Gold {
  const marked = markedResult(text);
  if (marked !== null) return { answer: marked, worked: text };
  const boxed = BOXED.test(text) ? findMathAnswer(text) : null;
  return boxed === null ? { answer: text, worked: null } : { answer: boxed, worked: text };
}

/**
 * The rules that score the answers: those of GSM8K, those of mathematics, or the equality of texts
 * and numbers.
 */
export function sourceOf(
  answer: string | null,
  worked: string | null,
  columns: Readonly<Record<string, unknown>>,
): string {
  if (answer === null) return FILE_SOURCE;
  const { data_source: data } = columns, name = typeof data === "string" ? data : "";
  if (/gsm8k/i.test(name) || (worked !== null && MARKED.test(worked))) return "gsm8k";
  const isMath = /math/i.test(name) || worked !== null || LATEX.test(answer) ||
    columns["final_answer"] != null || columns["problem"] != null;
  return isMath ? MATH_SOURCE : FILE_SOURCE;
}
