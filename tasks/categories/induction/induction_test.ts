import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";

function acreParts(question: string) {
  const lines = question.split("\n");
  const examples = lines.filter((line) => line.includes(" -> ")).map((line) => {
    const [objects, light] = line.split(" -> ") as [string, string];
    return { objects: objects.split(", "), on: light === "on" };
  });
  const now = lines.findIndex((line) => line.startsWith("Now "));
  return { examples, placement: lines[now + 1]!.split(", ") };
}

/** The light of the placement, if all worlds that agree with the examples agree on it. */
function tryAllWorlds(question: string): string {
  const { examples, placement } = acreParts(question);
  const objects = [...new Set([...examples.flatMap((example) => example.objects), ...placement])];
  const bits = (list: string[]) =>
    list.reduce((set, object) => set | 1 << objects.indexOf(object), 0);
  const shown = examples.map(({ objects, on }) => ({ set: bits(objects), on })),
    asked = bits(placement);
  const lights = new Set<boolean>();
  for (let world = 0; world < 1 << objects.length; world++) {
    if (shown.every(({ set, on }) => ((world & set) !== 0) === on)) {
      lights.add((world & asked) !== 0);
    }
  }
  assert.notEqual(lights.size, 0, question);
  return lights.size === 2 ? "undetermined" : lights.has(true) ? "on" : "off";
}

Deno.test("acre: the answer is what all possible worlds agree on", () => {
  const sets = [{ train: 0 }, { train: 1 }];
  for (const { question, answer } of entriesOf("acre", sets, { seed: 6, size: 150 })) {
    assert.equal(tryAllWorlds(question), answer, question);
  }
});

Deno.test("acre: examples match their description, and all answers occur", () => {
  const answers = new Map<string, number>(), families = [0, 0], kinds = new Set<string>();
  let repeated = 0;
  const seen = new Set<string>();
  for (const { question, answer } of createDataset("acre", { seed: 2, size: 1000 })) {
    const { examples, placement } = acreParts(question);
    assert.equal(examples.length, 6);
    const first = examples.slice(0, 3), lit = examples.slice(3).filter(({ on }) => on).length;
    assert.deepEqual(first.map(({ objects }) => objects.length).sort(), [1, 1, 2]);
    assert.equal(first.filter(({ on }) => on).length, 2);
    families[lit - 1]!++;
    for (const { objects } of examples) objects.forEach((object) => kinds.add(object));
    answers.set(answer!, (answers.get(answer!) ?? 0) + 1);
    const problem = JSON.stringify([examples, placement]);
    repeated += seen.has(problem) ? 1 : 0;
    seen.add(problem);
  }
  assert.equal(kinds.size, 48);
  // 80 % draw the family evenly, and 20 % take the one for training.
  assert.ok(families[0]! > 530 && families[0]! < 670, String(families));
  assert.ok(repeated < 5);
  for (const answer of ["on", "off", "undetermined"]) assert.ok(answers.get(answer)! > 180);
});

/**
 * The result of each rule for a list, implemented again; undefined for lists to which a rule does
 * not apply.
 */
const RULES: ((list: number[]) => number[] | undefined)[] = [
  (list) => list,
  (list) => list.length < 3 ? undefined : [list[2]!],
  (list) => list.map((_, i) => list[list.length - 1 - i]!),
  (list) => [list.reduce((sum, x, i) => x < 30 && list.indexOf(x) === i ? sum + x : sum, 0)],
  (list) => [list.reduce((sum, x) => sum + Number(x === 5), 0)],
  (list) => list.slice(0, -1).filter((_, i) => list[i + 1]! % 2 === 0),
  (list) => list.map((x, i) => x + i),
  (list) => list.at(-1)! < list.length ? [list[list.at(-1)!]!] : undefined,
  (list) => [list.length],
  (list) => [list.reduce((a, b) => a + b)],
  (list) => [...list].sort((a, b) => a - b),
  (list) => [...list].sort((a, b) => b - a),
  (list) => [list[0]! + 1, ...list.slice(1, -1), list.at(-1)! + 1],
  (list) => {
    const signs = new Set(list.slice(1).map((x, i) => Math.sign(x - list[i]!)));
    return signs.size === 1 ? [signs.has(1) ? 1 : 0] : undefined;
  },
  (list) => list.length === 1 && list[0]! % 5 === 0 ? [list[0]! % 10 === 0 ? 1 : 0] : undefined,
  (list) =>
    list.length > 1 && list.every((x, i) => i === 0 || x === 2 * list[i - 1]!)
      ? [list.at(-1)! * 2]
      : undefined,
  (list) => list.length === 1 ? [2 * list[0]! - 4] : undefined,
];

Deno.test("list_functions: the question's examples lead to the answer, mostly to no other", () => {
  const used = new Set<number>();
  let unique = 0, all = 0;
  for (const { question, answer } of createDataset("list_functions", { seed: 6, size: 600 })) {
    const examples = question.split("\n").filter((line) => line.includes(" -> "))
      .map((line) => line.split(" -> ").map((text) => JSON.parse(text) as number[]));
    assert.equal(examples.length, 4);
    const input = JSON.parse(
      /does the same rule make of (\[.*?\])/.exec(question)![1]!,
    ) as number[];
    const fitting = RULES.map((rule, i) => ({ rule, i })).filter(({ rule }) =>
      examples.every(([from, to]) => JSON.stringify(rule(from!)) === JSON.stringify(to))
    );
    const results = new Set(fitting.map(({ rule }) => `[${rule(input)?.join(", ")}]`));
    assert.ok(results.has(answer!), question);
    if (results.size === 1) unique++;
    if (fitting.length === 1) used.add(fitting[0]!.i);
    all++;
    for (const list of [input, ...examples.map(([from]) => from!)]) {
      assert.ok(list.length <= 10 && list.every((x) => Number.isInteger(x) && x >= 0), question);
    }
  }
  assert.equal(used.size, RULES.length);
  assert.ok(unique > 0.97 * all, `${unique} of ${all} have one answer`);
});
