/**
 * For tests only: checks that the entries of a task are as varied as reasoning-gym's, so that no
 * generator repeats a few trivial problems. The entries are numbers 0, 1, 2 … of one seed with the
 * default configuration. Each violated rule gives one line of text.
 *
 * `tests/golden/reasoning-gym/diversity/stats.json` has statistics of n1 entries of reasoning-gym.
 * There are n2 of ours. A figure for M entries is compared with that of our first M entries, where
 * M is the largest recorded number that we have. With r = √(1 + 1 / blocks), the rules are:
 *
 * 1. Variety. The shares of distinct questions, problems and answers are at least
 *    share − 4 r standard_error − 0.01, the entropy of the answers is at least
 *    bits − 4 r standard_error − 0.15, and the share of the commonest answer is at most
 *    share + 4 r standard_error + 0.01. A problem is the answer with the metadata.
 * 2. Shares of values (at most 20 distinct ones). With p the pooled share, ours differs by at most
 *    5 √(p (1 − p) (1/n1 + 1/n2)) + 2 / min(n1, n2). A value with a share of 2 % or more that is
 *    expected 15 times or more occurs. Values that are not recorded count together, with share 0.
 * 3. Numbers, and lengths of answers and texts. Our median is between their quantiles 50 − h and
 *    50 + h, with h = max(25, 500 √((1/n1 + 1/n2) / 4)) percent, and 20 more for texts. The share
 *    of numbers outside their middle half is at least 0.3 times theirs (for 100 entries or more).
 * 4. Distinct values of a key of the metadata are limited like those of rule 1.
 * 5. Every recorded key of the metadata is there.
 *
 * Exceptions list keys that are not compared (`skip`), keys of which only the median is compared,
 * with 20 more percent (`loose`), and other limits for rule 1 (`limits`).
 */
import type { Entry } from "./types.ts";

type Quantiles = Record<string, number>;
type Shares = Record<string, number>;

interface Figure {
  share?: number;
  bits?: number;
  standard_error: number;
}

interface Sample {
  blocks: number;
  distinct_questions: Figure;
  distinct_problems: Figure;
  distinct_answers: Figure;
  commonest_answer: Figure;
  answer_entropy_bits: Figure;
}

interface KeyStats {
  kind: "categories" | "number" | "text" | "contains";
  present_share?: number;
  distinct_values?: number;
  shares?: Shares;
  quantiles?: Quantiles;
  length_quantiles?: Quantiles;
  inside_middle_half?: number;
  distinct_by_sample_size?: Record<string, Figure & { blocks: number }>;
}

export interface TaskStats {
  items: number;
  by_sample_size: Record<string, Sample>;
  answers: {
    null_share: number;
    shares?: Shares;
    length_quantiles?: Quantiles;
    number_quantiles?: Quantiles;
    number_inside_middle_half?: number;
  };
  metadata: Record<string, KeyStats>;
}

export interface DiversityException {
  loose?: string[];
  skip?: string[];
  limits?: Record<string, number>;
}

/** Returns the violated rules; empty when the entries are varied enough. */
export function brokenRules(
  entries: readonly Entry[],
  stats: TaskStats,
  exceptions: readonly DiversityException[] = [],
): string[] {
  const loose = new Set(exceptions.flatMap((e) => e.loose ?? []));
  const skip = new Set(exceptions.flatMap((e) => e.skip ?? []));
  const limits = Object.assign({}, ...exceptions.map((e) => e.limits ?? {}));
  return [
    ...variety(entries, stats, limits),
    ...(skip.has("answer") ? [] : answers(entries, stats, loose)),
    ...Object.entries(stats.metadata).flatMap(([key, expected]) =>
      skip.has(key) ? [] : metadataKey(key, expected, entries, stats.items, loose.has(key))
    ),
  ];
}

function largestSample(sizes: string[], available: number): string | undefined {
  return sizes.filter((size) => Number(size) <= available).sort((a, b) => Number(b) - Number(a))[0];
}

function slack({ standard_error }: Figure, blocks: number): number {
  return 4 * Math.sqrt(1 + 1 / blocks) * standard_error;
}

