/** Writes answers that mean something else than the gold, for the fuzzer. */
import type { RandomStream } from "../../core/philox.ts";
import {
  add,
  approximate,
  equal,
  fractionOf,
  inverse,
  multiply,
  negate,
  rational,
  rootOf,
  subtract,
  type Term,
  term,
  type Value,
} from "./exact.ts";
import type { Gold, Interval } from "./golds.ts";
import { isInterval, printSame } from "./print_gold.ts";
import { pick, printValue, shuffled, terminating } from "./print_value.ts";

/** An answer with another meaning, and the kind of change. */
export function printChanged(gold: Gold, random: RandomStream): { text: string; how: string } {
  for (;;) {
    const changed = change(gold, random);
    if (changed !== null) return changed;
  }
}

type Changed = { text: string; how: string } | null;

function change(gold: Gold, random: RandomStream): Changed {
  const same = (how: string, other: Gold): Changed => ({ text: printSame(other, random), how });
  switch (gold.kind) {
    case "number":
      return changeNumber(gold.value, random);
    case "tuple":
    case "list": {
      const { items } = gold;
      const [how, other] = changeItems(items, random, gold.kind === "tuple");
      const equalItems = gold.kind === "tuple" ? sameOrder(items, other) : sameSet(items, other);
      if (equalItems || other.length < 2) return null;
      return same(`${gold.kind}: ${how}`, { ...gold, items: other });
    }
    case "intervals":
      return changeIntervals(gold.parts, random);
    case "matrix": {
      const [how, rows] = changeRows(gold.rows, random);
      const equalRows = rows.length === gold.rows.length &&
        rows.every((row, i) => sameOrder(row, gold.rows[i]!));
      return equalRows ? null : same(`matrix: ${how}`, { kind: "matrix", rows });
    }
    case "equation": {
      const [left, right] = random.chance(0.3)
        ? [gold.left, negate(gold.right)]
        : random.chance(0.5)
        ? [gold.left, changeValue(gold.right, random)[1]]
        : [changeValue(gold.left, random)[1], gold.right];
      const [old, other] = [subtract(gold.left, gold.right), subtract(left, right)];
      if (other.length === 0 || left.length === 0 || proportional(old, other)) return null;
      return same("equation", { kind: "equation", left, right });
    }
    case "text":
      return changeText(gold.text, random);
  }
}

/** Whether one is a multiple of the other, by a real or complex number. */
function proportional(old: Value, other: Value): boolean {
  return old.some((a) =>
    other.some((b) =>
      unknowns(a.names) === unknowns(b.names) &&
      equal(multiply(old, [b]), multiply(other, [a]))
    )
  );
}

const unknowns = (names: Term["names"]) => JSON.stringify({ ...names, i: 0 });

const NAMES = ["x", "y", "n", "a", "k", "R", "r", "i"];
const tiny = (random: RandomStream) => rational(1n, 10n ** BigInt(random.int(1, 10)));

function changeValue(value: Value, random: RandomStream): [how: string, other: Value] {
  if (value.length === 0) return ["+-1", random.chance(0.5) ? rational(1n) : tiny(random)];
  const nth = random.below(value.length), part = value[nth]!;
  switch (random.below(11)) {
    case 0:
      return ["+-1", add(value, rational(random.chance(0.5) ? 1n : -1n))];
    case 1:
      return ["a little more", add(value, tiny(random))];
    case 2:
      return ["a little factor", multiply(value, rational(1_000_000_001n, 1_000_000_000n))];
    case 3:
      return ["sign", negate(value)];
    case 4:
      return ["factor", multiply(value, rational(...pick<[bigint, bigint]>(random, FACTORS)))];
    case 5:
      return ["root", multiply(value, rootOf(BigInt(pick(random, [2, 3, 5]))))];
    case 6:
      return ["π", multiply(value, term({ ...ONE, pi: random.chance(0.5) ? 1 : -1 }))];
    case 7:
      return ["name", multiply(value, term({ ...ONE, names: { [pick(random, NAMES)]: 1 } }))];
    case 8:
      return ["a term less", value.filter((_, i) => i !== nth)];
    case 9:
      return value.length === 1 ? ["inverse", inverse(value)] : ["sign of a term", [
        ...value.slice(0, nth),
        ...negate([part]),
        ...value.slice(nth + 1),
      ]];
    default:
      return [
        "digit",
        add(value, rational(10n ** BigInt(random.int(0, 4)) * BigInt(random.int(1, 9)))),
      ];
  }
}

