/**
 * A whole run: its files, events and numbers, and how it ends when something fails.
 */
import assert from "node:assert/strict";
import { RgxError, UsageError } from "../core/errors.ts";
import { namesIn, refusal } from "../core/testing.ts";
import { EVAL_PROMPT_ID } from "../data/held_out.ts";
import { readModelFolder } from "../models/model_folder.ts";
import type { Rubric } from "../rewards/rubric.ts";
import { assemble } from "./assemble.ts";
import {
  completionsOf,
  type ConfigChanges,
  metricsOf,
  metricsWithoutClock,
  rubricOf,
  shortRunConfig,
  test,
  trainOn,
  varying,
  VARYING_RUBRIC,
  weightsOf,
} from "./testing.ts";
import { GrpoTrainer } from "./trainer.ts";

const METRICS = [
  ..."loss grad_norm learning_rate num_tokens step_time reward reward_std entropy".split(" "),
  "frac_reward_zero_std",
  ...["mean", "min", "max", "mean_terminated", "min_terminated", "max_terminated"]
    .map((what) => `completions/${what}_length`),
  "completions/clipped_ratio",
  ...["letters/mean", "letters/std", "ending/mean", "ending/std"].map((what) => `rewards/${what}`),
  ...["low_mean", "low_min", "high_mean", "high_max", "region_mean"]
    .map((what) => `clip_ratio/${what}`),
];
const COLUMNS = "step prompt expected completion letters ending advantage entry completion_ids " +
  "truncated";

test.onReference("a run writes the documented files, lines, completions and events", async ({ device, dir }) => {
  const { summary, events } = await trainOn(device, shortRunConfig(`${dir}/run`), varying);
  assert.deepEqual(namesIn(`${dir}/run`), [
    "README.md",
    "checkpoint-2",
    "completions",
    "config.json",
    "config.yaml",
    "eval_after.jsonl",
    "eval_before.jsonl",
    "generation_config.json",
    "latest",
    "metrics.jsonl",
    "model.safetensors",
    "run.json",
    "run.log",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "trainer_state.json",
    "warm-start",
  ]);
  assert.equal(await Deno.readLink(`${dir}/run/latest`), "checkpoint-2");
  // The final model can be opened like any other model.
  assert.equal((await readModelFolder(`${dir}/run`)).config.numLayers, 2);

  // deno-lint-ignore no-explicit-any -- lines of JSON
  const lines: any[] = await metricsOf(`${dir}/run`);
  const written = ["sft 1", "eval 0", "train 1", "train 2", "eval 2", "final 2"];
  assert.deepEqual(lines.map(({ split, step }) => `${split} ${step}`), written);
  for (const line of lines) {
    assert.deepEqual(Object.keys(line).slice(0, 4), ["step", "epoch", "time", "split"]);
  }
  for (const name of METRICS) assert.ok(name in lines[2], name);
  assert.ok(lines[2].grad_norm > 0);
  // On-policy, the ratio is 1: nothing is clipped.
  assert.equal(lines[2]["clip_ratio/region_mean"], 0);
  assert.ok(Math.abs(lines[5].train_loss - (lines[2].loss + lines[3].loss) / 2) < 1e-15);
  assert.ok(lines[5].train_runtime > 0);

  const rows = await completionsOf(`${dir}/run`, 2);
  assert.equal(rows.length, 8);
  assert.deepEqual(Object.keys(rows[0]!), COLUMNS.split(" "));
  assert.ok(rows.every((row) => row["step"] === 2 && typeof row["prompt"] === "string"));
  assert.equal(rows[0]!["prompt"], rows[3]!["prompt"]);
  assert.notEqual(rows[0]!["prompt"], rows[4]!["prompt"]);
  assert.ok(rows.some((row) => row["ending"] === null), "a reward that does not apply stays null");

  const state = JSON.parse(await Deno.readTextFile(`${dir}/run/trainer_state.json`));
  assert.equal(state.global_step, 2);
  assert.deepEqual(state.log_history.map((entry: { step: number }) => entry.step), [0, 2, 2]);
  assert.equal(state.log_history[1].num_tokens, lines[3].num_tokens);

  const { eval_before, eval_after, tokens_generated: generated } = summary;
  assert.deepEqual([summary.status, summary.steps, summary.item_overlap], ["completed", 2, 0]);
  assert.equal(summary.checkpoint, `${dir}/run/checkpoint-2`);
  assert.deepEqual([eval_before!.total, eval_after!.greedy.total], [3, 3]);
  assert.ok(generated > 0 && summary.peak_memory_bytes > 0 && summary.tokens_trained > generated);

  const phases = events.flatMap((event) => event.type === "phase" ? [event.phase] : []);
  assert.deepEqual(phases, ["warm_start", "eval_before", "grpo", "eval_after", "finish"]);
  assert.deepEqual([events[0]!.type, events.at(-1)!.type], ["plan", "done"]);
  const sample = events.find((event) => event.type === "sample")!;
  assert.equal(sample.completions.length, 4);
  const sum = sample.completions.reduce((total, { advantage }) => total + advantage, 0);
  assert.ok(Math.abs(sum) < 1e-9, "the advantages of a group add up to 0");
});