/** Rule 1: distinct questions, problems and answers, and the entropy of the answers. */
function variety(
  entries: readonly Entry[],
  stats: TaskStats,
  limits: Record<string, number>,
): string[] {
  const size = largestSample(Object.keys(stats.by_sample_size), entries.length)!;
  const sample = stats.by_sample_size[size]!, used = entries.slice(0, Number(size));
  const counts = new Map<string, number>();
  for (const { answer } of used) {
    counts.set(answer ?? "null", (counts.get(answer ?? "null") ?? 0) + 1);
  }
  const parts = [...counts.values()].map((count) => count / used.length);
  const errors: string[] = [];
  const atLeast = (name: keyof Sample & string, found: number, margin: number) => {
    const figure = sample[name] as Figure;
    let limit = (figure.share ?? figure.bits!) - slack(figure, sample.blocks) - margin;
    limit = Math.min(limit, limits[name] ?? limit);
    if (found < limit) errors.push(`${name}: ${found}, at least ${limit}`);
  };
  const share = (texts: string[]) => new Set(texts).size / used.length;
  atLeast("distinct_questions", share(used.map((e) => e.question)), 0.01);
  atLeast("distinct_problems", share(used.map(problemOf)), 0.01);
  atLeast("distinct_answers", counts.size / used.length, 0.01);
  atLeast("answer_entropy_bits", parts.reduce((bits, p) => bits - p * Math.log2(p), 0), 0.15);
  const commonest = sample.commonest_answer;
  const maxShare = Math.max(
    commonest.share! + slack(commonest, sample.blocks) + 0.01,
    limits["commonest_answer"] ?? 0,
  );
  if (Math.max(...parts) > maxShare) {
    errors.push(`commonest_answer: ${Math.max(...parts)}, at most ${maxShare}`);
  }
  return errors;
}

function problemOf({ answer, metadata }: Entry): string {
  const { source_dataset: _name, source_index: _index, difficulty: _difficulty, ...rest } =
    metadata;
  return JSON.stringify([answer, rest]);
}

/** Rules 2 and 3, for the answers. */
function answers(entries: readonly Entry[], stats: TaskStats, loose: Set<string>): string[] {
  const { shares, number_quantiles, number_inside_middle_half, length_quantiles } = stats.answers;
  const texts = entries.map((entry) => entry.answer).filter((answer) => answer !== null);
  const errors: string[] = [];
  if (shares && !loose.has("answer")) {
    errors.push(...compareShares("answer", texts, shares, stats.items));
  }
  if (number_quantiles) {
    errors.push(...compareNumbers(
      "answer.number",
      texts.map(Number),
      number_quantiles,
      number_inside_middle_half!,
      stats.items,
      loose.has("answer.number"),
    ));
  }
  if (length_quantiles && !shares) {
    errors.push(...compareMedian(
      "answer.length",
      texts.map((text) => [...text].length),
      length_quantiles,
      halfWidth(stats.items, texts.length) + (loose.has("answer.length") ? 20 : 0),
    ));
  }
  return errors;
}

/** Rules 2 to 5, for one key of the metadata. */
function metadataKey(
  key: string,
  expected: KeyStats,
  entries: readonly Entry[],
  items: number,
  loose: boolean,
): string[] {
  if (expected.kind === "contains") {
    return loose ? [] : compareContains(key, expected.shares!, entries, items);
  }
  // Lists and maps are compared by their derived keys. Only those of `difficulty` are recorded as
  // values.
  const isCompared = (value: unknown) =>
    value !== undefined && (typeof value !== "object" || value === null || key.includes("."));
  const values = entries.map((entry) => valueAt(entry.metadata, key)).filter(isCompared);
  if (values.length === 0) return [`${key}: missing`];
  const n1 = Math.round(items * expected.present_share!);
  if (expected.kind === "categories" && !loose) {
    return compareShares(key, values.map(asText), expected.shares!, n1);
  }
  const errors: string[] = [];
  if (expected.quantiles) {
    errors.push(...compareNumbers(
      key,
      values.map(Number),
      expected.quantiles,
      expected.inside_middle_half!,
      n1,
      loose,
    ));
  } else if (expected.length_quantiles) {
    const lengths = values.map((value) => [...asText(value)].length);
    errors.push(
      ...compareMedian(key, lengths, expected.length_quantiles, halfWidth(n1, lengths.length) + 20),
    );
  }
  const bySize = expected.distinct_by_sample_size;
  const size = bySize && largestSample(Object.keys(bySize), values.length);
  if (size !== undefined && !loose) {
    const figure = bySize![size]!;
    const found = new Set(values.slice(0, Number(size)).map(asText)).size / Number(size);
    const limit = figure.share! - slack(figure, figure.blocks) - 0.01;
    if (found < limit) errors.push(`${key}: distinct share ${found}, at least ${limit}`);
  }
  return errors;
}

