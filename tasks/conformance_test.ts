/**
 * Checks the protocol for every registered task, beyond `generation_test.ts` (entries) and
 * `golden_test.ts` (recorded data): parameters out of range are refused, and no answer keeps a
 * scorer busy. A new task is covered automatically.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { curriculumConfig } from "./curriculum/levels.ts";
import { createDataset } from "./dataset.ts";
import { getTask, scoreAnswer, validateTaskConfig } from "./registry.ts";
import { testedTasks } from "./testing.ts";
import type { ParamSpec } from "../core/named_params.ts";

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

/** As much of a text as scorers still parse (`isOverlong`), which is what takes them longest. */
const long = (piece: string) => piece.repeat(100_000 / piece.length);

/** Answers that a confused or a malicious model could give. */
const HOSTILE: Record<string, string> = {
  "a megabyte of words": "the answer is ".repeat(75_000),
  "a megabyte of digits": "9".repeat(1_000_000),
  "a megabyte of lines": "\n1".repeat(500_000),
  "one letter": long("a"),
  "brackets in brackets": long("["),
  "parentheses, closed": "(".repeat(49_000) + "1" + ")".repeat(49_000),
  "lists in lists": long("[1,"),
  "an enormous exponent": "1e999999",
  "an exponent of many digits": "1e" + "9".repeat(99_000),
  "a tiny number": "1e-999999999",
  "digits": long("9"),
  "a long fraction": "0." + "3".repeat(99_000),
  "digits of another script": long("٣"),
  "wide digits": "１２３",
  "bait for backtracking": "a".repeat(50_000) + "!",
  "spaces": "1" + " ".repeat(99_000) + "x",
  "lines": long("\n1"),
  "numbers and commas": long("1,"),
  "numbers and spaces": long("1 2 "),
  "a long sum": long("1+") + "1",
  "powers of powers": long("9**"),
  "signs": long("-"),
  "quotes": long("'"),
  "pairs": long("(1, 2), "),
  "a deep object": long('{"a":'),
  "nothing printable": long("\u0000"),
  "half a character": long("\ud800"),
  "moves": long("up down left right "),
  "variables": long("x*y+"),
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
