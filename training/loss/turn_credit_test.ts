/**
 * Credit by turns, settled by enumeration: two turns, after the first of which the policy may stop.
 * The expectation of the estimate over all groups of four is the true gradient.
 */
import assert from "node:assert/strict";
import { groupAdvantages } from "./advantages.ts";

type Action = "S" | "A" | "B" | "X" | "Y";
const LOGITS = { S: 0.2, A: 0, B: -0.1, X: 0.3, Y: 0 };
const REWARDS = { S: 0.5, A: 0.4, B: 0.2, X: 0.3, Y: 0 };
const TURNS: Action[][] = [["S", "A", "B"], ["X", "Y"]];
const G = 4;

const probability = (action: Action, turn: number) =>
  Math.exp(LOGITS[action]) / TURNS[turn]!.reduce((sum, one) => sum + Math.exp(LOGITS[one]), 0);
const DIALOGUES: Action[][] = [["S"], ["A", "X"], ["A", "Y"], ["B", "X"], ["B", "Y"]];
const chanceOf = (dialogue: Action[]) =>
  dialogue.reduce((product, action, turn) => product * probability(action, turn), 1);

/** Adds `factor` times the gradient of log p(action) by the five logits. */
function addScore(into: Record<string, number>, action: Action, turn: number, factor: number) {
  for (const other of TURNS[turn]!) {
    into[other]! += factor * ((other === action ? 1 : 0) - probability(other, turn));
  }
}

const zero = () => ({ S: 0, A: 0, B: 0, X: 0, Y: 0 }) as Record<string, number>;

function* groups(size: number): Generator<Action[][]> {
  if (size === 0) return yield [];
  for (const rest of groups(size - 1)) for (const dialogue of DIALOGUES) yield [dialogue, ...rest];
}

function expectation(credit: "outcome" | "return") {
  const mean = zero();
  let square = 0;
  for (const group of groups(G)) {
    const chance = group.reduce((product, dialogue) => product * chanceOf(dialogue), 1);
    const earned = group.map((dialogue) => dialogue.map((action) => REWARDS[action]));
    const rewards = earned.map((turns) => [turns.reduce((a, b) => a + b, 0)]);
    const { advantages, turns } = groupAdvantages({
      rewards,
      weights: [1],
      groupSizes: [G],
      scale: "none",
      aggregation: "sum_then_normalize",
      ...(credit === "return" ? { earned } : {}),
    });
    const estimate = zero();
    for (const [i, dialogue] of group.entries()) {
      for (const [turn, action] of dialogue.entries()) {
        // The group's own mean in place of the others' makes all smaller by (G − 1)/G.
        const own = turns === undefined ? advantages[i]! : turns[i]![turn]!;
        const advantage = own * (G / (G - 1));
        addScore(estimate, action, turn, advantage / G);
      }
    }
    for (const [name, value] of Object.entries(estimate)) mean[name]! += chance * value;
    square += chance * Object.values(estimate).reduce((sum, value) => sum + value ** 2, 0);
  }
  const variance = square - Object.values(mean).reduce((sum, value) => sum + value ** 2, 0);
  return { mean, variance };
}

Deno.test("both credits are unbiased, and by returns the variance is smaller", () => {
  const truth = zero();
  for (const dialogue of DIALOGUES) {
    const total = dialogue.reduce((sum, action) => sum + REWARDS[action], 0);
    dialogue.forEach((action, turn) => addScore(truth, action, turn, chanceOf(dialogue) * total));
  }
  for (const [credit, variance] of [["outcome", 0.00676], ["return", 0.00586]] as const) {
    const found = expectation(credit);
    for (const [name, value] of Object.entries(truth)) {
      assert.ok(Math.abs(found.mean[name]! - value) < 1e-12, `${credit} ${name}`);
    }
    assert.equal(found.variance.toFixed(5), String(variance), credit);
  }
});

Deno.test("the first turn has GRPO's advantage bit for bit; unscored rows have none", () => {
  const rewards = [[0.1], [0.7], [null], [0.30000000000000004], [1], [1]];
  const input = {
    rewards,
    weights: [0.3],
    groupSizes: [4, 2],
    aggregation: "sum_then_normalize" as const,
  };
  for (const scale of ["group", "batch", "none"] as const) {
    const earned = [[0.1, 0.2], [0], [1], [0.1, 0, 0], [1, 0], [0]];
    const { advantages, turns } = groupAdvantages({ ...input, scale, earned });
    assert.deepEqual(advantages, groupAdvantages({ ...input, scale }).advantages);
    assert.deepEqual(turns!.map(([first]) => first), [...advantages], scale);
    assert.deepEqual(turns![2], [0]);
  }
});
