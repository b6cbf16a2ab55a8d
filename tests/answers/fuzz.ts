/**
 * A fuzzer of the equality of answers. It writes golds in ways that keep their meaning (these must
 * be right) and in ways that change it (these must be wrong), and counts the mistakes.
 *
 *     deno run -A tests/answers/fuzz.ts 100000 [seed]
 */
import { RandomStream } from "../../core/philox.ts";
import { readDataset } from "../../data/dataset_entries.ts";
import { sameAnswer } from "../../data/math_answer/equal.ts";
import { goldenPath } from "../golden.ts";
import { printChanged } from "./change_gold.ts";
import { add, multiply, rational, rootOf, term, type Value } from "./exact.ts";
import { type Gold, readGold } from "./gold.ts";
import { printSame } from "./print_gold.ts";
import { pick, printValue } from "./print_value.ts";

export interface Mistake {
  answer: string;
  gold: string;
  how: string;
}

export interface Fuzzed {
  /** Of each kind. */
  count: number;
  falseWrongs: Mistake[];
  falseRights: Mistake[];
  /** Milliseconds of each comparison, ascending. */
  times: Float64Array;
  slowest: Mistake;
}

export function fuzz(count: number, seed = 1): Fuzzed {
  const random = RandomStream.forPurpose(seed, "shuffle", "answers");
  const known = publishedGolds();
  const falseWrongs: Mistake[] = [], falseRights: Mistake[] = [];
  const times = new Float64Array(2 * count);
  let slowest: Mistake = { answer: "", gold: "", how: "" }, longest = 0;
  for (let i = 0; i < 2 * count; i++) {
    const { text: gold, value } = random.chance(0.5) ? pick(random, known) : generated(random);
    const keeps = i % 2 === 0;
    const { text: answer, how } = keeps
      ? { text: printSame(value, random), how: value.kind }
      : printChanged(value, random);
    const right = sameAnswer(answer, gold);
    times[i] = timeOf(answer, gold);
    if (times[i]! > longest) [longest, slowest] = [times[i]!, { answer, gold, how }];
    if (right !== keeps) (keeps ? falseWrongs : falseRights).push({ answer, gold, how });
  }
  return { count, falseWrongs, falseRights, times: times.sort(), slowest };
}

/** Milliseconds. Other processes disturb single measurements, so the fastest of five counts. */
function timeOf(answer: string, gold: string): number {
  let fastest = Infinity;
  for (let run = 0; run < 5 && fastest > 0.1; run++) {
    const start = performance.now();
    sameAnswer(answer, gold);
    fastest = Math.min(fastest, performance.now() - start);
  }
  return fastest;
}

interface Known {
  text: string;
  value: Gold;
}

function publishedGolds(): Known[] {
  const texts = [
    ...readDataset("math500", goldenPath("data/math500/test.jsonl")),
    ...readDataset("gsm8k", goldenPath("data/gsm8k/test.jsonl")).slice(0, 200),
  ].map(({ answer }) => answer!);
  return [...new Set(texts)].map((text) => ({ text, value: readGold(text) }));
}

/** A gold of a kind that the data sets have, with numbers of its own. */
function generated(random: RandomStream): Known {
  const value = generatedGold(random);
  return { text: goldText(value, random), value };
}

function generatedGold(random: RandomStream): Gold {
  const count = random.int(2, 5);
  const distinct = () => {
    const items: Value[] = [];
    for (let i = 0; i < count; i++) items.push(add(real(random), rational(BigInt(100 * i))));
    return items;
  };
  const kind = random.below(10);
  if (kind < 4) return { kind: "number", value: number(random), unit: "" };
  if (kind < 6) return { kind: "tuple", items: distinct() };
  if (kind === 6) return { kind: "list", items: distinct() };
  if (kind === 7) {
    const low = real(random), high = add(low, rational(BigInt(random.int(1, 90)), 7n));
    const unbounded = random.chance(0.3);
    return {
      kind: "intervals",
      parts: [{
        low,
        high: unbounded ? null : high,
        lowIn: random.chance(0.5),
        highIn: !unbounded && random.chance(0.5),
      }],
    };
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
      return print(gold.value);
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

/** The figures, and some mistakes of each kind of change. */
export function report(
  { count, falseWrongs, falseRights, times, slowest }: Fuzzed,
  shown = 3,
): string {
  const lines: string[] = [];
  for (const [name, mistakes] of Object.entries({ falseRights, falseWrongs })) {
    lines.push(
      `${name}: ${mistakes.length} of ${count} (${(100 * mistakes.length / count).toFixed(3)} %)`,
    );
    for (const [how, some] of Object.entries(Object.groupBy(mistakes, ({ how }) => how))) {
      lines.push(`  ${how}: ${some!.length}`);
      for (const { answer, gold } of some!.slice(0, shown)) lines.push(`    ${answer}  ‖  ${gold}`);
    }
  }
  const at = (share: number) =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))]!;
  lines.push(
    `time: median ${at(0.5).toFixed(3)} ms, 99.9 % below ${at(0.999).toFixed(3)} ms, ` +
      `longest ${at(1).toFixed(2)} ms (${slowest.answer} ‖ ${slowest.gold})`,
  );
  return lines.join("\n");
}

if (import.meta.main) {
  const [count = "20000", seed = "1"] = Deno.args;
  console.log(report(fuzz(Number(count), Number(seed)), 4));
}
