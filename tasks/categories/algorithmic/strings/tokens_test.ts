/**
 * Solves ab, base_conversion, binary_alternation, count_primes, isomorphic_strings and
 * number_filtering again from the text of their questions.
 */
import assert from "node:assert/strict";
import type { DatasetOptions } from "../../../dataset.ts";
import { entriesOf } from "../../../testing.ts";

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