const ONE = { above: 1n, below: 1n, root: 1n, pi: 0, names: {} };
const FACTORS: [bigint, bigint][] = [[2n, 1n], [10n, 1n], [1n, 10n], [1n, 2n], [1000n, 1n], [
  3n,
  2n,
]];

function changeNumber(value: Value, random: RandomStream): Changed {
  if (random.chance(0.65)) {
    const [how, other] = changeValue(value, random);
    const clear = other.every(({ names }) => Object.values(names).every((n) => n > 0));
    if (equal(value, other) || !clear) return null;
    return { text: printSame({ kind: "number", value: other, unit: "" }, random), how };
  }
  const text = printValue(value, random), fraction = fractionOf(value);
  const zero = value.length === 0, one = equal(value, rational(1n));
  const grouped = `(${text})`;
  const other = printValue(add(value, rational(BigInt(random.int(1, 5)))), random);
  const forms: [string, string][] = [
    [`${text} \\text{ or } ${other}`, "or"],
    [`${other} or ${text}`, "or"],
    [`${text}, ${other}`, "and"],
    [`(${text}, ${other})`, "pair"],
    [`[${text}, ${other}]`, "interval"],
    [`x > ${text}`, "inequality"],
    [`x \\ne ${text}`, "unequal"],
    [`x \\le ${text}`, "inequality"],
  ];
  if (!zero) {
    forms.push([`\\pm ${grouped}`, "±"], [`${grouped} \\pm 1`, "±"]);
    forms.push([`${grouped} \\text{ million}`, "million"], [`${grouped}\\sqrt{2}`, "tail"]);
    forms.push([`${grouped}x`, "tail"], [`${grouped} \\cdot 10^{9}`, "tail"]);
    if (!one) forms.push([`${grouped}^2`, "square"], [`${grouped}^{-2}`, "square"]);
    if (!one) forms.push([`\\sqrt{${text}}`, "root"]);
  }
  if (fraction !== null && !zero) {
    const { above, below } = fraction;
    if (terminating(above < 0n ? -above : above, below) === null) {
      forms.push([(Number(above) / Number(below)).toFixed(random.int(3, 12)), "rounded"]);
    }
    if (below > 1n) forms.push([`${above}${below}`, "digits"], [`${above}.${below}`, "digits"]);
  } else if (value.every(({ names }) => Object.keys(names).length === 0)) {
    const places = random.int(3, 10), ulp = 10 ** -places;
    const off = approximate(value) + ulp * pick(random, [2, 3, 7, -2, -4]);
    if (Math.abs(off) < 1e5) forms.push([off.toFixed(places), "rounded wrongly"]);
  }
  const [changed, how] = pick(random, forms);
  return { text: changed, how };
}

function changeItems(items: readonly Value[], random: RandomStream, inOrder: boolean): [
  how: string,
  items: Value[],
] {
  const nth = random.below(items.length), all = [...items];
  switch (random.below(inOrder ? 5 : 4)) {
    case 0:
      return ["one less", all.filter((_, i) => i !== nth)];
    case 1:
      return ["one more", [...all, rational(BigInt(random.int(-50, 50)))]];
    case 2:
    case 3:
      all[nth] = changeValue(all[nth]!, random)[1];
      return ["another", all];
    default:
      return ["order", shuffled(all, random)];
  }
}

const sameOrder = (some: readonly Value[], others: readonly Value[]) =>
  some.length === others.length && some.every((item, i) => equal(item, others[i]!));
const sameSet = (some: readonly Value[], others: readonly Value[]) =>
  [[some, others], [others, some]].every(([a, b]) =>
    a!.every((item) => b!.some((other) => equal(item, other)))
  );

