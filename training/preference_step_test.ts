/** Training on preferences: steps of TRL's DPOTrainer, whole runs, and rows that are refused. */
import assert from "node:assert/strict";
import { loadConfig } from "../configs/load.ts";
import type { DpoSection } from "../configs/schema/run_config.ts";
import { DPO } from "../configs/schema/data_keys.ts";
import { defaultsOf } from "../configs/types/key_spec.ts";
import { test } from "../core/testing.ts";
import { createDevice } from "../kernels/mod.ts";
import { ALONE } from "../cluster/ranks/ranks.ts";
import evaluated from "../tests/golden/trl-dpo/eval.json" with { type: "json" };
import recorded from "../tests/golden/trl-dpo/cases.json" with { type: "json" };
import { goldenPath } from "../tests/golden.ts";
import { assemble } from "./assemble.ts";
import { openRun } from "./open_run.ts";
import { runSizes } from "./run/run_sizes.ts";
import { evaluatePairs, preferenceStep } from "./preference_step.ts";
import { AdamW } from "./step/optimizer.ts";
import { GradientSum } from "./step/gradient_sum.ts";
import { stepWith, values } from "./step/optimizer_testing.ts";
import { adapterOffReference, frozenReference } from "./step/reference_policy.ts";
import { metricsWithoutClock, stopsAfter } from "./testing.ts";
import { storiesModel } from "./tiny_model_testing.ts";
import { GrpoTrainer } from "./trainer.ts";

const MODEL = goldenPath("models/tinystories-656k");
const ROWS = recorded.rows.map((row) => JSON.stringify(row)).join("\n");

/** A configuration on the recorded rows, and what of it is changed. */
async function configIn(folder: string, changes: Record<string, unknown> = {}) {
  await Deno.writeTextFile(`${folder}/pairs.jsonl`, ROWS);
  return await loadConfig({
    model_name_or_path: MODEL,
    dataset_name: `${folder}/pairs.jsonl`,
    output_dir: `${folder}/run`,
    per_device_train_batch_size: 2,
    gradient_accumulation_steps: 2,
    max_steps: 3,
    learning_rate: 3e-4,
    save_steps: 1,
    ...changes,
  }, { phases: "dpo" });
}

/** Runs to the end, or until `stopAfter` steps are done. */
async function run(
  { config, yaml }: Awaited<ReturnType<typeof configIn>>,
  options: { resume?: boolean; stopAfter?: number } = {},
): Promise<{ planned: number; measured: number }> {
  using device = await createDevice("wasm", { threads: 1 });
  const parts = await assemble(config, device, { phases: "sft" });
  const { resume = false, stopAfter = Infinity } = options;
  const trainer = new GrpoTrainer({
    config,
    configText: yaml,
    device,
    ...parts,
    phases: "sft",
    resume,
    ...stopsAfter(stopAfter),
  });
  const summary = await trainer.run();
  parts.model.dispose();
  // The device measures no checkpoint, which is on the host, and no packed operands.
  const { checkpoint, panels } = parts.memory.parts;
  return {
    planned: summary.memory_planned_bytes! - checkpoint - panels,
    measured: summary.peak_memory_bytes,
  };
}

