/**
 * Runs on several ranks, which here take turns within this process: they end with the bits of one
 * rank. tests/jobs/ranks_test.ts does the same with MPI and processes.
 */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { createDevice } from "../kernels/mod.ts";
import { RgxError } from "../core/errors.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { localTransports } from "../cluster/ranks/local_testing.ts";
import { RankFailed, Ranks } from "../cluster/ranks/ranks.ts";
import type { TrainSummary } from "./run/events.ts";
import type { TrainControl } from "./run/trainer_options.ts";
import type { TrainerOptions } from "./run/trainer_options.ts";
import {
  type ConfigChanges,
  metricsWithoutClock,
  shortRunConfig,
  trainOn,
  varying,
  VARYING_RUBRIC,
} from "./testing.ts";

/** Trains on `size` ranks; the end of each. */
function onRanks(
  size: number,
  dir: string,
  changes: ConfigChanges,
  options: (rank: number) => Partial<TrainerOptions> = () => ({}),
): Promise<PromiseSettledResult<TrainSummary>[]> {
  return Promise.allSettled(
    localTransports(size).map(async (transport) => {
      using device = await createDevice("wasm", { threads: 1 });
      const { summary } = await trainOn(device, shortRunConfig(dir, changes), {
        ...varying,
        ...(size === 1 ? {} : { ranks: new Ranks(transport) }),
        ...options(transport.rank),
      });
      return summary;
    }),
  );
}

async function completes(size: number, dir: string, changes: ConfigChanges): Promise<void> {
  for (const end of await onRanks(size, dir, changes)) {
    if (end.status === "rejected") throw end.reason;
    assert.equal(end.value.status, "completed");
  }
}

/** What two runs must have in common, byte for byte. */
async function resultOf(dir: string, weights = "model.safetensors") {
  return {
    model: await Deno.readFile(`${dir}/${weights}`),
    optimizer: await Deno.readFile(`${dir}/latest/optimizer.safetensors`),
    metrics: await metricsWithoutClock(dir),
    evaluation: await Deno.readTextFile(`${dir}/eval_after.jsonl`),
  };
}

const DIVIDED: ConfigChanges = {
  sft: { per_device_train_batch_size: 2, gradient_accumulation_steps: 3 },
  training: { gradient_accumulation_steps: 4 },
};

const SHARDED: ConfigChanges = { ...DIVIDED, training: { ...DIVIDED.training, zero: 1 } };

/** The micro-batches of a step, and what needs the rewards or tokens of all ranks. */
const VARIANTS: Record<string, ConfigChanges> = {
  "four micro-batches, three supervised ones": DIVIDED,
  "optimizer states divided over ranks": SHARDED,
  "gradients in bfloat16 on the wire": {
    ...DIVIDED,
    training: { ...DIVIDED.training, reduce_dtype: "bfloat16", zero: 1 },
  },
  "three micro-batches, statistics of the batch, a KL term": {
    training: {
      gradient_accumulation_steps: 3,
      scale_rewards: "batch",
      beta: 0.1,
      loss_type: "grpo",
    },
  },
  "dynamic sampling, top entropies, two iterations": {
    training: {
      gradient_accumulation_steps: 4,
      dynamic_sampling: true,
      dynamic_sampling_max_batches: 2,
      top_entropy_quantile: 0.5,
      num_iterations: 2,
      eval_strategy: "steps",
      eval_steps: 1,
      per_device_eval_batch_size: 4,
    },
  },
  "one micro-batch in bfloat16, which one rank computes": {
    training: {
      reduce_dtype: "bfloat16",
      per_device_train_batch_size: 16,
      gradient_accumulation_steps: 1,
    },
  },
};

for (const [name, changes] of Object.entries(VARIANTS)) {
  test.inFolder(`more ranks give the bits of one: ${name}`, async (dir) => {
    await completes(1, `${dir}/1`, changes);
    const alone = await resultOf(`${dir}/1`);
    for (const size of changes === DIVIDED ? [2, 3, 4] : [2, 3]) {
      await completes(size, `${dir}/${size}`, changes);
      assert.deepEqual(await resultOf(`${dir}/${size}`), alone, `${size} ranks`);
    }
  });
}

