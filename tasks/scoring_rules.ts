/** Scoring rules shared by many tasks. Each has the signature of `Task.score`. */
import { codePoints, stripEnd } from "./python/text.ts";
import { equalDecimals, parseDecimal } from "./python/decimals.ts";
import type { ScorableEntry, Task } from "./types.ts";

/**
 * The default rule. 1 when the answer equals the oracle. When it contains the oracle: the oracle's
 * length divided by the answer's. Else 0. Case matters and nothing is trimmed.
 */
export function defaultScore(answer: string, entry: ScorableEntry): number {
  return containedShare(answer, entry.answer ?? "");
}

/** The default rule, and its description for a task that asks for `what`. */
export function exactScore(what: string): Pick<Task, "scoring" | "score"> {
  return {
    scoring: `1 when the answer is exactly ${what}; else ${what}'s share of the answer's length ` +
      "when it occurs in it; else 0.",
    score: defaultScore,
  };
}

/**
 * 1 when both are the same exact decimal number (thousands commas are removed), else the default
 * rule.
 */
export function decimalScore(answer: string, entry: ScorableEntry): number {
  const given = answer.replaceAll(",", ""), oracle = (entry.answer ?? "").replaceAll(",", "");
  const a = parseDecimal(given), b = parseDecimal(oracle);
  if (a !== null && b !== null && equalDecimals(a, b)) return 1;
  return containedShare(given, oracle);
}

function containedShare(answer: string, oracle: string): number {
  if (oracle === "") return 0;
  if (answer === oracle) return 1;
  return answer.includes(oracle) ? codePoints(oracle) / codePoints(answer) : 0;
}

/** The rule of square grids of digits. */
export const NUMBER_GRID: Pick<Task, "scoring" | "score"> = {
  scoring:
    "1 when every line is right up to trailing space; else 0.9 × the share of right cells; times " +
    "solution length / answer length when the answer is longer.",
  score: numberGridScore,
};

/**
 * Scores a square grid of digits. 1 when every line equals the oracle's, ignoring trailing space.
 * Else 0.9 × the share of correct cells, where each line with exactly n digits 1–9 counts as the
 * next row. For a text longer than the oracle this is multiplied by the ratio of their lengths.
 */
export function numberGridScore(answer: string, entry: ScorableEntry): number {
  const oracle = entry.answer ?? "";
  const solution = entry.metadata?.["solution"];
  let score = 0;
  if (equalLines(answer, oracle)) score = 1;
  else if (isGrid(solution)) score = 0.9 * shareOfCells(answer, solution);
  const length = codePoints(answer), expected = codePoints(oracle);
  return length > expected ? score * expected / length : score;
}

/** Whether the texts are equal line by line, ignoring trailing space. */
function equalLines(a: string, b: string): boolean {
  const expected = b.split("\n").map(stripEnd);
  const lines = a.split("\n", expected.length + 1);
  return lines.length === expected.length &&
    lines.every((line, i) => stripEnd(line) === expected[i]);
}

/** Reads character by character, because a text can have very many lines that are no row. */
function shareOfCells(text: string, solution: readonly unknown[][]): number {
  const n = solution.length;
  let row = 0, equal = 0, digits: number[] = [], count = 0;
  for (let i = 0; i <= text.length && row < n; i++) {
    const code = i < text.length ? text.charCodeAt(i) : 10;
    if (code >= 49 && code <= 57) {
      if (count++ < n) digits.push(code - 48);
    } else if (code === 10) {
      if (count === n) {
        const cells = solution[row++]!;
        equal += digits.filter((digit, column) => digit === cells[column]).length;
      }
      if (count > 0) digits = [];
      count = 0;
    }
  }
  return equal / (n * n);
}

function isGrid(value: unknown): value is unknown[][] {
  return Array.isArray(value) && value.length > 0 && value.every((row) => Array.isArray(row));
}

/**
 * Whether an answer is far longer than any sensible one. Scorers that parse the answer refuse it,
 * because parsing a million characters of JSON takes longer than the time limit of a score.
 */
export function isOverlong(answer: string, entry: ScorableEntry): boolean {
  return answer.length > Math.max(100_000, 20 * (entry.answer?.length ?? 0));
}