test.onReference("learning rate 0 leaves the accuracies before and after exactly equal", async ({ device, dir }) => {
  const { summary } = await trainOn(
    device,
    shortRunConfig(`${dir}/run`, { training: { learning_rate: 0, weight_decay: 0 } }),
    varying,
  );
  assert.deepEqual(summary.eval_after, summary.eval_before);
});

test.onReference("a reward that fails in three whole steps ends the run, saved", async ({ device, dir }) => {
  const path = `${dir}/run`, rubric = rubricOf(["broken"], () => []), warnings: string[] = [];
  rubric.score = async (samples) => ({
    ...await VARYING_RUBRIC.score([]),
    values: samples.map(() => [0]),
    errors: samples.map(({ completion }, row) => ({
      name: "broken",
      message: "oh",
      completion,
      row,
    })),
  });
  await assert.rejects(
    trainOn(device, shortRunConfig(path, { training: { max_steps: 9, save_steps: 100 } }), {
      rubric,
      listeners: [(event) => {
        if (event.type === "warning") warnings.push(event.message);
      }],
    }),
    (error: unknown) => error instanceof RgxError && error.message.includes("broken"),
  );
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /reward broken failed.*oh.*completion/);
  assert.ok((await Deno.stat(`${path}/checkpoint-3`)).isDirectory);
  const lines = await metricsWithoutClock(path);
  assert.equal(lines.at(-1)!["rewards/broken/errors"], 8);
  assert.equal(JSON.parse(await Deno.readTextFile(`${path}/run.json`)).status, "failed");
});

test.onReference("a run that fails keeps its whole steps, and goes on to the same bits", async ({ device, dir }) => {
  const config = (name: string) =>
    shortRunConfig(`${dir}/${name}`, { training: { max_steps: 4, save_strategy: "no" } });
  await trainOn(device, config("whole"), varying);
  const failing: Rubric = {
    ...VARYING_RUBRIC,
    score: (samples) =>
      samples[0]?.step === 3
        ? Promise.reject(new Error("out of luck"))
        : VARYING_RUBRIC.score(samples),
  };
  await assert.rejects(trainOn(device, config("run"), { rubric: failing }), /out of luck/);
  assert.equal((await metricsWithoutClock(`${dir}/run`, "train")).length, 2);
  const { events } = await trainOn(device, config("run"), { ...varying, resume: true });
  assert.deepEqual(
    events.flatMap((event) => event.type === "step" && event.phase === "grpo" ? event.step : []),
    [3, 4],
  );
  const outcome = async (name: string) => [
    await metricsWithoutClock(`${dir}/${name}`),
    await weightsOf(`${dir}/${name}`),
  ];
  assert.deepEqual(await outcome("run"), await outcome("whole"));
});

