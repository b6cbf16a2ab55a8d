/**
 * Splits of a data set and slices of them, in the notation of the `datasets` package: `train`,
 * `train[:100]`, `train[10%:20%]`, `train[-50:]`, `train+validation[:5%]`. Source: ReadInstruction
 * in its arrow_reader.py.
 */
import { UsageError } from "../core/errors.ts";

/** One term of such a text. */
export interface SplitSlice {
  readonly split: string;
  /** First row; negative: counted from the end. Null = the first. */
  readonly from: number | null;
  /** Behind the last row; null = the last. */
  readonly to: number | null;
  readonly isPercent: boolean;
}

const NUMBER = String.raw`-?\d+(?:_\d+)*`;
const TERM = new RegExp(
  String.raw`^([\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)*)` +
    String.raw`(?:\[(?:(${NUMBER})(%)?)?:(?:(${NUMBER})(%)?)?\])?$`,
  "u",
);

/** @throws UsageError for a text that is no such split */
export function parseSplit(text: string): SplitSlice[] {
  return text.split(/\s*\+\s*/).map((term) => parseTerm(term, text));
}

function parseTerm(term: string, text: string): SplitSlice {
  const [, split, from, fromPercent, to, toPercent] = TERM.exec(term) ?? [];
  if (split === undefined) {
    throw mistake(text, `${JSON.stringify(term)} is no split`);
  }
  const isPercent = fromPercent !== undefined || toPercent !== undefined;
  const number = (digits: string | undefined) =>
    digits === undefined ? null : Number(digits.replaceAll("_", ""));
  const slice = { split, from: number(from), to: number(to), isPercent };
  if (isPercent && [slice.from, slice.to].some((value) => Math.abs(value ?? 0) > 100)) {
    throw mistake(text, "percents lie between -100 and 100");
  }
  return slice;
}

function mistake(text: string, what: string): UsageError {
  return new UsageError(`${JSON.stringify(text)}: ${what}`, {
    advice: "Expected a split or a slice of one, as in train, train[:100], train[10%:] or " +
      "train+validation.",
  });
}

/** Whether a text is the name of a split alone. */
export function isWhole({ from, to }: SplitSlice): boolean {
  return from === null && to === null;
}

/** The part of the rows of a split. */
export function sliceRows<T>(rows: readonly T[], slice: SplitSlice): readonly T[] {
  const { length } = rows;
  const place = (boundary: number) =>
    slice.isPercent ? roundHalfEven(boundary * length / 100) : boundary;
  const within = (boundary: number) =>
    Math.min(boundary < 0 ? Math.max(length + boundary, 0) : boundary, length);
  return rows.slice(
    within(place(slice.from ?? 0)),
    within(slice.to === null ? length : place(slice.to)),
  );
}

/** Python's `round`: of two equally near integers the even one. */
function roundHalfEven(x: number): number {
  const below = Math.floor(x), rest = x - below;
  if (rest !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}