test.inFolder("2 ranks give the bits of one to adapters of each kind", async (dir) => {
  await completes(1, `${dir}/base`, { training: { max_steps: 1 } });
  const kinds: Record<string, Partial<NonNullable<RunConfig["lora"]>>> = {
    dora: { use_dora: true, bias: "all" },
    pissa: { init_lora_weights: "pissa", trainable_token_indices: [5, 17] },
    olora: { init_lora_weights: "olora", target_modules: ["q_proj", "down_proj"] },
    bias: { lora_bias: true },
    embedding: { target_modules: ["embed_tokens", "q_proj"] },
  };
  for (const [kind, lora] of Object.entries(kinds)) {
    const changes = {
      ...SHARDED,
      model: { init: null, model_name_or_path: `${dir}/base` },
      lora: { r: 2, lora_alpha: 4, ...lora },
    };
    const weights = "adapter_model.safetensors";
    for (const size of [1, 2]) await completes(size, `${dir}/${kind}${size}`, changes);
    const one = await resultOf(`${dir}/${kind}1`, weights);
    assert.deepEqual(await resultOf(`${dir}/${kind}2`, weights), one, kind);
  }
});

test.inFolder("reduction: fast trains on ranks, and is close to one rank", async (dir) => {
  const run = async (name: string, size: number, keys: ConfigChanges["training"]) => {
    const training = { gradient_accumulation_steps: 4, reduction: "fast", ...keys } as const;
    await completes(size, `${dir}/${name}`, { training });
    return await resultOf(`${dir}/${name}`);
  };
  const norms = ({ metrics }: Awaited<ReturnType<typeof resultOf>>) =>
    metrics.flatMap(({ grad_norm }) => grad_norm as number ?? []);
  const one = await run("1", 1, {}), two = await run("2", 2, {});
  const halves = await run("halves", 2, { reduce_dtype: "bfloat16" });
  assert.equal(norms(one).length, norms(two).length);
  for (const [i, norm] of norms(one).entries()) {
    assert.ok(Math.abs(norm - norms(two)[i]!) < 1e-3 * norm);
    assert.notEqual(norms(halves)[i], norm);
    assert.ok(Math.abs(norm - norms(halves)[i]!) < 1e-2 * norm);
  }
  assert.deepEqual(await run("zero", 2, { zero: 1 }), two);
  assert.deepEqual(await run("both", 2, { zero: 1, reduce_dtype: "bfloat16" }), halves);
});

/** Asks to stop after `calls` questions, and counts them. */
function stopsAfter(calls: number): TrainControl & { asked: number } {
  return {
    asked: 0,
    stopRequested() {
      return ++this.asked > calls ? "save" : "no";
    },
    reason: "a test",
  };
}

test.inFolder("a stop of one rank stops all; another number of ranks goes on to the same bits", async (dir) => {
  const changes = SHARDED, never = stopsAfter(Infinity);
  const onRank1 = (control: TrainControl) => (rank: number) => rank === 1 ? { control } : {};
  await onRanks(3, `${dir}/whole`, changes, onRank1(never));
  const whole = await resultOf(`${dir}/whole`);
  for (const [share, after] of [[0.2, 4], [0.7, 1]] as const) {
    const path = `${dir}/${share}`;
    const control = stopsAfter(Math.floor(never.asked * share));
    for (const end of await onRanks(3, path, changes, onRank1(control))) {
      assert.ok(end.status === "fulfilled", String((end as PromiseRejectedResult).reason));
      assert.equal(end.value.status, "stopped");
    }
    for (const end of await onRanks(after, path, changes, () => ({ resume: true }))) {
      assert.equal(end.status, "fulfilled", String((end as PromiseRejectedResult).reason));
    }
    const { model, optimizer, evaluation } = await resultOf(path);
    assert.deepEqual(model, whole.model, `stopped after ${share} of the run`);
    assert.deepEqual(optimizer, whole.optimizer);
    assert.equal(evaluation, whole.evaluation);
  }
});

