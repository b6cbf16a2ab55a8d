/** Solves the questions of the tasks on graphs again, by other methods. */
import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { validateTaskConfig } from "../../registry.ts";
import { distances, entriesOf } from "../../testing.ts";
import { readGoldenLines } from "../../../tests/golden.ts";
import type { Entry } from "../../types.ts";
import { shortestPath } from "./shortest_path.ts";

Deno.test("course schedules: repeatedly taking every available course agrees", () => {
  for (
    const options of [{}, { max_num_courses: 40, max_num_prerequisites: 4 }, { p_solvable: 1 }]
  ) {
    let possible = 0;
    for (const entry of createDataset("course_schedule", { seed: 1, size: 150, ...options })) {
      const count = Number(/take (\d+) courses/.exec(entry.question)![1]);
      const pairs = [...entry.question.matchAll(/\((\d+), (\d+)\)/g)].map(([, a, b]) =>
        [Number(a), Number(b)] as const
      );
      assert.equal(new Set(pairs.map(String)).size, pairs.length, "no pair twice");
      const done = new Set<number>();
      for (let before = -1; before < done.size;) {
        before = done.size;
        for (let course = 0; course < count; course++) {
          if (pairs.every(([a, b]) => a !== course || done.has(b))) done.add(course);
        }
      }
      assert.equal(entry.answer, done.size === count ? "True" : "False", entry.question);
      possible += done.size === count ? 1 : 0;
    }
    assert.ok(possible > 45 && (possible < 105 || options.p_solvable === 1), `${possible} of 150`);
  }
});

Deno.test("largest islands: the area is counted again by spreading the smallest label", () => {
  let empty = 0;
  const sets = [{}, { min_rows: 1, min_cols: 1, max_num_islands: 9 }, { max_island_size: 40 }];
  for (const entry of entriesOf("largest_island", sets, { seed: 2, size: 120 })) {
    const rows = entry.question.split("\n").filter((line) => /^[01]( [01])*$/.test(line))
      .map((line) => line.split(" "));
    const labels = rows.map((row, r) => row.map((cell, c) => cell === "1" ? r * 1000 + c + 1 : 0));
    for (let changed = true; changed;) {
      changed = false;
      for (let r = 0; r < rows.length; r++) {
        for (let c = 0; c < rows[0]!.length; c++) {
          for (
            const other of [
              labels[r + 1]?.[c],
              labels[r]![c + 1],
              labels[r - 1]?.[c],
              labels[r]![c - 1],
            ]
          ) {
            if (!other || labels[r]![c] === 0 || other >= labels[r]![c]!) continue;
            labels[r]![c] = other;
            changed = true;
          }
        }
      }
    }
    const areas = new Map<number, number>();
    for (const label of labels.flat()) {
      if (label > 0) areas.set(label, (areas.get(label) ?? 0) + 1);
    }
    assert.equal(entry.answer, String(Math.max(0, ...areas.values())), entry.question);
    empty += areas.size === 0 ? 1 : 0;
  }
  assert.ok(empty > 20);
});

Deno.test("path stars: the only path from start to goal over the listed edges", () => {
  const sets = [{}, { degree: 6, max_path_length: 9 }, { reversed: true }, { node_range: 17 }];
  for (const entry of entriesOf("path_star", sets, { seed: 3, size: 40 })) {
    const line = entry.question.split("\n").find((text) => text.startsWith("|"))!;
    const [edges, ends] = line.split("/") as [string, string];
    const [start, goal] = ends.split(" ");
    const neighbours = new Map<string, string[]>();
    for (const edge of edges.split("|").slice(1)) {
      const [u, v] = edge.split(" ") as [string, string];
      neighbours.set(u, [...(neighbours.get(u) ?? []), v]);
      neighbours.set(v, [...(neighbours.get(v) ?? []), u]);
    }
    const ways: string[][] = [];
    const walk = (path: string[]) => {
      if (path.at(-1) === goal) return ways.push(path);
      for (const next of neighbours.get(path.at(-1)!)!) {
        if (!path.includes(next)) walk([...path, next]);
      }
    };
    walk([start!]);
    assert.deepEqual(ways.map((way) => way.join(" ")), [entry.answer], entry.question);
    const { goal_path, center, path_length } = entry.metadata as Record<string, unknown>;
    assert.equal((goal_path as number[])[0], center);
    assert.equal(ways[0]!.length - 1, path_length);
  }
  assert.match(
    validateTaskConfig("path_star", { node_range: 16 }).join(),
    /^node_range: must be above/,
  );
});

