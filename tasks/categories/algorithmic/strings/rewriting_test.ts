/** Tests the tasks whose questions state rules. The rules are read from the question. */
import assert from "node:assert/strict";
import { createDataset } from "../../../dataset.ts";
import { entriesOf } from "../../../testing.ts";
import { readGoldenLines } from "../../../../tests/golden.ts";
import type { Entry } from "../../../types.ts";

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