test.onReference("impossible sizes and long prompts are refused before anything is written", async ({ device, dir }) => {
  const cases: [ConfigChanges, RegExp][] = [
    [{ training: { num_generations: 3 } }, /num_generations = 3 does not divide/],
    [{ data: { num_examples: 1 } }, /GRPO: a step takes 2 different problems/],
    [{ data: { num_examples: 3 } }, /warm start: a step takes 4 different problems/],
    [{ training: { max_prompt_length: 24 } }, /max_prompt_length: \d+ of 53 prompts.*longest/],
  ];
  for (const [changes, message] of cases) {
    await assert.rejects(
      trainOn(device, shortRunConfig(`${dir}/run`, changes), varying),
      refusal(message, UsageError),
    );
    await assert.rejects(Deno.stat(`${dir}/run`), Deno.errors.NotFound);
  }
});

test.onReference("any row of a file that is too long is refused before the run", async ({ device, dir }) => {
  const rows = Array.from({ length: 300 }, (_, i) => ({ question: `Say ${i}`, answer: `${i}` }));
  rows.push({ question: "long ".repeat(30), answer: "1" });
  const path = `${dir}/rows.jsonl`;
  await Deno.writeTextFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
  const data = { task_name: null, task_config: {}, dataset_name: path, num_examples: 500 };
  await assert.rejects(
    trainOn(device, shortRunConfig(`${dir}/run`, { data }), varying),
    (error: unknown) =>
      error instanceof UsageError &&
      /rows\.jsonl: its longest prompt has 150 tokens, .* model's 128$/.test(error.message) &&
      /truncate_prompts=left/.test(error.advice!),
  );
  await assert.rejects(Deno.stat(`${dir}/run`), Deno.errors.NotFound);
  const training = { max_prompt_length: 100, truncate_prompts: "left" as const };
  const { summary } = await trainOn(
    device,
    shortRunConfig(`${dir}/run`, { data, training }),
    varying,
  );
  assert.equal(summary.status, "completed");
});

test.onReference("a step with a non-finite gradient is skipped, counted and reported", async ({ device, dir }) => {
  const config = shortRunConfig(`${dir}/run`, {
    sft: null,
    eval: { num_examples: 0 },
    training: { max_steps: 3, loss_type: "cispo", epsilon_high: 5 },
  });
  const { model, ...parts } = await assemble(config, device);
  const { backward, forward } = Object.getPrototypeOf(model);
  let calls = 0, passes = 0;
  // The gradient of the second micro-batch of the run is NaN, and the loss of the sixth.
  model.backward = function (dlogp: Float64Array, dentropy?: Float64Array) {
    backward.call(this, ++calls === 2 ? dlogp.map(() => NaN) : dlogp, dentropy);
  };
  model.forward = async function (...given) {
    const result = await forward.apply(this, given);
    return given[1].train && ++passes === 6 ? { ...result, logp: result.logp.fill(NaN) } : result;
  };
  const warnings: string[] = [];
  const summary = await new GrpoTrainer({
    config,
    configText: "",
    device,
    model,
    ...parts,
    ...varying,
    listeners: [(event) => {
      if (event.type === "warning") warnings.push(event.message);
    }],
  }).run();
  assert.equal(summary.skipped_steps, 1);
  assert.equal(summary.status, "completed");
  assert.ok(warnings.some((message) => message.includes("not finite")));
  const lines = await metricsWithoutClock(`${dir}/run`);
  assert.equal(lines[0]!.grad_norm, null);
  assert.ok(Number(lines[1]!.grad_norm) > 0);
  assert.equal(lines[2]!.loss, null);
  assert.ok(Number.isFinite(lines.at(-1)!.train_loss));
  model.dispose();
});

test.onReference("evaluation and training never share random numbers", async ({ device, dir }) => {
  const config = shortRunConfig(`${dir}/run`);
  const { model, ...parts } = await assemble(config, device);
  const original = model.generate.bind(model), asked: number[] = [];
  model.generate = (requests, options) => {
    asked.push(...requests.map((request) => request.promptId));
    return original(requests, options);
  };
  await new GrpoTrainer({ config, configText: "", device, model, ...parts, ...varying }).run();
  // Three held-out problems, sampled and greedy, before and after; two prompts in each of two
  // steps.
  const held = [0, 1, 2].map((i) => EVAL_PROMPT_ID + i);
  assert.deepEqual(asked, [...held, ...held, 0, 1, 2, 3, ...held, ...held]);
  model.dispose();
});