Deno.test("a step on preferences is a step of TRL's DPOTrainer, with its metrics", async (t) => {
  const pairs = recorded.ids.map(({ prompt_ids, chosen_ids, rejected_ids }) => ({
    promptIds: prompt_ids,
    chosen: chosen_ids,
    rejected: rejected_ids,
  }));
  for (const [name, { settings, steps, moved }] of Object.entries(recorded.cases)) {
    await t.step(name, async () => {
      using device = await createDevice("wasm", { threads: 1 });
      const model = await storiesModel(device, name !== "adapter");
      const before = await values(model);
      const reference = await frozenReference(device, model, null);
      const optimizer = new AdamW(device, model, {
        adam_beta1: 0.9,
        adam_beta2: 0.999,
        adam_epsilon: 1e-8,
        weight_decay: 0,
        max_grad_norm: 1,
      });
      let tokens = 0;
      for (const [i, expected] of steps.entries()) {
        const result = await preferenceStep(model, pairs.slice(4 * i, 4 * i + 4), {
          seed: 1,
          firstPromptId: 4 * i,
          microBatchSize: 2,
          sum: new GradientSum(model),
          settings: { ...defaultsOf(DPO), ...settings } as DpoSection,
          reference,
        });
        const norm = await optimizer.gradNorm();
        tokens += result.tokens + result.contextTokens;
        const found: Record<string, number> = {
          ...result.metrics,
          loss: result.loss,
          entropy: result.entropy,
          grad_norm: norm,
          num_tokens: tokens,
          learning_rate: 3e-4,
        };
        for (const [key, value] of Object.entries(expected)) {
          const off = Math.abs(found[key]! - value) / Math.max(1, Math.abs(value));
          assert.ok(off < 3e-5, `step ${i + 1}: ${key} is ${found[key]}, not ${value}`);
        }
        await stepWith(optimizer, 3e-4);
      }
      const after = await values(model);
      for (const [theirs, { norm }] of Object.entries(moved)) {
        const ours = theirs.replace(".default", ""), was = before.get(ours)!;
        const moves = after.get(ours)!.map((value, i) => (value - was[i]!) ** 2);
        const own = Math.sqrt(moves.reduce((sum, square) => sum + square, 0));
        assert.ok(Math.abs(own - norm) < 2e-3 * norm, `${theirs} moved by ${own}, not ${norm}`);
      }
    });
  }
});

test.inFolder("held-out pairs are evaluated, and cut, as by TRL's DPOTrainer", async (folder) => {
  const { config } = await configIn(folder), { problems, prompts } = await openRun(config);
  const entries = recorded.rows.map((_, i) => problems.trainEntry(i));
  using device = await createDevice("wasm", { threads: 1 });
  const model = await storiesModel(device, false);
  for (const { max_length, lengths, metrics } of evaluated) {
    const pairs = prompts.pairs(entries, max_length);
    assert.equal(pairs.length, lengths.length, "pairs without room for an answer");
    const found = await evaluatePairs(model, pairs, {
      microBatchSize: 5,
      settings: defaultsOf(DPO),
      reference: adapterOffReference(model),
      ranks: ALONE,
    });
    // TRL's count of tokens and its epoch belong to training.
    assert.equal(Object.keys(found).length, Object.keys(metrics).length - 2);
    for (const [name, value] of Object.entries(metrics)) {
      const key = name.replace("eval_", "");
      if (key === "num_tokens" || key === "epoch") continue;
      const off = Math.abs(found[key]! - value) / Math.max(1, Math.abs(value));
      assert.ok(off < 3e-5, `max_length ${max_length}: ${key} is ${found[key]}, not ${value}`);
    }
  }
});

test.inFolder("a run evaluates held-out pairs before, while and after training", async (folder) => {
  const parts = await configIn(folder, {
    eval_dataset_name: `${folder}/pairs.jsonl`,
    eval: { num_examples: 12 },
    eval_strategy: "steps",
    eval_steps: 2,
    max_length: 14,
  });
  await run(parts);
  const lines = await metricsWithoutClock(`${folder}/run`, "eval");
  assert.deepEqual(lines.map(({ step }) => step), [0, 2, 3]);
  const margins = lines.map((line) => Number(line["eval_rewards/margins"]));
  assert.equal(margins[0], 0);
  assert.ok(margins[2]! > 0.05, String(margins));
  assert.ok(Number(lines[2]!["eval_loss"]) < Number(lines[0]!["eval_loss"]));
});

test.inFolder("texts without a prompt have what both begin with as their prompt", async (folder) => {
  const { config } = await configIn(folder);
  const row = { chosen: "Tom went to the park.", rejected: "Tom went away." };
  await Deno.writeTextFile(`${folder}/pairs.jsonl`, JSON.stringify(row));
  const { question, preference } = (await openRun(config)).problems.trainEntry(0);
  assert.equal(question, "Tom went");
  assert.deepEqual([preference!.chosen, preference!.rejected], [" to the park.", " away."]);
});

