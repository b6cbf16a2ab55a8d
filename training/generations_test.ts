/**
 * Generation batches in whole runs: used several times, in slices, with dynamic sampling.
 */
import assert from "node:assert/strict";
import {
  completionsOf,
  type ConfigChanges,
  metricsWithoutClock,
  rubricOf,
  tinyRunConfig,
  trainOn,
  VARYING_RUBRIC,
  withWasm,
} from "./testing.ts";

type Line = Record<string, number | string | null>;

interface Outcome {
  path: string;
  train: Line[];
  state: (step: number) => Promise<{
    micro_step: number;
    rollout: unknown;
    rng: { seed: number; counters: { next_prompt: number } };
    sampler: unknown;
  }>;
  has: (file: string) => Promise<boolean>;
}

/** A GRPO run without warm start; per_device_train_batch_size 4, GA 2, groups of 4. */
const withRun = (
  changes: ConfigChanges["training"],
  work: (outcome: Outcome) => Promise<void> | void,
  rubric = VARYING_RUBRIC,
): Promise<void> =>
  withWasm(async (device, dir) => {
    const path = `${dir}/run`, training = { save_steps: 1, learning_rate: 1e-2, ...changes };
    const config = tinyRunConfig(path, { sft: null, eval: { num_examples: 0 }, training });
    await trainOn(device, config, { rubric });
    await work({
      path,
      train: await metricsWithoutClock(path, "train") as Line[],
      state: async (step) =>
        JSON.parse(await Deno.readTextFile(`${path}/checkpoint-${step}/rgx_state.json`)),
      has: (file) => Deno.stat(`${path}/${file}`).then(() => true, () => false),
    });
  });

const DIFFERENCE = "sampling/sampling_logp_difference";
/** Of the sampler's log-probabilities from those of the training pass. */
const differences = (line: Line) =>
  [line[`${DIFFERENCE}/mean`], line[`${DIFFERENCE}/max`]] as [number, number];

Deno.test("a batch is for μ·SPG/GA steps: sampled once, then off-policy", () =>
  withRun(
    { max_steps: 5, num_iterations: 2, steps_per_generation: 4, loss_type: "grpo", epsilon: 0.01 },
    async ({ train, state, has }) => {
      const generated = train.map((line) => "reward" in line);
      assert.deepEqual(generated, [true, false, false, false, true]);
      const isNew = train.map((line) => line["num_tokens"] !== train[0]!["num_tokens"]);
      assert.deepEqual(isNew, [false, false, false, false, true]);
      // The first step is on-policy; from the second on some ratios are outside of 1 ± 0.01.
      const clipped = train.map((line) => line["clip_ratio/region_mean"] as number);
      assert.ok(clipped.slice(1, 4).every((share) => share > 0), String(clipped));
      assert.deepEqual([clipped[0], clipped[4]], [0, 0]);
      const saved = [1, 2, 3, 4].map((step) => has(`checkpoint-${step}/rollout.safetensors`));
      assert.deepEqual(await Promise.all(saved), [true, true, true, false]);
      const { rollout, micro_step, rng, sampler } = await state(3);
      assert.deepEqual(rollout, { step: 0, micro_steps: 6, slice: 2, done_rows: 24 });
      assert.equal(micro_step, 6);
      assert.deepEqual(rng, { seed: 3, counters: { next_prompt: 4 } });
      assert.deepEqual(sampler, { seed: 3, epoch: 0, position: 4 });
      assert.equal((await state(4)).rollout, null);
      assert.ok(!await has("completions/completions_00002.parquet"));
      assert.ok(await has("completions/completions_00005.parquet"));
    },
  ));

Deno.test("the sampler and the training pass have the same log-probabilities", async () => {
  const ends = { min_new_tokens: 3, stop: ["a", "e", "o"], repetition_penalty: 1.3 };
  for (const changes of [{ top_p: 0.9 }, ends]) {
    await withRun({ max_steps: 3, num_iterations: 2, ...changes }, ({ train }) => {
      for (const [k, line] of train.entries()) {
        const [mean, max] = differences(line);
        if (k % 2 === 1) assert.ok(mean === undefined && max === undefined);
        else assert.ok(mean <= max && max < 1e-5, `${mean} ${max}`);
        if (k % 2 === 1 || changes !== ends) continue;
        // A stop string is an end, not a cut, and not before the least length.
        assert.ok((line["completions/min_length"] as number) >= 3);
        assert.ok((line["completions/clipped_ratio"] as number) < 1);
      }
    });
  }
  // On-policy, every step compares the training pass with the sampler.
  for (const changes of [{}, { top_k: 5, repetition_penalty: 1.3 }]) {
    await withRun({ max_steps: 3, per_device_train_batch_size: 2, ...changes }, ({ train }) => {
      for (const [mean, max] of train.map(differences)) {
        assert.ok(0 < mean && mean <= max && max < 1e-5, `${mean} ${max}`);
      }
    });
  }
});

