/**
 * Checks the protocol for every registered task, beyond `generation_test.ts` (entries) and
 * `golden_test.ts` (recorded data): parameters out of range are refused, entries stay within the
 * ranges that they report, and no answer keeps a scorer busy. A new task is covered automatically.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { curriculumConfig } from "./curriculum/levels.ts";
import { createDataset } from "./dataset.ts";
import { getTask, scoreAnswer, validateTaskConfig } from "./registry.ts";
import { testedTasks } from "./testing.ts";
import type { ParamSpec } from "../core/named_params.ts";

/** Maximum length of an entry with default parameters, in characters, so that prompts have room. */
const MAX_QUESTION_LENGTH = 12_000, MAX_ANSWER_LENGTH = 24_000;

/** Values that a parameter of this kind must refuse. */
function wrongValues(spec: ParamSpec): unknown[] {
  if (spec.type === "any") return [];
  const isList = spec.type.endsWith("[]"), of = isList ? spec.type.slice(0, -2) : spec.type;
  const wrong: Record<string, unknown[]> = {
    int: ["3", 1.5, NaN, true, 2 ** 60],
    float: ["3", NaN, Infinity, false],
    bool: [0, "true"],
    string: [3, true],
  };
  const values = [...wrong[of]!];
  if (spec.min !== undefined) values.push(spec.min - 1);
  if (spec.max !== undefined) values.push(spec.max + 1);
  if (spec.values !== undefined) values.push("no such value");
  const inList = isList ? values.map((value) => [value]) : values;
  return [...inList, ...(spec.nullable ? [] : [null]), { a: 1 }];
}

Deno.test("every parameter refuses other types and values out of range, naming itself", () => {
  for (const name of testedTasks()) {
    const { params, example = {} } = getTask(name);
    for (const [field, spec] of Object.entries(params)) {
      for (const value of wrongValues(spec)) {
        const errors = validateTaskConfig(name, { ...example, [field]: value });
        const shown = `${name}: ${field} = ${JSON.stringify(value)}`;
        assert.ok(errors.length > 0, `${shown} is accepted`);
        assert.ok(errors.some((error) => error.startsWith(`${field}: `)), `${shown}: ${errors}`);
      }
    }
  }
});

Deno.test("a minimum above its maximum is refused", () => {
  for (const name of testedTasks()) {
    const { params, example = {} } = getTask(name);
    for (const [low, spec] of Object.entries(params)) {
      const high = low.replace(/^min_/, "max_");
      if (high === low || params[high] === undefined || spec.nullable) continue;
      const top = params[high].default as number;
      const errors = validateTaskConfig(name, { ...example, [low]: top + 1, [high]: top });
      assert.ok(errors.length > 0, `${name}: ${low} = ${top + 1} above ${high} = ${top}`);
    }
  }
});

Deno.test("parameters allow every level of the curriculum, but for those of the original (G23)", () => {
  const notes: string[] = [];
  for (const name of testedTasks()) {
    const task = getTask(name);
    if (task.curriculum === undefined) continue;
    for (const [level, mode] of [[0], [1], [999], [0, "last_k"]] as const) {
      const found: string[] = [], onClamp = (note: string) => found.push(note);
      const config = curriculumConfig(task, { "*": level }, { ...(mode && { mode }), onClamp });
      for (const note of found) {
        const [, field, used] = /^(\w+): .* (\d+) is used$/.exec(note)!;
        assert.equal(config[field!], Number(used), note);
        notes.push(`${name} ${level} ${mode ?? ""}: ${note}`);
      }
    }
  }
  if (Deno.env.get("RGX_TEST_TASKS") !== undefined) return;
  assert.deepEqual(notes, [
    "base_conversion 0 last_k: max_base: 2 is not above min_base, 3 is used",
    "base_conversion 0 last_k: max_value: 1000 is not above min_value, 1001 is used",
    "caesar_cipher 999 : max_rotation: 50 is above its maximum, 25 is used",
    "fraction_simplification 0 last_k: max_value: 1 is not above min_value, 2 is used",
    "gcd 0 last_k: max_value: 100 is not above min_value, 101 is used",
    "knight_swap 0 : min_nodes: 4 is below its minimum, 6 is used",
    "knight_swap 0 : max_nodes: 4 is below its minimum, 6 is used",
    "knight_swap 1 : min_nodes: 4 is below its minimum, 6 is used",
    "knight_swap 999 : min_nodes: 4 is below its minimum, 6 is used",
    "knight_swap 0 last_k: min_nodes: 4 is below its minimum, 6 is used",
    "knight_swap 0 last_k: max_nodes: 4 is below its minimum, 6 is used",
    "lcm 0 last_k: max_value: 100 is not above min_value, 101 is used",
    "modulo_grid 1 : max_target: 0 is below its minimum, 1 is used",
    "number_format 0 last_k: max_n: 1000 is not above min_n, 1001 is used",
    "rubiks_cube 999 : cube_size: 7 is above its maximum, 6 is used",
    "survo 999 : max_empty: 25 is above (min_board_size − 1)², 9 is used",
  ]);
});

/** Keys whose value does not lie in the range of the same name, with the reason. */
const OTHER_MEANING: Record<string, string> = {
  "circuit_logic.inputs": "the range is of each term's, the value lists all of them",
  "power_function.exponent": "the range is of its size, half of them are negative",
  "propositional_logic.complexity": "the range is of depths, the value counts the example's nodes",
};

