/** Runs whose training pass takes the activations of sampling (`use_rollout_activations`). */
import assert from "node:assert/strict";
import {
  type ConfigChanges,
  metricsWithoutClock,
  test,
  tinyRunConfig,
  trainOn,
  varying,
} from "./testing.ts";
import { checkRankCount } from "./run/rank_count.ts";

type Settings = NonNullable<ConfigChanges["training"]>;

/** Schedules: each step on a new generation; two passes over one; micro-batches that cut groups. */
const SCHEDULES: Settings[] = [
  { max_steps: 3, beta: 0.05, mask_truncated_completions: true },
  { max_steps: 4, num_iterations: 2 },
  { max_steps: 3, per_device_train_batch_size: 3, gradient_accumulation_steps: 4 },
];

const close = (found: unknown, expected: unknown, bound: number) =>
  Math.abs(Number(found) - Number(expected)) <= bound * Math.max(1, Math.abs(Number(expected)));

test.onReference("a run on the activations of sampling is the run without, but for rounding", async ({ device, dir }) => {
  for (const [i, training] of SCHEDULES.entries()) {
    const lines = [];
    for (const use_rollout_activations of [false, true]) {
      const path = `${dir}/${i}-${use_rollout_activations}`;
      const changes = { training: { ...training, use_rollout_activations } };
      await trainOn(device, tinyRunConfig(path, changes), varying);
      lines.push(await metricsWithoutClock(path, "train"));
    }
    const [expected, found] = lines;
    assert.equal(found!.length, training.max_steps);
    for (const [step, line] of expected!.entries()) {
      assert.ok(Number(line.grad_norm) > 0.01, `${line.grad_norm}`);
      for (const name of ["loss", "grad_norm", "entropy", "num_tokens"]) {
        const other = found![step]![name];
        // A decoding layer in one operation rounds its sums once less.
        assert.ok(close(other, line[name], 1e-6), `${i} ${step} ${name} ${other} ${line[name]}`);
      }
    }
  }
});

Deno.test("several ranks do not train on one another's activations", () => {
  const { training, generation } = tinyRunConfig("", {
    training: { use_rollout_activations: true },
  });
  checkRankCount({ training, generation }, 1);
  assert.throws(
    () => checkRankCount({ training, generation }, 2),
    { message: /^training\.use_rollout_activations is for one rank, and this run has 2/ },
  );
});
