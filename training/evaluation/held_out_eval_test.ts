/**
 * Evaluation while training, and what depends on it: the best checkpoint, when a run saves, the
 * final model.
 */
import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import {
  type ConfigChanges,
  type Line,
  metricsOf,
  test,
  tinyRunConfig,
  trainOn,
  varying,
  VARYING_RUBRIC,
  warningsOf,
  weightsOf,
} from "../testing.ts";

const config = (path: string, training: ConfigChanges["training"], rest: ConfigChanges = {}) =>
  tinyRunConfig(path, {
    sft: null,
    eval: { num_examples: 5 },
    ...rest,
    training: { learning_rate: 1e-2, ...training },
  });

/** Metrics of the evaluations while training; those before and after training have other names. */
async function evaluations(path: string): Promise<Line[]> {
  return (await metricsOf(path)).filter((line) => line.split === "eval" && "eval_loss" in line);
}

const checkpoints = (path: string) =>
  Array.from(Deno.readDirSync(path), ({ name }) => name)
    .filter((name) => name.startsWith("checkpoint-"))
    .sort().join(" ");

test.onWasm("held-out problems are evaluated at the configured steps, with TRL's names", async ({ device, dir }) => {
  const path = `${dir}/run`;
  const { events } = await trainOn(
    device,
    config(path, {
      max_steps: 4,
      eval_strategy: "steps",
      eval_steps: 2,
      eval_on_start: true,
      num_generations_eval: 2,
      per_device_eval_batch_size: 4,
      beta: 0.01,
    }),
    varying,
  );
  const lines = await evaluations(path);
  assert.deepEqual(lines.map(({ step }) => step), [0, 2, 4]);
  for (
    const name of [
      "eval_loss",
      "eval_accuracy",
      "eval_ci95",
      "eval_total",
      "eval_reward",
      "eval_reward_std",
      "eval_frac_reward_zero_std",
      "eval_rewards/letters/mean",
      "eval_rewards/letters/std",
      "eval_completions/mean_length",
      "eval_completions/clipped_ratio",
      "eval_entropy",
      "eval_kl",
      "eval_clip_ratio/region_mean",
      "eval_runtime",
      "eval_samples_per_second",
      "eval_steps_per_second",
    ]
  ) assert.ok(name in lines[0]!, name);
  assert.equal(lines[0]!.eval_total, 5);
  assert.ok(Math.abs(lines[0]!.eval_kl as number) < 1e-6);
  assert.ok(lines[2]!.eval_kl as number > 1e-6);
  const shown = events.filter((event) => event.type === "held_out");
  assert.deepEqual(shown.map(({ step }) => step), [0, 2, 4]);
  const state = JSON.parse(await Deno.readTextFile(`${path}/trainer_state.json`));
  assert.equal(state.eval_steps, 2);
  assert.ok(state.log_history.some((entry: Line) => "eval_reward" in entry));
});

test.onWasm("a completion that a stop string ends is not truncated in an evaluation", async ({ device, dir }) => {
  const stop = [..."abcdefghijklmnopqrstuvwxyz"], path = `${dir}/run`;
  const sizes = { max_steps: 1, max_completion_length: 40 };
  await trainOn(device, config(path, { ...sizes, stop, eval_on_start: true }));
  const [line] = await evaluations(path);
  assert.ok(line!["eval_completions/mean_length"] as number > 0);
  assert.equal(line!["eval_completions/clipped_ratio"], 0);
});

test.onWasm("an evaluation does not change the training", async ({ device, dir }) => {
  const weights: Uint8Array[] = [];
  for (const [name, eval_strategy] of [["with", "steps"], ["without", "no"]] as const) {
    const training = { max_steps: 3, eval_strategy, eval_steps: 1 };
    await trainOn(device, config(`${dir}/${name}`, training), varying);
    weights.push(await weightsOf(`${dir}/${name}`));
  }
  assert.deepEqual(weights[0], weights[1]);
});

test.onWasm("the best checkpoint is linked, kept, and the result of the run", async ({ device, dir }) => {
  for (const greater_is_better of [true, false]) {
    const path = `${dir}/${greater_is_better}`;
    const { summary, events } = await trainOn(
      device,
      config(path, {
        max_steps: 4,
        eval_strategy: "steps",
        eval_steps: 1,
        save_steps: 1,
        save_total_limit: 1,
        load_best_model_at_end: true,
        metric_for_best_model: "completions/mean_length",
        greater_is_better,
      }),
      varying,
    );
    const lines = await evaluations(path);
    const values = lines.map((line) => line["eval_completions/mean_length"] as number);
    const best = greater_is_better ? Math.max(...values) : Math.min(...values);
    const step = lines[values.indexOf(best)]!.step;
    assert.equal(await Deno.readLink(`${path}/best`), `checkpoint-${step}`);
    assert.equal(
      checkpoints(path),
      step === 4 ? "checkpoint-4" : `checkpoint-${step} checkpoint-4`,
    );
    const state = JSON.parse(await Deno.readTextFile(`${path}/trainer_state.json`));
    assert.equal(state.best_global_step, step);
    assert.equal(state.best_metric, best);
    assert.equal(summary.checkpoint, `${path}/checkpoint-${step}`);
    assert.deepEqual(
      events.filter(({ type }) => type === "best_loaded"),
      [{ type: "best_loaded", path: summary.checkpoint, step, metric: best }],
    );
    assert.equal(state.best_model_checkpoint, `${path}/checkpoint-${step}`);
    assert.deepEqual(await weightsOf(path), await weightsOf(`${path}/best`));
  }
});