interface Rule {
  name: string;
  apply: (number: number) => number;
  light: string | undefined;
}

/** Parses the lock from the question. */
function readLock(question: string): { rules: Rule[]; target: number } {
  const rules = [
    ...question.matchAll(/^([A-C]): (add|subtract|multiply by) (\d)(?:.*light is (\w+))?$/gm),
  ]
    .map(([, name, verb, digit, light]): Rule => {
      const value = Number(digit);
      const apply = verb === "add"
        ? (n: number) => n + value
        : verb === "subtract"
        ? (n: number) => n - value
        : (n: number) => n * value;
      return { name: name!, apply, light };
    });
  return { rules, target: Number(/display show (-?\d+)\?/.exec(question)![1]) };
}

/** Whether some sequence of exactly `presses` working buttons reaches the target. */
function reachable({ rules, target }: ReturnType<typeof readLock>, presses: number): boolean {
  let states = new Set(["0 red"]);
  for (let i = 0; i < presses; i++) {
    const next = new Set<string>();
    for (const state of states) {
      const [number, light] = state.split(" ") as [string, string];
      for (const rule of rules) {
        if (rule.light !== undefined && rule.light !== light) continue;
        next.add(`${rule.apply(Number(number))} ${light === "red" ? "green" : "red"}`);
      }
    }
    states = next;
  }
  return ["red", "green"].some((light) => states.has(`${target} ${light}`));
}

Deno.test("quantum locks: the sequence works and no shorter one exists", () => {
  const levels = new Set<number>();
  const sets = [1, 4, 10].map((difficulty) => ({ difficulty }));
  for (const entry of entriesOf("quantum_lock", sets, { seed: 4, size: 70 })) {
    const lock = readLock(entry.question), path = entry.answer!.split(" → ");
    assert.equal(lock.rules.length, 3);
    let number = 0, light = "red";
    for (const name of path) {
      const rule = lock.rules.find((candidate) => candidate.name === name)!;
      assert.ok(rule.light === undefined || rule.light === light, entry.question);
      number = rule.apply(number);
      light = light === "red" ? "green" : "red";
    }
    assert.equal(number, lock.target, entry.question);
    for (let presses = 1; presses < Math.min(path.length, 9); presses++) {
      assert.ok(!reachable(lock, presses), `${presses} presses: ${entry.question}`);
    }
    levels.add((entry.metadata["difficulty"] as { difficulty: number }).difficulty);
  }
  assert.equal(levels.size, 10);
});

/** Parses the facts of a story, sentence by sentence. */
function readFamily(story: string) {
  const female = new Map<string, boolean>(), spouse = new Map<string, string>();
  const parents = new Map<string, string[]>();
  let couple: string[] = [];
  for (const sentence of story.split(/(?<=\.)\s+/)) {
    const marriage = /^(\w+) is married to his wife (\w+)\.$/.exec(sentence);
    if (marriage) {
      couple = marriage.slice(1);
      const [husband, wife] = couple as [string, string];
      female.set(husband, false).set(wife, true);
      spouse.set(husband, wife).set(wife, husband);
      continue;
    }
    assert.match(sentence, /^They have a /);
    for (const [, kind, name] of sentence.matchAll(/a (son|daughter) called (\w+)/g)) {
      female.set(name!, kind === "daughter");
      parents.set(name!, couple);
    }
  }
  return { female, spouse, parents };
}

