/** Solves the questions of the tasks on strings again. Rules are read from the question. */
import assert from "node:assert/strict";
import { createDataset, type DatasetOptions } from "../../../dataset.ts";
import { entriesOf } from "../../../testing.ts";
import { readGoldenLines } from "../../../../tests/golden.ts";
import type { Entry } from "../../../types.ts";

function found(text: string, pattern: RegExp): string[] {
  const match = pattern.exec(text);
  assert.ok(match, `${pattern} is not in: ${text}`);
  return match.slice(1);
}

Deno.test("ab: rewriting the leftmost pair step by step gives the answer", () => {
  const rules: [RegExp, string][] = [
    [/A# #A ?/, ""],
    [/B# #B ?/, ""],
    [/A# #B/, "#B A#"],
    [/B# #A/, "#A B#"],
  ];
  let empty = 0;
  const variants = [1, 2, 10, 60].map((length) => ({ length }));
  for (const { question, answer, metadata } of entriesOf("ab", variants)) {
    const [program] = found(question, /\n((?:[AB]#|#[AB])(?: [AB]#| #[AB])*)\nAnswer/);
    const { length } = metadata["difficulty"] as { length: number };
    assert.equal(program!.split(" ").length, length);
    let text = program!, steps = 0;
    for (;; steps++) {
      const first = rules.map(([pattern, to]) => ({ at: text.search(pattern), pattern, to }))
        .filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at)[0];
      if (first === undefined) break;
      text = text.replace(first.pattern, first.to);
    }
    assert.equal(text.trim(), answer);
    assert.ok(steps <= 100, `${steps} steps`);
    if (answer === "") empty++;
  }
  assert.ok(empty > 0);
});

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

Deno.test("base_conversion: digits by repeated division of exact integers", () => {
  const base = (text: string) =>
    text === "binary" ? 2n : text === "hexadecimal" ? 16n : BigInt(text.replace("base-", ""));
  const variants: DatasetOptions[] = [
    {},
    { min_base: 35, max_base: 36 },
    { max_base: 36, min_value: 1, max_value: Number.MAX_SAFE_INTEGER },
    { max_base: 3, max_value: 1 },
  ];
  for (const { question, answer, metadata } of entriesOf("base_conversion", variants)) {
    const [from, text, to] = found(
      question,
      /^Convert the (\S+) number ([0-9a-z]+) to ([a-z0-9-]+)\./,
    ) as [string, string, string];
    assert.notEqual(base(from), base(to));
    let value = 0n;
    for (const digit of text) {
      const number = DIGITS.indexOf(digit);
      assert.ok(number >= 0 && BigInt(number) < base(from));
      value = value * base(from) + BigInt(number);
    }
    assert.equal(value, BigInt(metadata["decimal_value"] as number));
    let digits = "";
    for (let rest = value; rest > 0n; rest /= base(to)) {
      digits = DIGITS[Number(rest % base(to))] + digits;
    }
    assert.equal(digits || "0", answer);
    assert.equal(/letters/.test(question), base(from) > 10n || base(to) > 10n);
  }
});

Deno.test("binary_alternation: the fewest swaps by trying all of them", () => {
  const variants = [
    { min_n: 1, max_n: 8, size: 200 },
    { min_n: 5, max_n: 9, p_solvable: 0.3 },
  ];
  let impossible = 0;
  for (const { question, answer, metadata } of entriesOf("binary_alternation", variants)) {
    const [string] = found(question, /\n([01]+)\nAnswer/);
    const expected = swapsByTrying(string!);
    assert.equal(String(expected), answer, string);
    assert.equal(metadata["solvable"], expected >= 0);
    const extra = metadata["solvable"] ? 0 : (metadata["n"] as number) % 2 === 0 ? 2 : 1;
    assert.equal(string!.length, (metadata["n"] as number) + extra);
    if (expected < 0) impossible++;
  }
  assert.ok(impossible > 40);
});

function swapsByTrying(start: string): number {
  const seen = new Set([start]);
  let level = [start];
  for (let swaps = 0; level.length > 0; swaps++) {
    if (level.some((text) => !/00|11/.test(text))) return swaps;
    const next: string[] = [];
    for (const text of level) {
      for (let i = 0; i < text.length; i++) {
        for (let j = i + 1; j < text.length; j++) {
          const other = [...text];
          [other[i], other[j]] = [other[j]!, other[i]!];
          const swapped = other.join("");
          if (!seen.has(swapped)) next.push(swapped);
          seen.add(swapped);
        }
      }
    }
    level = next;
  }
  return -1;
}

Deno.test("count_primes: trial division of every number of the interval", () => {
  const isPrime = (n: number) => {
    for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
    return n > 1;
  };
  const variants = [{ max_n: 30 }, { max_n: 3000 }, { min_n: 9000, max_n: 9100 }];
  for (const { question, answer, metadata } of entriesOf("count_primes", variants)) {
    const [start, end] = found(question, /from (\d+) to (\d+)/).map(Number) as [number, number];
    const primes: number[] = [];
    for (let n = start; n <= end; n++) if (isPrime(n)) primes.push(n);
    assert.equal(String(primes.length), answer);
    assert.deepEqual(metadata["primes"], primes);
    assert.deepEqual(metadata["n"], [start, end]);
  }
});

Deno.test("isomorphic_strings: equal patterns of repetition and equal lengths (G4)", () => {
  const variants = [
    { max_string_length: 4, size: 150 },
    { max_string_length: 200 },
    { p_solvable: 0 },
    { p_solvable: 1 },
  ];
  for (const { question, answer, metadata } of entriesOf("isomorphic_strings", variants)) {
    const [first, second] = found(question, /\n([a-z]+)\n([a-z]+)\nAnswer/) as [string, string];
    const pattern = (text: string) => [...text].map((letter) => text.indexOf(letter)).join();
    assert.equal(answer, pattern(first) === pattern(second) ? "True" : "False");
    assert.equal(metadata["string_length"], first.length);
    assert.equal(first.length, second.length);
  }
  // An isomorphic pair of the original has shorter strings than stated; other pairs have
  // string_length letters.
  const original = { words: ["zg", "bn"], string_length: 3, solvable: true };
  assert.notEqual(original.words[0]!.length, original.string_length);
});

Deno.test("number_filtering: texts are compared exactly, each number by its text (G15)", () => {
  const scaled = (text: string) => {
    const [whole, fraction = ""] = text.split(".") as [string, string?];
    return BigInt(whole + fraction.padEnd(8, "0"));
  };
  const variants: DatasetOptions[] = [
    {},
    { min_value: -2, max_value: 2, min_decimals: 0, max_decimals: 1, max_numbers: 30 },
    { min_numbers: 1, max_numbers: 1, min_decimals: 6, max_decimals: 6, min_value: 0.5 },
  ];
  let twoTexts = 0;
  for (const { question, answer, metadata } of entriesOf("number_filtering", variants)) {
    const [verb, size, threshold, list] = found(
      question,
      /^(Keep only|Remove) the numbers .* (larger|smaller) than (\S+) in this list:\n\[(.*)\]\n/,
    ) as [string, string, string, string];
    const numbers = list.split(", ").map((text) => text.slice(1, -1));
    const limit = scaled(threshold);
    const kept = numbers.filter((text) => {
      const matches = size === "larger" ? scaled(text) > limit : scaled(text) < limit;
      return verb === "Remove" ? !matches : matches;
    });
    assert.equal(answer, kept.length === 0 ? "[]" : `['${kept.join("', '")}']`);
    assert.deepEqual(metadata["result"], kept);
    const values = new Map(kept.toReversed().map((text) => [Number(text), text]));
    // The original looks texts up by value, so equal numbers would all get the first one's text.
    const original = kept.map((text) => values.get(Number(text)));
    if (original.join() !== kept.join()) twoTexts++;
  }
  assert.ok(twoTexts > 5, `${twoTexts} lists with one value in two texts`);
});

/** Parses "Two B and one C" into the count of each kind. */
function amounts(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, number, kind] of text.matchAll(/\b(one|two) (\S+)/gi)) {
    found.set(kind!.replace(/[.,]$/, ""), number!.toLowerCase() === "one" ? 1 : 2);
  }
  return found;
}

/** Runs the numbered rules of a question on its counts and writes the resulting counts. */
function run(question: string, first: RegExp, kinds: string[]): string {
  const counts = new Map([...question.matchAll(first)].map((m) => [m[2]!, Number(m[1])]));
  const rules = [...question.matchAll(/^\d\. (.*?) (?:become|(?:is|are) .*? into) (.*)$/gm)]
    .map(([, used, made]) => ({ used: amounts(used!), made: amounts(made!) }));
  assert.ok(rules.length >= 5 && counts.size === 3, question);
  const steps = Number(/after (\d+) steps/.exec(question)![1]);
  for (let step = 0; step < steps; step++) {
    const rule = rules.find(({ used }) =>
      [...used].every(([kind, amount]) => (counts.get(kind) ?? 0) >= amount)
    );
    if (rule === undefined) break;
    for (const [kind, amount] of rule.used) counts.set(kind, counts.get(kind)! - amount);
    for (const [kind, amount] of rule.made) counts.set(kind, (counts.get(kind) ?? 0) + amount);
  }
  return kinds.map((kind) => counts.get(kind) ?? 0).join(" ");
}

Deno.test("string_splitting: the rules of the question, applied", () => {
  const entries = entriesOf("string_splitting", [
    { size: 150 },
    { size: 30, min_initial_machines: 20, max_initial_machines: 60 },
    { size: 30, max_initial_machines: 8, max_iterations: 4 },
  ]);
  let cut = 0;
  for (const { question, answer, metadata } of entries) {
    assert.equal(run(question, /(\d+) of machine ([ABC])/g, [..."ABCXYZ"]), answer, question);
    const states = metadata["states"] as number[][];
    assert.deepEqual(states.at(-1), metadata["solution"]);
    if (question.includes("after 4 steps") && states.length === 5) cut++;
  }
  assert.ok(cut > 10);
});

Deno.test("string_synthesis: the rules of the question, applied", () => {
  const kinds = "[A] [B] [C] {A} {B} {C} (A) (B) (C)".split(" ");
  const entries = entriesOf("string_synthesis", [
    { size: 150 },
    { size: 30, min_initial_blocks: 20, max_initial_blocks: 60 },
    { size: 30, max_initial_blocks: 8, max_iterations: 3 },
  ]);
  for (const { question, answer, metadata } of entries) {
    assert.equal(run(question, /(\d+) of (\[[ABC]\])/g, kinds), answer, question);
    assert.deepEqual((metadata["states"] as number[][]).at(-1), metadata["solution"]);
  }
});

Deno.test("recorded entries of string_splitting and string_synthesis have our states", () => {
  for (const name of ["string_splitting", "string_synthesis"]) {
    // A few thousand entries contain every start of the default range.
    const recomputed = new Map(
      [...createDataset(name, { seed: 2, size: 3000 })].map(({ metadata }) => {
        const states = metadata["states"] as number[][];
        return [String(states[0]), states];
      }),
    );
    for (const { metadata } of readGoldenLines<Entry>(`reasoning-gym/items/${name}.jsonl`)) {
      const states = metadata["states"] as number[][];
      assert.deepEqual(recomputed.get(String(states[0])), states, name);
    }
  }
});

Deno.test("string_insertion: one pass of a regular expression built from the question", () => {
  const entries = entriesOf("string_insertion", [
    { size: 150 },
    { size: 60, min_string_length: 100, max_string_length: 300 },
  ]);
  let changed = 0;
  for (const { question, answer } of entries) {
    const string = /letters: ([A-E]+)\n/.exec(question)![1]!;
    const rules = [...question.matchAll(/^- behind ([A-E]{4}) insert ([A-E])$/gm)];
    assert.equal(rules.length, 5);
    const inserted = new Map(rules.map(([, pattern, letter]) => [pattern!, letter!]));
    const patterns = new RegExp([...inserted.keys()].join("|"), "g");
    assert.equal(string.replace(patterns, (found) => found + inserted.get(found)), answer);
    if (answer !== string) changed++;
  }
  assert.ok(changed > 50);
});

/**
 * Rewrites, keyed by the quoted parts of a rule. The words between these parts say where the rule
 * applies.
 */
const REWRITES: Record<string, (s: string, end: boolean) => string> = {
  "ab ca": (s) => s.replace(/^ab/, "ca"),
  "ac cb": (s) => s.replace(/ac$/, "cb"),
  "bc aa": (s) => s.replace(/^bc(.*)$/, "$1aa"),
  "bb": (s, end) => end ? s.replace(/bb$/, "") : s.replace(/^bb/, "b"),
  "cb aa": (s) => s.replace(/^cb(.*)$/, "aa$1").slice(0, s.startsWith("cb") ? -1 : undefined),
  "ca bb c": (s) => s.replace(/^ca(.*)$/, "bb$1c"),
  "cc b a": (s) => s.replace(/^(.*)cc$/, "a$1b"),
  "aa": (s) => s.replace(/^aa/, "a"),
  "abc cab": (s) => s.replace(/abc/, "cab"),
  "bca": (s) => s.replace(/bca/, ""),
  "ba ab": (s) => s.replace(/ba$/, "ab"),
  "cc": (s) => s.replace(/^cc/, ""),
  "acb bca": (s) => s.replace(/acb/, "bca"),
  "ca": (s, end) => end ? s.replace(/ca$/, "c") : s.replace(/^(.+?)ca/, "$1"),
  "aa cc": (s) => s.replace(/aa$/, "cc"),
  "b ab": (s) => /^[^b]*(b[^b]*b[^b]*)+$/.test(s) ? s + "ab" : s,
  "": (s) => s.length > 15 ? [...s].toSpliced(Math.floor(s.length / 2), 1).join("") : s,
  "ac zz": (s) => s.replace(/^ac/, "zz"),
};

function rewritten(string: string, rules: readonly string[]): string {
  const before = new Set([string]);
  const steps = rules.map((rule) => {
    const parts = [...rule.matchAll(/["']([a-z]+)["']/g)].map((match) => match[1]!);
    const key = (rule.includes("at least one") ? [...new Set(parts)] : parts).join(" ");
    const end = /ends with|suffix/.test(rule);
    assert.ok(key in REWRITES, rule);
    return (s: string) => REWRITES[key]!(s, end);
  });
  for (;;) {
    const changed = steps.map((step) => step(string)).find((next) => next !== string);
    if (changed === undefined || before.has(changed)) return string;
    before.add(changed);
    string = changed;
  }
}

Deno.test("string_manipulation: the question's rules as regular expressions", () => {
  const entries = entriesOf("string_manipulation", [
    { size: 200 },
    { size: 100, min_num_rules: 15, max_num_rules: 20, max_string_length: 40 },
    { size: 20, min_string_length: 100, max_string_length: 200, max_num_rules: 20 },
  ]);
  const used = new Set<string>();
  for (const { question, answer, metadata } of entries) {
    const string = /step by step: ([abc]+)\n/.exec(question)![1]!;
    const rules = [...question.matchAll(/^\d+\. (.*)$/gm)].map((match) => match[1]!);
    assert.deepEqual(rules, metadata["selected_rules"]);
    assert.equal(rewritten(string, rules), answer, question);
    rules.forEach((rule) => used.add(rule));
    const states = metadata["states"] as string[];
    assert.deepEqual([states[0], states.at(-1)], [string, answer]);
    assert.equal(new Set(states).size, states.length);
  }
  assert.equal(used.size, 20);
});

Deno.test("string_manipulation: the same parser solves recorded entries", () => {
  for (
    const { metadata } of readGoldenLines<Entry>("reasoning-gym/items/string_manipulation.jsonl")
  ) {
    const rules = metadata["selected_rules"] as string[];
    assert.equal(rewritten(metadata["string"] as string, rules), metadata["solution"]);
  }
});
