/** Parses the formulas of propositional_logic with another parser and tries every assignment. */
import assert from "node:assert/strict";
import { assertFast } from "../../../core/time_limit_testing.ts";
import { RandomStream } from "../../../core/philox.ts";
import { createDataset } from "../../dataset.ts";
import { scoreAnswer, scoreTaskAnswer } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";

const OPERATORS: [string, (a: boolean, b: boolean) => boolean][] = [
  ["↔", (a, b) => a === b],
  ["→", (a, b) => !a || b],
  ["∨", (a, b) => a || b],
  ["∧", (a, b) => a && b],
];

/** The truth of a formula, by recursive descent from the weakest operator to the strongest. */
function truth(formula: string, at: Record<string, boolean>): boolean {
  const tokens = [...formula.replace(/\s/g, "")];
  const value = level(0);
  assert.deepEqual(tokens, []);
  return value;

  function level(depth: number): boolean {
    const operator = OPERATORS[depth];
    if (operator === undefined) return operand();
    let left = level(depth + 1);
    while (tokens[0] === operator[0]) {
      tokens.shift();
      left = operator[1](left, level(depth + 1));
    }
    return left;
  }

  function operand(): boolean {
    const token = tokens.shift()!;
    if (token === "¬") return !operand();
    if (token !== "(") return at[token]!;
    const inner = level(0);
    assert.equal(tokens.shift(), ")");
    return inner;
  }
}

function assignments(names: readonly string[]): Record<string, boolean>[] {
  return Array.from(
    { length: 2 ** names.length },
    (_, bits) => Object.fromEntries(names.map((name, i) => [name, (bits >> i & 1) === 1])),
  );
}

function expectedScore(premises: string[], conclusion: string, names: string[]): number {
  const worlds = assignments(names);
  const possible = worlds.filter((world) => premises.every((premise) => truth(premise, world)));
  if (!possible.every((world) => truth(conclusion, world))) return 0.05;
  const single = /^[A-Z]$/.test(conclusion.replace(/[\s()]/g, ""));
  return single || worlds.every((world) => truth(conclusion, world)) ? 0.25 : 1;
}

function randomFormula(random: RandomStream, names: readonly string[], depth: number): string {
  const form = depth === 0 ? 0 : random.below(7);
  if (form < 2) return random.choice(names);
  if (form === 2) return `¬${randomFormula(random, names, depth - 1)}`;
  const operator = random.choice(OPERATORS)[0];
  const parts = [1, 2].map(() => randomFormula(random, names, depth - 1));
  // Without parentheses, the precedence of the operators matters.
  return form < 5 ? `(${parts.join(` ${operator} `)})` : parts.join(operator);
}

Deno.test("propositional_logic: the example follows from the question's premises", () => {
  const configs = [
    { seed: 1, size: 200 },
    { seed: 2, size: 40, min_vars: 6, max_vars: 8, min_complexity: 3, max_complexity: 5 },
    { seed: 3, size: 40, min_vars: 1, max_vars: 1 },
    { seed: 4, size: 40, max_complexity: 1, max_statements: 10 },
  ];
  for (const entry of entriesOf("propositional_logic", configs)) {
    const { question, metadata } = entry;
    const premises = [...question.matchAll(/^\d+\. (.+)$/gm)].map((match) => match[1]!);
    const names = /variables? ((?:[A-Z], )*[A-Z]),/.exec(question)![1]!.split(", ");
    assert.deepEqual(names, metadata["variables"]);
    const example = metadata["example_answer"] as string;
    assert.equal(expectedScore(premises, example, names), 1, `${question}\n${example}`);
    assert.equal(metadata["complexity"], example.match(/[A-Z¬∧∨→↔]/g)!.length);
    assert.ok(
      assignments(names).some((world) => premises.every((premise) => truth(premise, world))),
      `the premises contradict: ${question}`,
    );
    assert.equal(scoreAnswer(example, entry), 1);
  }
});

Deno.test("propositional_logic: trying every assignment gives the score of any formula", () => {
  const random = RandomStream.forPurpose(1, "shuffle", "formulas");
  const seen = new Set<number>();
  for (const entry of createDataset("propositional_logic", { seed: 5, size: 200, max_vars: 6 })) {
    const { premises, variables } = entry.metadata as { premises: string[]; variables: string[] };
    for (let i = 0; i < 5; i++) {
      const formula = randomFormula(random, variables, 3);
      const expected = expectedScore(premises, formula, variables);
      assert.equal(scoreAnswer(formula, entry), expected, `${premises} ⊢ ${formula}`);
      seen.add(expected);
    }
  }
  assert.deepEqual([...seen].sort(), [0.05, 0.25, 1]);
});

Deno.test("propositional_logic: deep, long and wide answers are scored quickly", () => {
  const names = [..."PQRSTUVWXYZ"];
  const entry = { metadata: { premises: [names.join(" ∧ ")], variables: names } };
  const answers: [string, number][] = [
    ["(".repeat(40_000) + "P ∧ Q" + ")".repeat(40_000), 1],
    ["(".repeat(1_000_000), 0],
    ["¬".repeat(60_000) + "(P ∧ Q)", 1],
    [names.join("∧") + "∧(P".repeat(20_000) + ")".repeat(20_000), 1],
    ["P ∧ ".repeat(250_000) + "P", 0],
  ];
  for (const [answer, score] of answers) {
    // The limit is 50 ms. The test allows more, in case the machine is busy.
    assertFast(500, () => {
      assert.equal(scoreTaskAnswer("propositional_logic", answer, entry), score);
    });
  }
});
