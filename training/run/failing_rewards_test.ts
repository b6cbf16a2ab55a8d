import assert from "node:assert/strict";
import type { Rollout } from "../rollout/rollout.ts";
import { FailingRewards } from "./step_records.ts";

const rollout = (rewards: (number | null)[][]) =>
  ({
    errors: [],
    rows: rewards.map((row, i) => ({ rewards: row, text: `t${i}` })),
  }) as unknown as Rollout;

Deno.test("completions to which no reward applies are reported in every step", async () => {
  const watch = new FailingRewards(["a", "b"]), warnings: string[] = [];
  const check = (rewards: (number | null)[][]) =>
    watch.check(rollout(rewards), (message) => Promise.resolve(void warnings.push(message)));
  await check([[1, null], [null, 0]]);
  assert.deepEqual(warnings, []);
  for (const step of [1, 2]) {
    await check([[1, 0], [null, null], [null, null]]);
    assert.equal(warnings.length, step);
  }
  assert.match(
    warnings[0]!,
    /no reward applies to 2 of 3 completions.*all of a, b returned null.*"t1"/,
  );
});
