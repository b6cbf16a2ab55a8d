import assert from "node:assert/strict";
import { rolloutMetrics } from "./rollout_metrics.ts";

Deno.test("a step in which no reward applies has null rewards and finite other metrics", () => {
  const metrics = rolloutMetrics({
    lengths: [3, 4],
    truncated: [false, true],
    rewards: [[null, NaN], [null, null]],
    rewardNames: ["a", "b"],
    advantages: {
      advantages: new Float64Array(2),
      rewards: Float64Array.of(NaN, NaN),
      zeroStd: new Uint8Array(2),
    },
  });
  for (const [name, value] of Object.entries(metrics)) {
    if (/^rewards?(_std$|\/|$)/.test(name)) assert.equal(value, null, name);
    else assert.ok(Number.isFinite(value), name);
  }
});

Deno.test("the metrics of very many completions", () => {
  const lengths = Array.from({ length: 200_000 }, (_, i) => 1 + i % 7);
  const metrics = rolloutMetrics({
    lengths,
    truncated: lengths.map((length) => length === 7),
    rewards: lengths.map(() => [1]),
    rewardNames: ["one"],
    advantages: {
      advantages: Float64Array.of(0),
      rewards: Float64Array.of(1),
      zeroStd: Uint8Array.of(1),
    },
  });
  const of = (name: string) => metrics[`completions/${name}`];
  assert.deepEqual([of("min_length"), of("max_length")], [1, 7]);
  assert.deepEqual([of("min_terminated_length"), of("max_terminated_length")], [1, 6]);
});
