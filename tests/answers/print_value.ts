/** Writes exact values as LaTeX or plain text in many ways, for the fuzzer. */
import type { RandomStream } from "../../core/philox.ts";
import {
  add,
  fractionOf,
  multiply,
  negate,
  rational,
  subtract,
  type Term,
  type Value,
} from "./exact.ts";

export const pick = <T>(random: RandomStream, items: readonly T[]): T =>
  items[random.below(items.length)]!;

const abs = (n: bigint) => n < 0n ? -n : n;

/** A number that is not a sum; or a sum in brackets. */
export function printValue(value: Value, random: RandomStream, depth = 0): string {
  const fraction = fractionOf(value);
  if (depth < 2 && random.chance(0.12)) return rewritten(value, random, depth + 1);
  if (fraction !== null) return printFraction(fraction, random, depth === 0);
  const terms = shuffled(value, random);
  if (random.chance(0.15) && terms.length > 1) {
    const common = terms.reduce((all, { below }) => all * below, 1n);
    if (common > 1n && common < 10n ** 6n) {
      const above = multiply(value, rational(common));
      return `\\frac{${joined(above, random)}}{${common}}`;
    }
  }
  return joined(terms, random);
}

/** The same value by one more operation. */
function rewritten(value: Value, random: RandomStream, depth: number): string {
  const k = BigInt(random.int(2, 10)), factor = rational(k);
  const inner = (other: Value) => printValue(other, random, depth);
  switch (random.below(5)) {
    case 0:
      return `\\frac{${inner(multiply(value, factor))}}{${k}}`;
    case 1:
      return `${k}\\left(${inner(multiply(value, rational(1n, k)))}\\right)`;
    case 2:
      return `${inner(add(value, factor))} - ${k}`;
    case 3:
      return `${k} + ${bracketed(inner(subtract(value, factor)))}`;
    default:
      return `-(${inner(negate(value))})`;
  }
}

const bracketed = (text: string) => /^[\w.]+$/.test(text) ? text : `(${text})`;

