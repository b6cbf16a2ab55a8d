import assert from "node:assert/strict";
import { type AdvantageInput, groupAdvantages } from "./advantages.ts";
import recorded from "../../tests/golden/advantages/cases.json" with { type: "json" };
import golden from "../../tests/golden/grpo-golden.json" with { type: "json" };

const { inputs } = golden;
const base = {
  rewards: inputs.rewards_per_func,
  weights: inputs.weights,
  groupSizes: [3, 3],
  aggregation: "sum_then_normalize",
} as const;

Deno.test("advantages equal TRL's golden values for every scaling", () => {
  const unscorable = inputs.rewards_per_func.map((row, b) => b === 1 ? [null, null] : row);
  const cases: Record<keyof typeof golden.advantages, AdvantageInput> = {
    group: { ...base, scale: "group" },
    batch: { ...base, scale: "batch" },
    none: { ...base, scale: "none" },
    normalize_then_sum: { ...base, scale: "group", aggregation: "normalize_then_sum" },
    group_row1_all_none: { ...base, rewards: unscorable, scale: "group" },
  };
  for (const name of Object.keys(cases) as (keyof typeof cases)[]) {
    const result = groupAdvantages(cases[name]);
    const expected = golden.advantages[name];
    // TRL reports the weighted sums under every aggregation; there the file has normalised ones.
    const sums = name === "normalize_then_sum" ? golden.advantages.none.rewards : expected.rewards;
    for (let i = 0; i < 6; i++) {
      const reward = sums[i] ?? null;
      if (reward === null) assert.ok(Number.isNaN(result.rewards[i]!), name);
      else assert.ok(Math.abs(result.rewards[i]! - reward) < 1e-14, name);
      assert.ok(Math.abs(result.advantages[i]! - expected.advantages[i]!) < 1e-14, name);
    }
    const share = result.zeroStd.reduce((a, b) => a + b, 0) / 6;
    assert.equal(share, expected.frac_zero_std, name);
  }
});

Deno.test("a group with rewards equal up to rounding has advantages of exactly 0", () => {
  const noisy = [0.1 + 0.2, 0.3, 0.3].map((r) => [r]);
  const result = groupAdvantages({
    rewards: [...noisy, [0], [1], [1]],
    weights: [1],
    groupSizes: [3, 3],
    scale: "group",
    aggregation: "sum_then_normalize",
  });
  assert.deepEqual([...result.advantages.subarray(0, 3)], [0, 0, 0]);
  assert.deepEqual([...result.zeroStd], [1, 1, 1, 0, 0, 0]);
  assert.ok(result.advantages[3]! < -1);
});

Deno.test("a reward that does not apply is left out; a lone valid row has advantage 0", () => {
  const result = groupAdvantages({
    rewards: [[1, NaN], [null, null], [null, null]],
    weights: [2, 5],
    groupSizes: [3],
    scale: "group",
    aggregation: "sum_then_normalize",
  });
  assert.equal(result.rewards[0], 2);
  assert.ok(Number.isNaN(result.rewards[1]!));
  assert.deepEqual([...result.advantages], [0, 0, 0]);
  assert.deepEqual([...result.zeroStd], [0, 0, 0]);
});

Deno.test("normalised first, a reward alone in its group counts 0, as in TRL", () => {
  const { rewards, advantages } = groupAdvantages({
    rewards: [[1], [0], [1], [null]],
    weights: [1],
    groupSizes: [2, 2],
    scale: "group",
    aggregation: "normalize_then_sum",
  });
  const half = 0.5 / (Math.SQRT1_2 + 1e-4);
  assert.deepEqual([...rewards], [1, 0, 1, NaN]);
  // The standard deviation is over three rows, not two: it is `half` itself.
  assert.ok(Math.abs(advantages[0]! - half / (half + 1e-4)) < 1e-12);
  assert.deepEqual([...advantages.subarray(2)], [0, 0]);
});

Deno.test("groups may differ in size, and a group of one has advantage 0", () => {
  const result = groupAdvantages({
    rewards: [[5], [0], [1]],
    weights: [1],
    groupSizes: [1, 2],
    scale: "group",
    aggregation: "sum_then_normalize",
  });
  assert.equal(result.advantages[0], 0);
  assert.equal(result.zeroStd[0], 1);
  assert.ok(result.advantages[2]! > 0.7 && result.advantages[2]! === -result.advantages[1]!);
});

Deno.test("sizes that do not fit together are refused", () => {
  assert.throws(() => groupAdvantages({ ...base, groupSizes: [3, 2], scale: "group" }), RangeError);
  assert.throws(() => groupAdvantages({ ...base, weights: [1], scale: "group" }), RangeError);
});

Deno.test("each estimator computes what TRL, verl and MaxRL's authors do", () => {
  const { cases, groups, lengths, greedy } = recorded;
  for (const { rewards, project, estimator, advantages } of cases) {
    const result = groupAdvantages({
      rewards: recorded.rewards[rewards as "binary" | "partial"].map((value) => [value]),
      weights: [1],
      groupSizes: groups,
      scale: "group",
      aggregation: "sum_then_normalize",
      estimator: estimator as NonNullable<AdvantageInput["estimator"]>,
      lengths,
      greedy: greedy.map((value) => [value]),
    });
    for (const [i, expected] of advantages.entries()) {
      // verl adds 1e-8 to a count of tokens, and MaxRL's code has means in float32.
      const limit = estimator.startsWith("reinforce") ? 1e-8 : estimator === "maxrl" ? 1e-6 : 1e-14;
      const difference = Math.abs(result.advantages[i]! - expected);
      assert.ok(difference < limit, `${project} ${estimator} ${rewards}: row ${i}: ${difference}`);
    }
  }
});

Deno.test("an estimator leaves out rows that no reward applies to, and equal groups", () => {
  const advantagesOf = (estimator: NonNullable<AdvantageInput["estimator"]>) => [
    ...groupAdvantages({
      rewards: [[1], [null], [0], [0.1 + 0.2], [0.3], [0.3]],
      weights: [1],
      groupSizes: [3, 3],
      scale: "group",
      aggregation: "sum_then_normalize",
      estimator,
      lengths: [1, 9, 3, 1, 1, 1],
    }).advantages,
  ];
  assert.deepEqual(advantagesOf("rloo"), [1, 0, -1, 0, 0, 0]);
  assert.deepEqual(advantagesOf("opo"), [0.75, 0, -0.25, 0, 0, 0]);
  const [first, second, third, ...equal] = advantagesOf("maxrl");
  assert.ok(Math.abs(first! - 1) < 1e-5 && second === 0 && third! === -first!);
  assert.deepEqual(equal, [0, 0, 0]);
  for (const name of ["reinforce_plus_plus", "reinforce_plus_plus_baseline"] as const) {
    const values = advantagesOf(name);
    assert.ok(values[0]! > 0 && values[1] === 0 && values[2]! < 0, name);
  }
});