test.onWasm("a run may save no checkpoint, or models alone", async ({ device, dir }) => {
  const run = async (name: string, training: ConfigChanges["training"]) => {
    const path = `${dir}/${name}`;
    const { summary } = await trainOn(device, config(path, { max_steps: 4, ...training }), varying);
    return { path, summary };
  };
  const none = await run("no", { save_strategy: "no" });
  assert.deepEqual([checkpoints(none.path), none.summary.checkpoint], ["", null]);
  const small = await run("small", { save_steps: 2, save_only_model: true });
  const files = Array.from(Deno.readDirSync(`${small.path}/checkpoint-2`), ({ name }) => name);
  assert.ok(files.includes("model.safetensors") && !files.includes("optimizer.safetensors"));
  // A stopped run saves everything that a resume needs.
  const stopped = `${dir}/stopped`;
  let asked = 0;
  await trainOn(device, config(stopped, { save_steps: 2, save_only_model: true }), {
    ...varying,
    control: { stopRequested: () => ++asked > 1500 ? "save" : "no" },
  });
  const last = `${stopped}/${await Deno.readLink(`${stopped}/latest`)}`;
  assert.ok(await Deno.stat(`${last}/optimizer.safetensors`));
});

test.onWasm("a run that resumes from a model alone says what is missing", async ({ device, dir }) => {
  const training = { save_steps: 1, save_only_model: true, num_iterations: 2 };
  await trainOn(device, config(`${dir}/run`, { ...training, max_steps: 3 }), varying);
  const { summary, events } = await trainOn(
    device,
    config(`${dir}/run`, { ...training, max_steps: 4 }),
    { ...varying, resume: true },
  );
  assert.equal(summary.status, "completed");
  const warnings = events.filter((event) => event.type === "warning").map((e) => e.message);
  assert.ok(warnings.some((text) => text.includes("optimizer starts fresh")), warnings.join());
  assert.ok(warnings.some((text) => text.includes("holds no generation batch")), warnings.join());
  // The reference cannot be reconstructed.
  const beta = { ...training, beta: 0.1 };
  await trainOn(device, config(`${dir}/kl`, { ...beta, max_steps: 2 }), varying);
  await assert.rejects(
    trainOn(device, config(`${dir}/kl`, { ...beta, max_steps: 4 }), {
      ...varying,
      resume: true,
    }),
    /cannot go on without reference\.safetensors/,
  );
});

test.onWasm("an unknown metric is refused at the first evaluation, with the known ones", async ({ device, dir }) => {
  const training = {
    eval_strategy: "steps",
    eval_on_start: true,
    load_best_model_at_end: true,
    metric_for_best_model: "beauty",
  } as const;
  await assert.rejects(
    trainOn(device, config(`${dir}/run`, training), varying),
    (error) => error instanceof UsageError && /eval_reward/.test(error.advice ?? ""),
  );
});

test.onWasm("resume_from_checkpoint takes true and a path", async ({ device, dir }) => {
  const path = `${dir}/run`, rubric = VARYING_RUBRIC;
  await trainOn(device, config(path, { max_steps: 2 }), { rubric });
  const { summary } = await trainOn(
    device,
    config(path, { max_steps: 4, resume_from_checkpoint: true }),
    { rubric },
  );
  assert.equal(summary.steps, 4);
  const { events } = await trainOn(
    device,
    config(`${dir}/other`, { max_steps: 3, resume_from_checkpoint: `${path}/checkpoint-2` }),
    { rubric },
  );
  const plan = events.find((event) => event.type === "plan")!;
  assert.equal(plan.plan.stepsDone, 2);
});

test.onWasm("problems of a file are measured by the run's rewards, and shown", async ({ device, dir }) => {
  const run = async (name: string, row: (i: number) => object) => {
    const data = `${dir}/${name}.jsonl`, path = `${dir}/${name}`;
    const rows = Array.from({ length: 40 }, (_, i) => JSON.stringify(row(i)));
    await Deno.writeTextFile(data, rows.join("\n"));
    const { events, summary } = await trainOn(
      device,
      config(path, { max_steps: 1 }, {
        data: { task_name: null, task_config: {}, dataset_name: data, add_instructions: false },
      }),
      varying,
    );
    const warnings = warningsOf({ events });
    const lines = (await Deno.readTextFile(`${path}/eval_after.jsonl`)).trimEnd().split("\n");
    return { after: summary.eval_after!, warnings, lines: lines.map((line) => JSON.parse(line)) };
  };
  const open = await run("open", (i) => ({ prompt: `Write ${i}` }));
  assert.equal(open.after.total, 0);
  const { letters } = open.after.rewards!;
  assert.equal(letters!.total, 5);
  assert.ok(letters!.ci95[0] <= letters!.mean && letters!.mean <= letters!.ci95[1]);
  const sampled = open.lines.filter(({ temperature }) => temperature !== 0);
  const values = sampled.map(({ rewards }) => rewards.letters as number);
  assert.equal(letters!.mean, values.reduce((a, b) => a + b) / 5);
  assert.deepEqual(open.warnings.filter((message) => /extracted/.test(message)), []);
  // The questions ask for tags, which this model does not write.
  const tagged = await run("tagged", (i) => ({ question: `<answer> of ${i}?`, answer: `${i}` }));
  assert.equal(tagged.after.total, 5);
  assert.match(
    tagged.warnings.join("\n"),
    /any of the 10 completions.*data\.add_instructions=true/,
  );
});