const reasons = (ends: PromiseSettledResult<unknown>[]) =>
  ends.map((end) => (end as PromiseRejectedResult).reason);

test.inFolder("a folder that holds another run is refused on all ranks", async (dir) => {
  await Deno.writeTextFile(`${dir}/notes.txt`, "mine");
  const [first, second] = reasons(
    await onRanks(2, dir, DIVIDED),
  );
  assert.match(first.message, /output_dir is not empty/);
  assert.ok(second instanceof RankFailed);
  assert.equal(second.exitCode, 2);
});

/** How ranks differ, by their number, and the message of each. */
const DIFFERENT: Record<string, [(dir: string, rank: number) => Partial<TrainerOptions>, RegExp]> =
  {
    "optimizers, though they have the same gradients": [
      (dir, rank) => ({
        config: shortRunConfig(dir, {
          ...DIVIDED,
          training: { ...DIVIDED.training, adam_epsilon: rank === 0 ? 1e-8 : 1e-3 },
        }),
        configText: "the same",
      }),
      /ranks do not have the same weights after step 1: rank 0 has/,
    ],
    "problems": [
      (_, rank) => rank === 0 ? {} : { trainProblems: 40 },
      /ranks do not have the same data: rank 0 has .* rank 1 has/,
    ],
    "configurations, whose keys are named": [
      (_, rank) => ({
        configText: `{ training: { seed: ${rank === 2 ? 2 : 1} }${
          rank === 2 ? ", sft: null" : ""
        } }`,
      }),
      /^the ranks do not have the same configuration: rank 0 has training\.seed=1 sft=not set, rank 2 has training\.seed=2 sft=null$/,
    ],
  };

for (const [what, [differing, message]] of Object.entries(DIFFERENT)) {
  test.inFolder(`ranks are told that they have different ${what}`, async (dir) => {
    const ends = await onRanks(3, `${dir}/run`, DIVIDED, (rank) => differing(`${dir}/run`, rank));
    for (const reason of reasons(ends)) assert.match(reason.message, message);
    const isBegun = await Deno.stat(`${dir}/run`).then(() => true, () => false);
    assert.equal(isBegun, what.startsWith("optimizers"));
  });
}

test.inFolder("a rank that loses its device ends all with its exit code, and the run can go on", async (dir) => {
  const changes = DIVIDED;
  await completes(1, `${dir}/whole`, changes);
  let batches = 0;
  const ends = await onRanks(2, `${dir}/run`, changes, (rank) =>
    rank === 0 ? {} : {
      rubric: {
        ...VARYING_RUBRIC,
        score(samples) {
          if (++batches === 2) throw new RgxError("the device is lost", { exitCode: 75 });
          return VARYING_RUBRIC.score(samples);
        },
      },
    });
  const [first, second] = reasons(ends);
  assert.equal(second.message, "the device is lost");
  assert.ok(first instanceof RankFailed);
  assert.equal(first.message, "rank 1: the device is lost");
  assert.equal(first.exitCode, 75);
  const run = JSON.parse(await Deno.readTextFile(`${dir}/run/run.json`));
  assert.deepEqual([run.status, run.error], ["failed", "rank 1: the device is lost"]);
  await onRanks(3, `${dir}/run`, changes, () => ({ resume: true }));
  assert.deepEqual((await resultOf(`${dir}/run`)).model, (await resultOf(`${dir}/whole`)).model);
});

test.inFolder("ranks that have nothing to do in the passes are told how to divide them", async (dir) => {
  const warnings: string[] = [];
  await onRanks(
    2,
    dir,
    VARIANTS["one micro-batch in bfloat16, which one rank computes"]!,
    (rank) =>
      rank === 0
        ? { listeners: [(event) => event.type === "warning" && warnings.push(event.message)] }
        : {},
  );
  const said = /a step has 1 micro-batch for 2 ranks, .* busy 50 %.* training\.gradient_accumul/;
  assert.match(warnings.join(), said);
  assert.match(warnings.join(), /a supervised step has 1 micro-batch for 2 ranks, .* make sft\./);
});