/** All words that fit, to check that a question has one answer. */
function relations(story: string, one: string, other: string): string[] {
  const { female, spouse, parents } = readFamily(story);
  const up = (name: string | undefined) => parents.get(name ?? "") ?? [];
  const siblings = (name: string) =>
    [...parents.keys()].filter((child) =>
      child !== name && String(up(child)) === String(up(name)) && up(name).length > 0
    );
  const words: [boolean, string, string][] = [
    [up(other).includes(one), "father", "mother"],
    [up(one).includes(other), "son", "daughter"],
    [siblings(one).includes(other), "brother", "sister"],
    [spouse.get(one) === other, "husband", "wife"],
    [up(other).flatMap(up).includes(one), "grandfather", "grandmother"],
    [up(other).flatMap(siblings).includes(one), "uncle", "aunt"],
    [up(one).flatMap(siblings).includes(other), "nephew", "niece"],
    [up(spouse.get(other)).includes(one), "father-in-law", "mother-in-law"],
  ];
  return words.filter(([holds]) => holds).map(([, he, she]) => female.get(one) ? she : he);
}

Deno.test("families: the story determines exactly the word of the answer", () => {
  const seen = new Set<string>();
  const sets = [{}, { min_family_size: 3, max_family_size: 3 }, {
    min_family_size: 9,
    max_family_size: 16,
  }];
  for (const entry of entriesOf("family_relationships", sets, { seed: 5, size: 100 })) {
    const [story, ask] = entry.question.split("\n\n") as [string, string];
    const asked = [
      /What is (\w+) to (\w+)\?/,
      /How is (\w+) related to (\w+)\?/,
      /relative of (?<of>\w+) is (\w+)\?/,
    ].map((pattern) => pattern.exec(ask)).find((match) => match !== null)!;
    const [one, other] = asked.groups ? [asked[2]!, asked[1]!] : [asked[1]!, asked[2]!];
    assert.deepEqual(relations(story, one, other), [entry.answer], entry.question);
    assert.equal(readFamily(story).female.size, entry.metadata["family_size"]);
    assert.equal(entry.metadata["person1"], one);
    seen.add(entry.answer!);
  }
  assert.equal(seen.size, 16);
});

Deno.test("families need enough different names", () => {
  const errors = (config: Record<string, unknown>) =>
    validateTaskConfig("family_relationships", config).join("\n");
  assert.match(errors({ male_names: ["Max"] }), /^male_names: 8 people need 3/);
  assert.match(errors({ female_names: ["Ida", "Ida", "Eva"] }), /^female_names: 8 people need 3/);
  assert.match(errors({ max_family_size: 99 }), /^max_family_size: there are only 86/);
  const names = { male_names: ["A", "B", "C", "D"], female_names: ["E", "F", "G", "H", "A"] };
  for (const entry of createDataset("family_relationships", { seed: 7, size: 50, ...names })) {
    const people = [...entry.question.split("\n\n")[0]!.matchAll(/\b[A-H]\b/g)].map(String);
    assert.ok(new Set(people).size >= 4);
  }
});

Deno.test("paths are legal and shortest; unreachable goals are infeasible", () => {
  let infeasible = 0;
  const sets = [0, 0.4, 0.7].map((p_blocked) => ({ min_rows: 1, min_cols: 2, p_blocked }));
  for (const { question, answer, metadata } of entriesOf("shortest_path", sets, { size: 100 })) {
    const matrix = metadata["matrix"] as string[][], solution = metadata["solution"] as string[];
    assert.equal(matrix.flat().filter((cell) => cell === "*" || cell === "#").length, 2);
    assert.ok(question.includes(matrix.map((row) => row.join(" ")).join("\n")));
    const steps = distances(matrix, (cell) => cell === "*", (cell) => cell !== "X");
    const row = matrix.findIndex((cells) => cells.includes("#"));
    const shortest = steps[row]![matrix[row]!.indexOf("#")]!;
    if (shortest === Infinity) {
      assert.equal(answer, "infeasible");
      assert.deepEqual(solution, []);
      infeasible++;
    } else {
      assert.equal(solution.length, shortest);
      assert.equal(answer, solution.join(" "));
    }
  }
  assert.ok(infeasible > 30);
});

Deno.test("recorded grids are solved with as many steps as recorded", () => {
  for (const { metadata } of readGoldenLines<Entry>("reasoning-gym/items/shortest_path.jsonl")) {
    const path = shortestPath(metadata["matrix"] as string[][]);
    assert.equal(path?.length ?? 0, (metadata["solution"] as string[]).length);
  }
});
