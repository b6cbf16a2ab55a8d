/** Writes golds in ways that keep their meaning, for the fuzzer. */
import type { RandomStream } from "../../core/philox.ts";
import { approximate, multiply, negate, rational, subtract, type Value } from "./exact.ts";
import type { Gold, Interval } from "./golds.ts";
import { pick, printValue, shuffled } from "./print_value.ts";

/** An answer that means the same as the gold. */
export function printSame(gold: Gold, random: RandomStream): string {
  return wrapped(inner(gold, random), random);
}

function wrapped(text: string, random: RandomStream): string {
  if (random.chance(0.6)) return text;
  return pick(random, [
    `$${text}$`,
    `\\(${text}\\)`,
    `\\[ ${text} \\]`,
    ` ${text} `,
    `${text}.`,
    `\\displaystyle ${text}`,
    `**$${text}$**`,
  ]);
}

function inner(gold: Gold, random: RandomStream): string {
  const print = (value: Value) => printValue(value, random);
  switch (gold.kind) {
    case "number": {
      const text = print(gold.value);
      // A unit after a sum would belong to its last term only.
      const unit = /^-?[\d.]+$/.test(text) && random.chance(0.6) ? gold.unit : "";
      const free = gold.value.every(({ names }) => Object.keys(names).length === 0);
      return `${
        free && random.chance(0.1) ? pick(random, ["x = ", "= ", "n="]) : ""
      }${text}${unit}`;
    }
    case "tuple": {
      const items = gold.items.map((item) => printItem(item, random)).join(
        pick(random, [",", ", "]),
      );
      return pick(random, [`(${items})`, `\\left(${items}\\right)`, `\\left( ${items} \\right)`]);
    }
    case "list":
      return printList(gold.items, random);
    case "intervals":
      return printIntervals(gold.parts, random);
    case "matrix":
      return printMatrix(gold.rows, random);
    case "equation":
      return printEquation(gold.left, gold.right, random);
    case "text":
      return printText(gold.text, random);
  }
}

/** Within a tuple or a list a comma separates, so no number has one inside. */
function printItem(value: Value, random: RandomStream): string {
  for (;;) {
    const text = printValue(value, random);
    if (!/,|\\,|\d \d/.test(text)) return text;
  }
}

function printList(items: readonly Value[], random: RandomStream): string {
  const texts = shuffled(items, random).map((item) => printItem(item, random));
  const form = random.below(6);
  if (form === 0) return `\\{${texts.join(", ")}\\}`;
  if (form === 1) return `\\left\\{${texts.join(", ")}\\right\\}`;
  if (form === 2) return texts.map((text) => `x = ${text}`).join(" \\text{ or } ");
  if (form === 3) return texts.map((text) => `x=${text}`).join(", ");
  if (form === 4 && texts.length > 1) {
    return `${texts.slice(0, -1).join(", ")} \\text{ ${pick(random, ["and", "or"])} } ${
      texts.at(-1)
    }`;
  }
  const close = texts.join(",");
  // 1,222 is one number.
  return /\d,\d{3}(?!\d)/.test(close) || random.chance(0.5) ? texts.join(", ") : close;
}

function printIntervals(parts: readonly Interval[], random: RandomStream): string {
  if (random.chance(0.35) && parts.some(({ low, high }) => low !== null || high !== null)) {
    const texts = shuffled(parts, random).map((part) => inequality(part, random));
    return texts.join(pick(random, [" \\text{ or } ", " or "]));
  }
  const texts = shuffled(parts, random).map((part) => bracketed(part, random));
  const name = random.chance(0.2) ? "x \\in " : "";
  return name + texts.join(pick(random, [" \\cup ", "\\cup", " ∪ "]));
}

function bracketed({ low, high, lowIn, highIn }: Interval, random: RandomStream): string {
  const [open, close] = [lowIn ? "[" : "(", highIn ? "]" : ")"];
  const from = low === null ? "-\\infty" : printItem(low, random);
  const to = high === null ? pick(random, ["\\infty", "+\\infty", "∞"]) : printItem(high, random);
  return random.chance(0.3)
    ? `\\left${open} ${from}, ${to} \\right${close}`
    : `${open}${from},${pick(random, ["", " "])}${to}${close}`;
}

function inequality({ low, high, lowIn, highIn }: Interval, random: RandomStream): string {
  const less = (within: boolean) => within ? pick(random, ["\\le", "\\leq", "≤", "<="]) : "<";
  const more = (within: boolean) => within ? pick(random, ["\\ge", "\\geq", "≥", ">="]) : ">";
  const print = (value: Value) => printItem(value, random);
  const negative = random.chance(0.15);
  if (low === null && high === null) return "x \\in \\mathbb{R}";
  if (low === null) {
    if (negative) return `-x ${more(highIn)} ${print(negate(high!))}`;
    return random.chance(0.5)
      ? `x ${less(highIn)} ${print(high!)}`
      : `${print(high!)} ${more(highIn)} x`;
  }
  if (high === null) {
    if (negative) return `-x ${less(lowIn)} ${print(negate(low))}`;
    return random.chance(0.5) ? `x ${more(lowIn)} ${print(low)}` : `${print(low)} ${less(lowIn)} x`;
  }
  return random.chance(0.7)
    ? `${print(low)} ${less(lowIn)} x ${less(highIn)} ${print(high)}`
    : `${print(high)} ${more(highIn)} x ${more(lowIn)} ${print(low)}`;
}

function printMatrix(rows: readonly (readonly Value[])[], random: RandomStream): string {
  const name = pick(random, ["pmatrix", "bmatrix"]);
  const k = BigInt(random.int(2, 7)), scaled = random.chance(0.25);
  const cells = rows.map((row) =>
    row.map((cell) => printItem(scaled ? multiply(cell, rational(k)) : cell, random)).join(" & ")
  );
  const body = `\\begin{${name}} ${cells.join(" \\\\ ")} \\end{${name}}`;
  return scaled ? `\\frac{1}{${k}}${body}` : body;
}

/** The same line: both sides with the same factor and the same summand, or exchanged. */
function printEquation(left: Value, right: Value, random: RandomStream): string {
  const k = rational(BigInt(pick(random, [1, 1, 2, 3, 5, -1, -4])));
  const moved = random.chance(0.3) ? left : random.chance(0.3) ? rational(7n) : [];
  const sides = [left, right].map((side) => subtract(multiply(side, k), multiply(moved, k)));
  if (random.chance(0.3)) sides.reverse();
  return sides.map((side) => printValue(side, random, 2)).join(pick(random, ["=", " = "]));
}

function printText(text: string, random: RandomStream): string {
  const word = /^\\text\{\(?(\w+)\)?\}$/.exec(text)?.[1];
  if (word !== undefined) {
    const forms = [word, `\\text{${word}}`, `\\textbf{${word}}`, `\\mathrm{${word}}`, text];
    if (word.length === 1) forms.push(`(${word})`, `\\textbf{(${word})}`, `\\text{(${word})}`);
    else forms.push(word.toLowerCase(), word.toUpperCase());
    return pick(random, forms);
  }
  const [, digits, base] = /^(\d+)_\{?(\d)\}?$/.exec(text) ?? [];
  if (digits !== undefined) {
    return pick(random, [
      `${digits}_${base}`,
      `${digits}_{${base}}`,
      `${digits}_{\\text{${base}}}`,
    ]);
  }
  return text;
}

/** Whether the bounds of an interval are in order. */
export function isInterval({ low, high }: Interval): boolean {
  return low === null || high === null || approximate(subtract(high, low)) > 1e-9;
}