export function shuffled<T>(items: readonly T[], random: RandomStream): T[] {
  const all = [...items];
  for (let i = all.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
  return all;
}

function joined(terms: readonly Term[], random: RandomStream): string {
  const space = random.chance(0.5) ? " " : "";
  return terms.map((part, i) => {
    const text = printTerm({ ...part, above: abs(part.above) }, random);
    if (i === 0) return part.above < 0n ? `-${text}` : text;
    return `${space}${part.above < 0n ? "-" : "+"}${space}${text}`;
  }).join("");
}

/** A positive term. */
function printTerm(part: Term, random: RandomStream): string {
  const { above, below, root, pi, names } = part;
  const symbols: string[] = [];
  if (pi > 0) symbols.push(pi === 1 ? "\\pi" : `\\pi^${pi}`);
  for (const [name, n] of Object.entries(names)) symbols.push(printPower(name, n, random));
  const radical = root === 1n ? [] : [random.chance(0.2) ? `${root}^{1/2}` : `\\sqrt{${root}}`];
  const factors = [...radical, ...symbols];
  if (factors.length === 0 && pi >= 0) return printFraction({ above, below }, random, false);
  const times = radical[0]?.startsWith("\\sqrt") !== true && radical.length > 0
    ? " \\cdot "
    : pick(random, ["", " ", " \\cdot ", " \\times "]);
  const under = pi < 0 ? (pi === -1 ? "\\pi" : `\\pi^{${-pi}}`) : "";
  if (under !== "" || (below > 1n && random.chance(0.6))) {
    const top = [...(above === 1n && factors.length > 0 ? [] : [String(above)]), ...factors];
    const bottom = [...(below === 1n ? [] : [String(below)]), ...(under === "" ? [] : [under])];
    return `\\frac{${product(top, times)}}{${bottom.join(" ")}}`;
  }
  if (root > 1n && symbols.length === 0 && random.chance(0.3)) {
    return unusual(part, random);
  }
  const coefficient = above === 1n && below === 1n
    ? []
    : below === 1n
    ? [String(above)]
    : [`\\frac{${above}}{${below}}`];
  return product([...coefficient, ...factors], times);
}

/** A command must not run into the letter after it. */
const product = (factors: readonly string[], times: string) =>
  factors.join(times).replace(/\\pi(?=[A-Za-z])/g, "\\pi ");

/** Roots that are not in their usual form: √18, 6/√2, √9·√2. */
function unusual({ above, below, root }: Term, random: RandomStream): string {
  switch (random.below(3)) {
    case 0:
      return below === 1n
        ? `\\sqrt{${above * above * root}}`
        : `\\sqrt{\\frac{${above * above * root}}{${below * below}}}`;
    case 1:
      return `\\frac{${above * root}}{${below === 1n ? "" : below}\\sqrt{${root}}}`;
    default:
      return below === 1n
        ? `\\sqrt{${above * above}}\\sqrt{${root}}`
        : `\\frac{\\sqrt{${above * above * root}}}{${below}}`;
  }
}

function printPower(name: string, n: number, random: RandomStream): string {
  if (n === 1) return name;
  if (n > 1 && n < 5 && random.chance(0.2)) return new Array<string>(n).fill(name).join(" \\cdot ");
  return n > 9 || n < 0 || random.chance(0.5) ? `${name}^{${n}}` : `${name}^${n}`;
}

/** @param alone nothing is before or after it, so that mixed numbers are clear */
function printFraction(
  { above, below }: { above: bigint; below: bigint },
  random: RandomStream,
  alone: boolean,
): string {
  const sign = above < 0n ? "-" : "", top = abs(above);
  if (below === 1n) return sign + printWhole(top, random, alone, sign === "");
  const decimal = terminating(top, below);
  if (decimal !== null && random.chance(0.35)) return sign + decimal;
  if (alone && top > below && random.chance(0.25)) {
    const [whole, rest] = [top / below, top % below];
    return sign + pick(random, [
      `${whole}\\frac{${rest}}{${below}}`,
      `${whole} \\frac{${rest}}{${below}}`,
      `${whole} ${rest}/${below}`,
    ]);
  }
  const k = random.chance(0.3) ? BigInt(random.int(2, 13)) : 1n;
  const [n, d] = [top * k, below * k];
  const command = pick(random, ["\\frac", "\\dfrac", "\\tfrac"]);
  const forms = [`${sign}${command}{${n}}{${d}}`, `${sign}${command}{${n}}{${d}}`];
  if (alone) {
    forms.push(`${sign}${n}/${d}`, `${command}{${sign}${n}}{${d}}`, `${sign}${n} \\div ${d}`);
    forms.push(`${sign}${n} \\cdot ${d}^{-1}`, `${sign}\\left(${command}{${n}}{${d}}\\right)`);
    if (n < 10n && d < 10n) forms.push(`${sign}${command}${n}${d}`);
  }
  return pick(random, forms);
}

/** @param sums a sum may stand here: there is no minus sign before it */
function printWhole(n: bigint, random: RandomStream, alone: boolean, sums: boolean): string {
  const digits = String(n);
  if (!alone || random.chance(0.4)) return digits;
  const forms = [`${digits}.0`, `${digits}.00`, `(${digits})`, `{${digits}}`, `${digits}^1`];
  if (n >= 1000n) {
    const groups = (mark: string) => digits.replace(/\B(?=(\d{3})+$)/g, mark);
    forms.push(groups(","), groups("{,}"), groups(",\\!"), groups("\\,"));
    const zeros = /0+$/.exec(digits)?.[0].length ?? 0;
    if (zeros > 1) forms.push(`${digits.slice(0, -zeros)} \\times 10^{${zeros}}`);
  }
  if (n > 1n) {
    const k = BigInt(random.int(2, 9));
    forms.push(`\\frac{${n * k}}{${k}}`, `${n * k}/${k}`);
    if (sums) forms.push(`${n - 1n} + 1`, `${n + k} - ${k}`);
    if (n < 10n ** 9n) forms.push(`\\sqrt{${n * n}}`, `\\sqrt[3]{${n ** 3n}}`);
    if (n % k === 0n) forms.push(`${k} \\cdot ${n / k}`, `${n / k} \\times ${k}`);
  }
  return pick(random, forms);
}

/** The decimal of a fraction that has one. */
export function terminating(above: bigint, below: bigint): string | null {
  let scale = 1n, places = 0;
  while (scale % below !== 0n) {
    scale *= 10n;
    if (++places > 12) return null;
  }
  const digits = String(above * (scale / below)).padStart(places + 1, "0");
  return `${digits.slice(0, digits.length - places)}.${digits.slice(digits.length - places)}`;
}
