/** Reduce a fraction, written plainly or in LaTeX. */
import { choices, defineTask, sizes } from "../../define.ts";
import { parseInteger } from "../../python/integers.ts";
import { strip } from "../../python/text.ts";
import { gcdOf } from "./divisors.ts";

const STYLES = ["plain", "latex_inline", "latex_frac", "latex_dfrac"] as const;

export default defineTask({
  description: "Reduce a fraction to lowest terms.",
  scoring:
    "A fraction a/b, $a/b$, \\frac{a}{b} or \\dfrac{a}{b}: 1 when it is the reduced one, 0.1 " +
    "when its numerator or denominator is still the given one, 0.05 otherwise; other text 0.01.",
  params: {
    value: sizes([1, 1000], "numerator and denominator of the reduced fraction", {
      apart: true,
      min: 1,
      max: 1e9,
      spans: [1, 100, 1000, 10_000],
    }),
    factor: sizes([1, 100], "common factor", { min: 1, max: 1e6, spans: [1, 10, 100, 1000] }),
    styles: choices([...STYLES], "how fractions are written", STYLES),
  },
  generate(random, config) {
    const { min_value, max_value } = config;
    const first = random.int(min_value, max_value), second = random.int(min_value, max_value);
    const [a, b] = inLowestTerms(Math.min(first, second), Math.max(first, second), min_value);
    const factor = random.int(config.min_factor, config.max_factor);
    const style = random.choice(config.styles);
    return {
      question: `Reduce the fraction ${written(a * factor, b * factor, style)} to lowest terms. ` +
        "Answer with the fraction only, written in the same way.",
      answer: written(a, b, style),
      metadata: {
        numerator: a * factor,
        denominator: b * factor,
        simplified_numerator: a,
        simplified_denominator: b,
        reduction_factor: factor,
        style,
        factor,
      },
    };
  },
  score(answer, entry) {
    const given = parseFraction(answer);
    if (given === null) return 0.01;
    const metadata = entry.metadata ?? {};
    const equals = (i: 0 | 1, key: string) => String(given[i]) === String(metadata[key]);
    if (metadata["simplified_numerator"] === undefined) {
      const oracle = parseFraction(entry.answer ?? "");
      return oracle !== null && given[0] === oracle[0] && given[1] === oracle[1] ? 1 : 0.05;
    }
    if (equals(0, "simplified_numerator") && equals(1, "simplified_denominator")) return 1;
    return equals(0, "numerator") || equals(1, "denominator") ? 0.1 : 0.05;
  },
});

/**
 * Divides by the common factor. If a part would fall below `minimum`, changes the parts until they
 * are coprime.
 */
function inLowestTerms(a: number, b: number, minimum: number): [number, number] {
  const common = gcdOf(a, b);
  if (a / common >= minimum) return [a / common, b / common];
  if (a === b) return [minimum, minimum + 1];
  // This ends soon: at the latest at minimum and minimum + 1, which are coprime.
  while (gcdOf(a, b) > 1) {
    if (a > minimum) a--;
    else b--;
  }
  return [a, b];
}

function written(a: number, b: number, style: string): string {
  switch (style) {
    case "latex_inline":
      return `$${a}/${b}$`;
    case "latex_frac":
      return `$\\frac{${a}}{${b}}$`;
    case "latex_dfrac":
      return `$\\dfrac{${a}}{${b}}$`;
    default:
      return `${a}/${b}`;
  }
}

const LATEX = /^\\d?frac\s*\{\s*([0-9]{1,400})\s*\}\s*\{\s*([0-9]{1,400})\s*\}/i;

/** Text may follow a fraction in LaTeX, but a plain fraction must end the answer. */
function parseFraction(text: string): [bigint, bigint] | null {
  const trimmed = strip(text);
  let start = 0, end = trimmed.length;
  while (trimmed[start] === "$") start++;
  while (end > start && trimmed[end - 1] === "$") end--;
  const plain = strip(trimmed.slice(start, end));
  const latex = LATEX.exec(plain);
  if (latex !== null) return [BigInt(latex[1]!), BigInt(latex[2]!)];
  const slash = plain.indexOf("/");
  if (slash < 0) return null;
  const a = parseInteger(plain.slice(0, slash)), b = parseInteger(plain.slice(slash + 1));
  return a === null || b === null ? null : [a, b];
}
