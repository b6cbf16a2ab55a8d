/** Golds of the kinds that the data sets have, with exact values, for the fuzzer. */
import type { RandomStream } from "../../core/philox.ts";
import { add, multiply, rational, rootOf, term, type Value } from "./exact.ts";
import { pick, printValue } from "./print_value.ts";

/** null: no bound. */
export interface Interval {
  low: Value | null;
  high: Value | null;
  lowIn: boolean;
  highIn: boolean;
}

export type Gold =
  | { kind: "number"; value: Value; unit: string }
  | { kind: "tuple" | "list"; items: Value[] }
  | { kind: "intervals"; parts: Interval[] }
  | { kind: "matrix"; rows: Value[][] }
  | { kind: "equation"; left: Value; right: Value }
  | { kind: "text"; text: string };

/** Golds of MATH-500 that are no formula: choices, words, numbers in other bases. */
const TEXTS = ["\\text{(C)}", "\\text{B}", "\\text{east}", "\\text{Evelyn}", "2516_8", "4343_6"];
const UNITS = ["^\\circ", "^{\\circ}", "\\text{ cm}^2", "\\mbox{ inches}"];

export interface Known {
  text: string;
  gold: Gold;
}

/** A gold of a kind that the data sets have, with numbers of its own. */
export function randomGold(random: RandomStream): Known {
  const gold = goldOf(random);
  return { text: goldText(gold, random), gold };
}

function goldOf(random: RandomStream): Gold {
  const count = random.int(2, 5);
  const distinct = () => {
    const items: Value[] = [];
    for (let i = 0; i < count; i++) items.push(add(real(random), rational(BigInt(100 * i))));
    return items;
  };
  const kind = random.below(12);
  if (kind === 10) return { kind: "text", text: pick(random, TEXTS) };
  if (kind === 11) {
    return { kind: "number", value: whole(random), unit: pick(random, UNITS) };
  }
  if (kind < 4) return { kind: "number", value: number(random), unit: "" };
  if (kind < 6) return { kind: "tuple", items: distinct() };
  if (kind === 6) return { kind: "list", items: distinct() };
  if (kind === 7) {
    const first = intervalFrom(real(random), random), parts = [first];
    if (first.high !== null && random.chance(0.5)) {
      parts.push(intervalFrom(add(first.high, rational(BigInt(random.int(1, 9)))), random));
    }
    return { kind: "intervals", parts };
  }
  if (kind === 8) {
    return { kind: "matrix", rows: [[real(random), real(random)], [real(random), real(random)]] };
  }
  const line = ["x", "y"].map((name) =>
    multiply(whole(random), term({ above: 1n, below: 1n, root: 1n, pi: 0, names: { [name]: 1 } }))
  );
  return {
    kind: "equation",
    left: add(line[0]!, line[1]!),
    right: rational(BigInt(random.int(1, 60))),
  };
}

function intervalFrom(low: Value, random: RandomStream): Interval {
  const isBounded = random.chance(0.7);
  return {
    low,
    high: isBounded ? add(low, rational(BigInt(random.int(1, 90)), 7n)) : null,
    lowIn: random.chance(0.5),
    highIn: isBounded && random.chance(0.5),
  };
}

const whole = (random: RandomStream): Value =>
  rational(BigInt(random.int(1, 30)) * (random.chance(0.3) ? -1n : 1n));

function real(random: RandomStream): Value {
  const fraction = multiply(
    whole(random),
    rational(1n, BigInt(pick(random, [1, 1, 1, 2, 3, 4, 7, 12]))),
  );
  if (random.chance(0.7)) return fraction;
  const root = rootOf(BigInt(pick(random, [2, 3, 5, 6, 7, 13])));
  const pi = term({ above: 1n, below: 1n, root: 1n, pi: 1, names: {} });
  return random.chance(0.5)
    ? multiply(fraction, random.chance(0.6) ? root : pi)
    : add(fraction, multiply(whole(random), root));
}

function number(random: RandomStream): Value {
  if (random.chance(0.2)) {
    const digits = random.int(4, 12);
    return rational(BigInt(random.int(10 ** (digits - 1), 10 ** digits)));
  }
  if (random.chance(0.5)) return real(random);
  const names = pick(random, [["x"], ["n"], ["a", "b"], ["i"], ["x", "y"]]);
  let sum: Value = random.chance(0.7) ? whole(random) : [];
  for (const name of names) {
    const top = name === "i" ? 1 : random.int(1, 4);
    for (let n = 1; n <= top; n++) {
      if (n < top && random.chance(0.5)) continue;
      const power = term({ above: 1n, below: 1n, root: 1n, pi: 0, names: { [name]: n } });
      sum = add(sum, multiply(random.chance(0.8) ? whole(random) : real(random), power));
    }
  }
  return sum;
}

/** The gold in a usual form. */
function goldText(gold: Gold, random: RandomStream): string {
  const print = (value: Value) => printValue(value, random, 2).replace(/\{,\}|,\\!|\\,|,/g, "");
  switch (gold.kind) {
    case "number":
      return print(gold.value) + gold.unit;
    case "tuple":
      return `(${gold.items.map(print).join(",")})`;
    case "list":
      return gold.items.map(print).join(", ");
    case "intervals":
      return gold.parts.map(({ low, high, lowIn, highIn }) =>
        `${lowIn ? "[" : "("}${low === null ? "-\\infty" : print(low)},${
          high === null ? "\\infty" : print(high)
        }${highIn ? "]" : ")"}`
      ).join(" \\cup ");
    case "matrix":
      return `\\begin{pmatrix} ${
        gold.rows.map((row) => row.map(print).join(" & ")).join(" \\\\ ")
      } \\end{pmatrix}`;
    case "equation":
      return `${print(gold.left)} = ${print(gold.right)}`;
    case "text":
      return gold.text;
  }
}