Deno.test("no entry exceeds the sizes that it reports", () => {
  let compared = 0;
  for (const name of testedTasks()) {
    for (const entry of createDataset(name, { seed: 77, size: 30 })) {
      const { question, answer, metadata } = entry;
      const label = `${name} ${metadata["source_index"]}`;
      assert.ok(question.trim() !== "", `${label}: an empty question`);
      assert.ok(question.length <= MAX_QUESTION_LENGTH, `${label}: ${question.length} characters`);
      assert.ok((answer ?? "").length <= MAX_ANSWER_LENGTH, `${label}: a long answer`);
      const { difficulty } = metadata;
      for (const [key, claim] of Object.entries(difficulty ?? {})) {
        if (!isPair(claim) || OTHER_MEANING[`${name}.${key}`] !== undefined) continue;
        const value = metadata[key];
        const size = Array.isArray(value) && !isNumbers(value, claim) ? value.length : null;
        const values = size !== null ? [size] : [value].flat();
        for (const found of values) {
          if (typeof found !== "number") continue;
          const text = `${label}: ${key} is ${found}, claimed are ${claim}`;
          assert.ok(found >= claim[0] && found <= claim[1], text);
          compared++;
        }
      }
    }
  }
  if (Deno.env.get("RGX_TEST_TASKS") === undefined) assert.ok(compared > 1000, String(compared));
});

function isPair(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((x) => typeof x === "number");
}

/** Whether the list holds values of the range, rather than as many values as the range says. */
function isNumbers(list: readonly unknown[], [low, high]: [number, number]): boolean {
  return list.every((x) => typeof x === "number" && x >= low && x <= high);
}

Deno.test("an entry has exactly the keys of the protocol", () => {
  for (const name of testedTasks()) {
    const { metadata, ...rest } = createDataset(name, { seed: 5 }).entry(3);
    assert.deepEqual(Object.keys(rest), ["question", "answer"], name);
    assert.equal(metadata["source_dataset"], name);
    assert.equal(metadata["source_index"], 3, name);
    assert.ok(["object", "number"].includes(typeof metadata["difficulty"]), name);
  }
});

/** Answers that a confused or a malicious model could give. */
const HOSTILE: Record<string, string> = {
  "a megabyte of words": "the answer is ".repeat(75_000),
  "a megabyte of one letter": "a".repeat(1_000_000),
  "brackets in brackets": "[".repeat(1_000_000),
  "parentheses, closed": "(".repeat(500_000) + "1" + ")".repeat(500_000),
  "lists in lists": "[1,".repeat(300_000),
  "an enormous exponent": "1e999999",
  "an exponent of many digits": "1e" + "9".repeat(100_000),
  "a tiny number": "1e-999999999",
  "a million digits": "9".repeat(1_000_000),
  "a long fraction": "0." + "3".repeat(1_000_000),
  "digits of another script": "٣".repeat(100_000),
  "wide digits": "１２３",
  "bait for backtracking": "a".repeat(50_000) + "!",
  "spaces": "1" + " ".repeat(1_000_000) + "x",
  "lines": "\n1".repeat(500_000),
  "numbers and commas": "1,".repeat(500_000),
  "numbers and spaces": "1 2 ".repeat(250_000),
  "a long sum": "1+".repeat(500_000) + "1",
  "powers of powers": "9**".repeat(300_000) + "9",
  "signs": "-".repeat(1_000_000) + "1",
  "quotes": "'".repeat(1_000_000),
  "pairs": "(1, 2), ".repeat(120_000),
  "a deep object": '{"a":'.repeat(150_000),
  "nothing printable": "\u0000".repeat(1_000_000),
  "half a character": "\ud800".repeat(500_000),
  "moves": "up down left right ".repeat(50_000),
  "variables": "x*y+".repeat(250_000) + "z",
};

/** Milliseconds of processor time. Wall-clock time would count other processes too. */
function spent(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Limit in ms: twice the 50 ms of the protocol, because a garbage collection may fall into it. */
const PATIENCE = 100;

for (const [kind, answer] of Object.entries(HOSTILE)) {
  Deno.test(`no scorer is kept busy by an answer of ${kind}`, () => {
    for (const name of testedTasks()) {
      const entry = createDataset(name, { seed: 3 }).entry(0);
      let score = NaN, best = Infinity;
      for (let attempt = 0; attempt < 3 && best > PATIENCE; attempt++) {
        best = Math.min(best, spent(() => score = scoreAnswer(answer, entry)));
      }
      assert.ok(best <= PATIENCE, `${name} takes ${best.toFixed(0)} ms`);
      assert.ok(score >= 0 && score < 1, `${name} gives ${score}`);
    }
  });
}

Deno.test("a score does not depend on what was scored before, at any level", () => {
  for (const name of testedTasks()) {
    const task = getTask(name);
    const config = task.curriculum === undefined ? {} : curriculumConfig(task, { "*": 1 });
    const entry = createDataset(name, { ...config, seed: 6 }).entry(2);
    const answers = [entry.answer ?? "0", "0", "1, 2, 3", "[[1]]"];
    const scores = answers.map((answer) => scoreAnswer(answer, entry));
    const copy = JSON.parse(JSON.stringify(entry));
    assert.deepEqual(
      answers.toReversed().map((a) => scoreAnswer(a, copy)).reverse(),
      scores,
      name,
    );
  }
});
