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
  /**
   * pct1_dropremainder: each percent has the same whole number of rows; the remaining rows are left
   * out.
   */
  readonly rounding: "closest" | "pct1_dropremainder";
}

const NUMBER = String.raw`-?\d+(?:_\d+)*`;
const TERM = new RegExp(
  String.raw`^([\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)*)` +
    String.raw`(?:\[(?:(${NUMBER})(%)?)?:(?:(${NUMBER})(%)?)?\])?(?:\(([^)]*)\))?$`,
  "u",
);

/** @throws UsageError for a text that is no such split */
export function parseSplit(text: string): SplitSlice[] {
  const slices = text.split(/\s*\+\s*/).map((term) => parseTerm(term, text));
  const roundings = new Set(
    slices.filter(({ isPercent }) => isPercent).map(({ rounding }) => rounding),
  );
  if (roundings.size > 1) throw mistake(text, "the terms round percents in two ways");
  return slices;
}

function parseTerm(term: string, text: string): SplitSlice {
  const [, split, from, fromPercent, to, toPercent, rounding] = TERM.exec(term) ?? [];
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
  if (rounding === undefined) return { ...slice, rounding: "closest" };
  if (!isPercent) throw mistake(text, "only percents are rounded");
  if (rounding !== "closest" && rounding !== "pct1_dropremainder") {
    throw mistake(text, `the rounding ${rounding}: expected closest or pct1_dropremainder`);
  }
  return { ...slice, rounding };
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

/**
 * The part of the rows of a split.
 * @throws UsageError where pct1_dropremainder would leave no row
 */
export function sliceRows<T>(rows: readonly T[], slice: SplitSlice): readonly T[] {
  const { length } = rows, { isPercent, rounding } = slice;
  if (isPercent && rounding === "pct1_dropremainder" && length < 100) {
    throw new UsageError(
      `the split ${slice.split} has ${length} rows: pct1_dropremainder leaves none of them`,
      { advice: "It needs 100 rows: leave the rounding out." },
    );
  }
  const place = (boundary: number) => {
    if (!isPercent) return boundary;
    return rounding === "closest"
      ? roundHalfEven(boundary * length / 100)
      : boundary * Math.trunc(length / 100);
  };
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
