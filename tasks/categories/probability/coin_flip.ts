/** The probability of a number of heads in flips of a fair coin. */
import { bool, consecutive, counts, defineTask, type ScorableEntry } from "../../define.ts";
import { parseInteger } from "../../python/integers.ts";
import { formatExponent } from "../../python/repr.ts";
import { parseFinite } from "../../python/decimals.ts";

/** Probabilities that differ by at most this count as equal. */
const TOLERANCE = 1e-4;
const SIGNIFICANT = 10;
/** Maximum number of flips: 2^1000 is within the range of a double. */
const MAX_TRIALS = 1000;
const MAX_LENGTH = 5000;

export default defineTask({
  description: "Find the probability of a number of heads.",
  scoring:
    "1 within 1e-4 of the probability (decimal number or fraction); else the share of leading " +
    "characters that both numbers, written with 10 significant digits, have in common.",
  params: {
    trials: counts([3, 15], "flips", {
      min: 1,
      max: MAX_TRIALS,
      levels: consecutive(3, 15),
      as: "num_trials",
    }),
    allow_exact: bool(true, "ask for an exact number of heads"),
    allow_at_least: bool(true, "ask for at least a number of heads"),
  },
  rules: {
    "allow_exact: allow_exact or allow_at_least must be true": (c) =>
      c.allow_exact || c.allow_at_least,
  },
  generate(random, config) {
    const n = random.int(config.min_trials, config.max_trials), k = random.int(0, n);
    const exact = config.allow_exact && (!config.allow_at_least || random.chance(0.5));
    const row = binomials(n);
    const ways = exact ? row[k]! : row.slice(k).reduce((sum, value) => sum + value, 0n);
    const numerator = Number(ways), denominator = 2 ** n;
    return {
      question: `A fair coin is flipped ${times(n)}. What is the probability that it shows heads ` +
        `${exact ? "exactly" : "at least"} ${times(k)}? Answer with a decimal number with ` +
        `${SIGNIFICANT} significant digits (fewer if it is exact with fewer), such as 0.046875, ` +
        "or with a fraction.",
      answer: general(numerator / denominator),
      metadata: {
        num_trials: n,
        k_heads: k,
        problem_type: exact ? "exact" : "at_least",
        rational: { numerator, denominator },
      },
    };
  },
  score(answer, entry) {
    if (answer.length > MAX_LENGTH) return 0;
    const given = parseNumber(answer), expected = probabilityOf(entry);
    if (given === null || expected === null) return 0;
    if (Math.abs(given - expected) <= TOLERANCE) return 1;
    const a = general(given), b = general(expected);
    let same = 0;
    while (same < a.length && a[same] === b[same]) same++;
    return same / Math.max(a.length, b.length);
  },
});

function times(n: number): string {
  return n === 1 ? "1 time" : `${n} times`;
}

/** C(n, 0) … C(n, n). */
function binomials(n: number): bigint[] {
  const row = [1n];
  for (let k = 1; k <= n; k++) row.push(row[k - 1]! * BigInt(n - k + 1) / BigInt(k));
  return row;
}

/** Python's `format(x, ".10g")` for x > 0: no trailing zeros, and an exponent below 1e-4. */
function general(x: number): string {
  if (x === 0) return "0";
  const sign = x < 0 ? "-" : "";
  const [mantissa, power] = formatExponent(Math.abs(x), SIGNIFICANT - 1).split("e") as [
    string,
    string,
  ];
  const exponent = Number(power), digits = mantissa.replace(".", "");
  if (exponent < -4 || exponent >= SIGNIFICANT) {
    return `${sign}${mantissa.replace(/\.?0+$/, "")}e${power}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits.replace(/0+$/, "")}`;
  const whole = digits.slice(0, exponent + 1), rest = digits.slice(exponent + 1).replace(/0+$/, "");
  return sign + whole + (rest === "" ? "" : `.${rest}`);
}

function probabilityOf(entry: ScorableEntry): number | null {
  const rational = entry.metadata?.["rational"] as Record<string, unknown> | null | undefined;
  const { numerator, denominator } = rational ?? {};
  const known = Number(numerator) / Number(denominator);
  return finite(known) ?? parseNumber(entry.answer ?? "");
}

/** A decimal number or a fraction of two integers. Thousands commas are removed. */
function parseNumber(text: string): number | null {
  const plain = text.replaceAll(",", ""), slash = plain.indexOf("/");
  if (slash < 0) return parseFinite(plain);
  const top = parseInteger(plain.slice(0, slash)), bottom = parseInteger(plain.slice(slash + 1));
  return top === null || !bottom ? null : finite(Number(top) / Number(bottom));
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
