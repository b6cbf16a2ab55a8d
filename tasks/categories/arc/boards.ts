/** Boards of colours (0–9): their text in questions and answers, and the score of an answer. */
import { isOverlong } from "../../scoring_rules.ts";
import { strip } from "../../python/text.ts";
import type { Param } from "../../define.ts";
import type { ParamValue } from "../../../core/named_params.ts";
import type { ScorableEntry } from "../../types.ts";

export type Board = readonly (readonly number[])[];
export interface Pair {
  input: Board;
  output: Board;
}

export const COLORS = 10;
/** Score of a readable board that is not the right one. */
const READABLE = 0.05;

export interface BoardFormat {
  /** The symbols of colours 0 to 9. */
  alphabet: string[];
  col_delimiter: string;
  row_delimiter: string;
  /** Whether each row, and the whole board, is enclosed in brackets. */
  array_brackets: boolean;
}

const DEFAULT_FORMAT: BoardFormat = {
  alphabet: Array.from({ length: COLORS }, (_, color) => String(color)),
  col_delimiter: " ",
  row_delimiter: "\n",
  array_brackets: false,
};

export function formatParam(): Param<ParamValue> {
  return {
    type: "any",
    default: { ...DEFAULT_FORMAT },
    description:
      "how boards are written: alphabet (the symbols of the ten colours), col_delimiter, " +
      "row_delimiter, array_brackets",
  };
}

/** Returns the errors in a value of `board_format_opts`. Missing keys have their defaults. */
export function checkFormat(value: ParamValue): string[] {
  const fail = (what: string) => [`board_format_opts: ${what}, found ${JSON.stringify(value)}`];
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return fail("must be an object");
  }
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(DEFAULT_FORMAT, key));
  if (unknown !== undefined) {
    return fail(`has no key ${unknown} (its keys: ${Object.keys(DEFAULT_FORMAT).join(", ")})`);
  }
  const { alphabet, col_delimiter, row_delimiter, array_brackets } = {
    ...DEFAULT_FORMAT,
    ...value,
  };
  const symbols: unknown[] = Array.isArray(alphabet) ? alphabet : [];
  if (
    symbols.length < COLORS || new Set(symbols).size < symbols.length ||
    !symbols.every((symbol) => typeof symbol === "string" && symbol !== "")
  ) {
    return fail(`alphabet must be at least ${COLORS} different texts`);
  }
  if (typeof col_delimiter !== "string" || typeof row_delimiter !== "string") {
    return fail("col_delimiter and row_delimiter must be texts");
  }
  return typeof array_brackets === "boolean" ? [] : fail("array_brackets must be true or false");
}

/** The format that a valid parameter value describes. */
export function formatOf(value: ParamValue): BoardFormat {
  return { ...DEFAULT_FORMAT, ...(value as unknown as Partial<BoardFormat>) };
}

export function text(board: Board, format: BoardFormat): string {
  const { alphabet, col_delimiter, row_delimiter, array_brackets } = format;
  const rows = board.map((row) => {
    let line = alphabet[row[0]!]!;
    for (let i = 1; i < row.length; i++) line += col_delimiter + alphabet[row[i]!]!;
    return array_brackets ? `[${line}]` : line;
  }).join(row_delimiter);
  return array_brackets ? `[${rows}]` : rows;
}

/** The complete question for pairs of boards that show a rule. */
export function question(examples: readonly Pair[], test: Board, format: BoardFormat): string {
  const shown = examples.map(({ input, output }, i) =>
    `Example ${i + 1}, input:\n${text(input, format)}\n` +
    `Example ${i + 1}, output:\n${text(output, format)}\n\n`
  );
  return "One rule turns each input grid below into its output grid.\n\n" + shown.join("") +
    `Find the rule and apply it to this input:\n${text(test, format)}\n\n` +
    "Answer with the output grid only, written in the same way.";
}

/**
 * 1 for the board of `metadata.output`, 0.05 for another board, 0 for other text. Lines are
 * trimmed, and lines that begin with `Shape:` are ignored.
 */
export function score(answer: string, entry: ScorableEntry): number {
  if (isOverlong(answer, entry)) return 0;
  if (typeof entry.answer === "string" && plainLines(answer) === plainLines(entry.answer)) return 1;
  const board = parseBoard(answer);
  if (board === null) return 0;
  return isEqual(board, entry.metadata?.["output"]) ? 1 : READABLE;
}

function plainLines(text: string): string {
  return strip(text).split("\n").map(strip).join("\n");
}

/** Parses a board in the default format; null when it contains other symbols. */
function parseBoard(text: string): number[][] | null {
  const board: number[][] = [];
  for (const line of strip(text).split("\n")) {
    const trimmed = strip(line);
    if (trimmed === "" || trimmed.startsWith("Shape:")) continue;
    const row: number[] = [];
    for (let i = 0; i < trimmed.length; i++) {
      if (trimmed[i] === " ") continue;
      const color = trimmed.charCodeAt(i) - "0".charCodeAt(0);
      // A cell is one digit, so a space or the end must follow.
      if (!(color >= 0 && color < COLORS) || (trimmed[i + 1] ?? " ") !== " ") return null;
      row.push(color);
    }
    board.push(row);
  }
  return board;
}

/** Compares the numbers; the kinds of the lists do not matter. */
export function isEqual(board: readonly (readonly number[])[], expected: unknown): boolean {
  return Array.isArray(expected) && expected.length === board.length &&
    board.every((row, r) => {
      const other: unknown = expected[r];
      return Array.isArray(other) && other.length === row.length &&
        row.every((color, c) => color === other[c]);
    });
}