function changeIntervals(parts: readonly Interval[], random: RandomStream): Changed {
  const nth = random.below(parts.length), all = parts.map((part) => ({ ...part }));
  const part = all[nth]!, low = random.chance(0.5);
  let how = "bound";
  switch (random.below(5)) {
    case 0:
    case 1:
      if ((low ? part.low : part.high) === null) return null;
      if (low) part.lowIn = !part.lowIn;
      else part.highIn = !part.highIn;
      how = "open or closed";
      break;
    case 2:
    case 3: {
      const bound = low ? part.low : part.high;
      const [name, other] = bound === null
        ? ["bound", rational(BigInt(random.int(-500, 500)))]
        : random.chance(0.2)
        ? ["no bound", null]
        : changeValue(bound, random);
      if (other?.some(({ names }) => Object.keys(names).length > 0) === true) return null;
      if (low) [part.low, part.lowIn] = [other, other !== null && part.lowIn];
      else [part.high, part.highIn] = [other, other !== null && part.highIn];
      how = `bound: ${name}`;
      break;
    }
    default:
      if (all.length === 1) return null;
      all.splice(nth, 1);
      how = "a part less";
  }
  const unchanged = all.length === parts.length &&
    all.every((other, i) => sameInterval(other, parts[i]!));
  if (unchanged || !all.every(isInterval) || overlapping(all)) return null;
  const text = printSame({ kind: "intervals", parts: all }, random);
  return { text, how: `interval: ${how}` };
}

function sameInterval(a: Interval, b: Interval): boolean {
  const sameBound = (x: Value | null, y: Value | null) =>
    x === null || y === null ? x === y : equal(x, y);
  return a.lowIn === b.lowIn && a.highIn === b.highIn && sameBound(a.low, b.low) &&
    sameBound(a.high, b.high);
}

/** Parts that touch could be the same set in another way. */
function overlapping(parts: readonly Interval[]): boolean {
  const bounds = parts.map(({ low, high }) => [
    low === null ? -Infinity : approximate(low),
    high === null ? Infinity : approximate(high),
  ]).sort(([a], [b]) => a! - b!);
  return bounds.some(([low], i) => i > 0 && low! < bounds[i - 1]![1]! + 1e-12) ||
    (bounds.length === 1 && bounds[0]![0] === -Infinity && bounds[0]![1] === Infinity);
}

function changeRows(rows: readonly Value[][], random: RandomStream): [string, Value[][]] {
  const all = rows.map((row) => [...row]);
  const i = random.below(rows.length), j = random.below(rows[0]!.length);
  switch (random.below(5)) {
    case 0:
      return ["transposed", rows[0]!.map((_, j) => rows.map((row) => row[j]!))];
    case 1:
      return ["rows", shuffled(all, random)];
    case 2:
      return ["a row less", rows.length > 1 ? all.filter((_, nth) => nth !== i) : all];
    default:
      all[i]![j] = changeValue(all[i]![j]!, random)[1];
      return ["a cell", all];
  }
}

const OTHER_TEXTS = [
  "\\text{north}",
  "\\text{(D)}",
  "no",
  "A",
  "\\text{odd}",
  "7",
  "0",
  "x",
  "\\text{line}",
];

function changeText(text: string, random: RandomStream): Changed {
  const [, digits, base] = /^(\d+)_\{?(\d)\}?$/.exec(text) ?? [];
  if (digits !== undefined) {
    return random.chance(0.5)
      ? { text: `${digits}_${Number(base) + 1}`, how: "base" }
      : { text: `${Number(digits) + 1}_{${base}}`, how: "digit in a base" };
  }
  const word = /^\\text\{\(?(\w+)\)?\}$/.exec(text)?.[1];
  if (word !== undefined && random.chance(0.6)) {
    return {
      text: pick(random, [
        `\\text{${word} or north}`,
        `\\text{${word}} \\text{ or } \\text{north}`,
        `\\text{${word}} \\text{north}`,
        `\\text{not ${word}}`,
        `\\text{${word}${word}}`,
        `2 \\text{ ${word}}`,
        `${word}, north`,
      ]),
      how: "text",
    };
  }
  return { text: pick(random, OTHER_TEXTS), how: "another text" };
}