function compareShares(key: string, values: string[], theirs: Shares, n1: number): string[] {
  const n2 = values.length, unknown = "(values that theirs never have)";
  const counts = new Map<string, number>();
  for (const value of values) {
    const name = Object.hasOwn(theirs, value) ? value : unknown;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const errors: string[] = [];
  for (const [value, share] of [...Object.entries(theirs), [unknown, 0] as const]) {
    const found = (counts.get(value) ?? 0) / n2;
    const pooled = (share * n1 + found * n2) / (n1 + n2);
    const limit = 5 * Math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2)) + 2 / Math.min(n1, n2);
    if (Math.abs(found - share) > limit) {
      errors.push(`${key} = ${value}: share ${found}, theirs ${share} ± ${limit}`);
    }
    if (share >= 0.02 && share * n2 >= 15 && found === 0) errors.push(`${key} = ${value}: never`);
  }
  return errors;
}

function compareContains(
  key: string,
  shares: Shares,
  entries: readonly Entry[],
  items: number,
): string[] {
  const list = key.replace(/ contains$/, "");
  return Object.entries(shares).flatMap(([value, share]) => {
    const found = entries.filter((entry) => {
      const elements = valueAt(entry.metadata, list);
      return Array.isArray(elements) && elements.includes(value);
    }).map(() => value);
    const absent = new Array<string>(entries.length - found.length).fill("without");
    return compareShares(key, [...found, ...absent], { [value]: share, without: 1 - share }, items);
  });
}

function compareNumbers(
  key: string,
  values: number[],
  quantiles: Quantiles,
  inside: number,
  n1: number,
  loose: boolean,
): string[] {
  const errors = compareMedian(
    key,
    values,
    quantiles,
    halfWidth(n1, values.length) + (loose ? 20 : 0),
  );
  if (loose || n1 < 100 || values.length < 100) return errors;
  const outside = values.filter((v) => v < quantiles["25"]! || v > quantiles["75"]!).length;
  if (outside / values.length < 0.3 * (1 - inside)) {
    errors.push(`${key}: only ${outside} of ${values.length} outside their middle half`);
  }
  return errors;
}

/** The half width h of rule 3, in percent. */
function halfWidth(n1: number, n2: number): number {
  return Math.max(25, 500 * Math.sqrt(0.25 * (1 / n1 + 1 / n2)));
}

function compareMedian(key: string, values: number[], quantiles: Quantiles, h: number): string[] {
  const percents = Object.keys(quantiles).map(Number).sort((a, b) => a - b);
  const low = percents.filter((p) => p <= Math.max(0, 50 - h)).at(-1)!;
  const high = percents.find((p) => p >= Math.min(100, 50 + h))!;
  const sorted = values.toSorted((a, b) => a - b), middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1
    ? sorted[middle]!
    : (sorted[middle - 1]! + sorted[middle]!) / 2;
  const [a, b] = [quantiles[String(low)]!, quantiles[String(high)]!];
  return median >= a && median <= b ? [] : [`${key}: median ${median}, theirs ${a} to ${b}`];
}

/**
 * Returns the value of a metadata key or of a derived key: K.length, K.row_length, K.smallest,
 * K.largest, K.size, or K.SUB (the key SUB of each element).
 */
function valueAt(metadata: Record<string, unknown>, key: string): unknown {
  if (Object.hasOwn(metadata, key)) return metadata[key];
  const dot = key.lastIndexOf(".");
  if (dot < 0) return undefined;
  const base = valueAt(metadata, key.slice(0, dot)), part = key.slice(dot + 1);
  if (Array.isArray(base)) {
    if (part === "length") return base.length;
    if (part === "row_length") return (base[0] as unknown[] | undefined)?.length;
    if (part !== "smallest" && part !== "largest") {
      // The recorded statistics leave out lists in which an element lacks the key.
      const parts = base.map((element) => (element as Record<string, unknown>)[part]);
      return parts.includes(undefined) ? undefined : parts;
    }
    return base.length === 0 ? undefined : Math[part === "smallest" ? "min" : "max"](...base);
  }
  if (typeof base !== "object" || base === null) return undefined;
  return part === "size" && !Object.hasOwn(base, "size")
    ? Object.keys(base).length
    : (base as Record<string, unknown>)[part];
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, withTwelveDigits);
}

/** Rounds to 12 significant digits, as the recorded statistics do. */
function withTwelveDigits(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(12)) : value;
}