Deno.test("old log-probabilities of sampling save a pass and change little", async () => {
  const found: { loss: number; norm: number; compared: boolean }[][] = [];
  for (const use_rollout_log_probs of [false, true]) {
    await withRun({ max_steps: 4, num_iterations: 2, use_rollout_log_probs }, ({ train }) => {
      found.push(train.map((line) => ({
        loss: line["loss"] as number,
        norm: line["grad_norm"] as number,
        compared: `${DIFFERENCE}/mean` in line,
      })));
    });
  }
  const [passed, sampled] = found as [typeof found[0], typeof found[0]];
  // The pass for old log-probabilities is what the sampler is compared with.
  assert.deepEqual(passed.map(({ compared }) => compared), [true, false, true, false]);
  assert.ok(sampled.every(({ compared }) => !compared));
  assert.ok(passed[0]!.norm > 0.01, `${passed[0]!.norm}`);
  for (const [k, one] of sampled.entries()) {
    const other = passed[k]!;
    assert.ok(Math.abs(one.loss - other.loss) < 1e-6, `step ${k}: ${one.loss} ${other.loss}`);
    // Steps after the first begin from weights that differ by rounding.
    const near = (k === 0 ? 1e-6 : 1e-4) * other.norm;
    assert.ok(Math.abs(one.norm - other.norm) < near, `step ${k}: ${one.norm} ${other.norm}`);
  }
});

Deno.test("a step may take several generation batches; its records hold all of them", () =>
  withRun({ max_steps: 2, steps_per_generation: 1 }, async ({ path, train, state }) => {
    assert.ok(train.every((line) => "reward" in line));
    assert.equal((await completionsOf(path, 1)).length, 8);
    assert.equal((await state(2)).rng.counters.next_prompt, 4);
  }));

Deno.test("the default equals one generation batch for each step, to the bit", async () => {
  const losses: unknown[] = [];
  for (const changes of [{}, { steps_per_generation: 2 }, { generation_batch_size: 8 }]) {
    await withRun({ max_steps: 3, ...changes }, ({ train }) => {
      losses.push(train.map(({ loss, grad_norm, reward }) => [loss, grad_norm, reward]));
    });
  }
  assert.deepEqual(losses.slice(1), [losses[0], losses[0]]);
});

/** Groups whose first completion's first token is even have equal rewards. */
const HALF_FLAT = rubricOf(["half"], (samples) => {
  const flat = new Map<string, boolean>();
  for (const { prompt, completionIds } of samples) {
    if (!flat.has(prompt)) flat.set(prompt, completionIds[0]! % 2 === 0);
  }
  return samples.map(({ prompt, completionIds }) => [
    flat.get(prompt) ? 1 : completionIds.reduce((sum, id) => sum + id, 0),
  ]);
});

Deno.test("dynamic sampling replaces groups without a signal until the batch is full", () =>
  withRun(
    { max_steps: 4, dynamic_sampling: true, dynamic_sampling_max_batches: 20 },
    async ({ path, train, state }) => {
      let drawn = 0;
      for (const [k, line] of train.entries()) {
        const rows = await completionsOf(path, k + 1), groups = rows.length / 4;
        const isIn = (of: (row: Line, first: Line) => boolean) =>
          Array.from({ length: groups }, (_, g) => rows.slice(4 * g, 4 * g + 4) as Line[])
            .filter((group) => group.some((row) => of(row, group[0]!))).length;
        const taught = isIn((row, first) => row["half"] !== first["half"]);
        assert.equal(line["dynamic_sampling/kept_ratio"], taught / groups);
        // Two groups are trained on; the others have no advantage.
        assert.equal(isIn((row) => row["advantage"] !== 0), 2);
        assert.equal(line["frac_reward_zero_std"], (groups - taught) / groups);
        drawn += groups;
        assert.equal((await state(k + 1)).rng.counters.next_prompt, drawn);
      }
      assert.ok(drawn > 8, `${drawn} groups drawn: nothing was flat`);
    },
    HALF_FLAT,
  ));

Deno.test("dynamic sampling that finds too few groups trains on those, even on none", () =>
  withRun(
    { max_steps: 2, dynamic_sampling: true, dynamic_sampling_max_batches: 2 },
    async ({ train, path }) => {
      for (const line of train) {
        const { loss, grad_norm, reward, "dynamic_sampling/kept_ratio": kept } = line;
        assert.deepEqual([Math.abs(loss as number), grad_norm, reward, kept], [0, 0, 1, 0]);
      }
      assert.equal((await completionsOf(path, 1)).length, 16);
    },
    rubricOf(["flat"], (samples) => samples.map(() => [1])),
  ));

Deno.test("remax compares the completions of a prompt with its greedy one", () =>
  withRun({ max_steps: 1, advantage_estimator: "remax" }, async ({ path }) => {
    const rows = await completionsOf(path, 1);
    const rewardOf = (row: Record<string, unknown>) =>
      Number(row["letters"]) + 0.5 * Number(row["ending"] ?? 0);
    for (let begin = 0; begin < rows.length; begin += 4) {
      const group = rows.slice(begin, begin + 4);
      const baselines = group.map((row) => rewardOf(row) - Number(row["advantage"]));
      const mean = group.reduce((sum, row) => sum + rewardOf(row) / 4, 0);
      for (const baseline of baselines) assert.ok(Math.abs(baseline - baselines[0]!) < 1e-12);
      assert.ok(Math.abs(baselines[0]! - mean) > 1e-3, `${baselines[0]} is the group's mean`);
    }
  }));