test.inFolder("a run on preferences that was stopped ends with the same bits", async (folder) => {
  const whole = await configIn(folder, { output_dir: `${folder}/whole` });
  await run(whole);
  const parts = await configIn(folder);
  await run(parts, { stopAfter: 1 });
  await run(parts, { resume: true });
  const bytes = (name: string) => Deno.readFile(`${folder}/${name}/model.safetensors`);
  assert.deepEqual(await bytes("run"), await bytes("whole"));
  // There is nothing left to do, which changes nothing.
  await run(parts, { resume: true });
  assert.deepEqual(await bytes("run"), await bytes("whole"));
  const lines = await metricsWithoutClock(`${folder}/run`);
  assert.deepEqual(lines, await metricsWithoutClock(`${folder}/whole`));
  const [first, , third] = lines;
  assert.ok(Math.abs(Number(first!.loss) - Math.LN2) < 1e-6);
  assert.ok(Number(third!["rewards/margins"]) > 0.1, "the margin has not grown");
  assert.equal(third!["split"], "train");
});

test.inFolder("the memory of a step on preferences is planned, with the reference's pass", async (folder) => {
  // The plan takes the longest pair for all of them.
  const rows = Array(12).fill(JSON.stringify(recorded.rows[0])).join("\n");
  await Deno.writeTextFile(`${folder}/equal.jsonl`, rows);
  const { planned, measured } = await run(
    await configIn(folder, {
      dataset_name: `${folder}/equal.jsonl`,
      max_steps: 1,
      per_device_train_batch_size: 12,
      gradient_accumulation_steps: 1,
    }),
  );
  const ratio = measured / planned;
  assert.ok(ratio > 0.9 && ratio < 1.01, `${measured} of ${planned} bytes`);
});

test.inFolder("epochs decide the steps of a run on preferences where max_steps does not", async (folder) => {
  const { config } = await configIn(folder, { max_steps: -1, num_train_epochs: 2.5 });
  // 12 rows are 3 steps of 4.
  assert.equal(runSizes(config, 12, "sft").warmStartSteps, 8);
  assert.throws(() => runSizes(config, 3, "sft"), /a step takes 4 pairs, the data has 3/);
});

test.inFolder("rgx dpo takes TRL's keys without a section, and names what it does not read", async (folder) => {
  const { config, notes } = await configIn(folder, {
    beta: 0.4,
    loss_type: "robust",
    label_smoothing: 0.1,
    num_generations: 4,
    rewards: ["correctness"],
  });
  assert.deepEqual(config.dpo, {
    beta: 0.4,
    loss_type: "robust",
    label_smoothing: 0.1,
    max_length: null,
    reference_free: false,
  });
  assert.deepEqual(notes.filter((note) => note.startsWith("rgx dpo")), [
    "rgx dpo does not read keys of GRPO: rewards, num_generations",
  ]);
});

test.inFolder("what has no effect on preferences is refused, and elsewhere noted", async (folder) => {
  await assert.rejects(
    configIn(folder, { dpo: { label_smoothing: 0.2 } }),
    /dpo\.label_smoothing: has no effect with loss_type sigmoid: robust reads it/,
  );
  const { config, notes } = await loadConfig({
    _base_: "rgx:experiments/quickstart.yaml",
    dpo: { beta: 0.2 },
  });
  assert.equal(config.dpo, null);
  assert.ok(notes.some((note) => /dpo: has no effect here/.test(note)), notes.join("\n"));
});

test.inFolder("rows without two different answers are refused with their line", async (folder) => {
  const refusals: [row: unknown, message: RegExp][] = [
    [{ prompt: "a", chosen: "b", rejected: "b" }, /pairs\.jsonl:2: chosen and rejected are equal/],
    [{ prompt: "a", chosen: "b", rejected: " " }, /pairs\.jsonl:2: rejected is empty/],
    [{ prompt: "a", chosen: "b" }, /row 2 of the data has no two answers/],
    [
      {
        prompt: "a",
        chosen: [{ role: "assistant", content: "" }],
        rejected: [{ role: "assistant", content: "b" }],
      },
      /pairs\.jsonl:2: chosen is empty/,
    ],
  ];
  const { config } = await configIn(folder);
  const [first] = ROWS.split("\n");
  for (const [row, message] of refusals) {
    await Deno.writeTextFile(`${folder}/pairs.jsonl`, `${first}\n${JSON.stringify(row)}\n`);
    await assert.rejects(openRun(config), message);
  }
});
