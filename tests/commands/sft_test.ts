/**
 * `rgx sft`: what a run writes, continuing after a stop, continuing with GRPO, and what is refused.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import {
  assertClean,
  comparableMetrics,
  type Line,
  lines,
  namesIn,
  readMetrics,
  refuses,
  rgx,
  succeeds,
  tinyConfig,
} from "../support.ts";

const FAST = ["training.save_steps=10", "--quiet"];

/** trainer_state.json without the clock. */
async function trainerState(run: string) {
  const state = JSON.parse(await Deno.readTextFile(`${run}/trainer_state.json`));
  for (const entry of state.log_history) delete entry.step_time;
  return state;
}

const weights = (run: string) => Deno.readFile(`${run}/model.safetensors`);

test.inFolder("rgx sft trains on worked answers between two evaluations and writes a model", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const done = await succeeds(argv`sft ${config} --output-dir ${run} --json`);
  assert.match(done.err, /evaluation on 8 held-out problems, 8 supervised steps, the same/);
  assert.match(done.err, /rgx train .*config\.yaml --resume/);
  const summary = JSON.parse(lines(done.out).at(-1)!);
  const { status, steps, tokens_generated, eval_before, eval_after, checkpoint } = summary;
  assert.deepEqual([status, steps, tokens_generated], ["completed", 8, 0]);
  assert.deepEqual([eval_before.total, eval_after.total], [8, 8]);
  assert.match(checkpoint, /warm-start\/checkpoint-8$/);
  const metrics = await readMetrics(run), eight = Array.from({ length: 8 }, (_, i) => i + 1);
  assert.deepEqual(
    metrics.map(({ split, step }) => [split, step]),
    [["eval", 0], ...eight.map((step) => ["sft", step]), ["eval", 8], ["final", 8]],
  );
  const losses = metrics.filter(({ split }) => split === "sft").map(({ loss }) => loss as number);
  assert.ok(losses.at(-1)! < losses[0]!);
  const mean = losses.reduce((a, b) => a + b) / 8;
  assert.ok(Math.abs((metrics.at(-1)!["train_loss"] as number) - mean) < 1e-9);
  const state = JSON.parse(await Deno.readTextFile(`${run}/trainer_state.json`));
  const { global_step, max_steps, epoch, train_batch_size, num_input_tokens_seen } = state;
  assert.deepEqual([global_step, max_steps, epoch, train_batch_size], [8, 8, 8 / 4, 16]);
  assert.equal(num_input_tokens_seen, metrics.at(-3)!["num_tokens"]);
  assert.deepEqual(state.log_history.map(({ step }: Line) => step), [0, ...eight, 8]);
  const files = namesIn(run);
  for (const name of ["model.safetensors", "config.json", "tokenizer.json", "config.yaml"]) {
    assert.ok(files.includes(name), name);
  }
});

test.inFolder("rgx train continues after rgx sft as if it had done both; the reverse is refused", async (folder) => {
  const config = await tinyConfig(folder), both = `${folder}/both`, one = `${folder}/one`;
  const run = async (...args: string[]) => {
    await succeeds([args[0]!, config, ...FAST, "--output-dir", ...args.slice(1)]);
  };
  await run("sft", both);
  await run("train", both, "--resume");
  await run("train", one);
  assert.deepEqual(await trainerState(both), await trainerState(one));
  assert.deepEqual(await weights(both), await weights(one));
  const linesOf = async (folder: string, split: string) =>
    (await comparableMetrics(folder)).filter((line) => line.includes(`"split":"${split}"`));
  for (const split of ["sft", "train", "final"]) {
    assert.deepEqual(await linesOf(both, split), await linesOf(one, split), split);
  }
  const back = argv`sft ${config} ${FAST} --output-dir ${both} --resume`;
  await refuses([[back, "GRPO has begun (step 4): its supervised part is over"]]);
});

test.inFolder("rgx sft accepts sizes that only GRPO refuses", async (folder) => {
  const config = await tinyConfig(folder), output = ["--output-dir", `${folder}/run`];
  // 6 does not divide 16, and 4096 steps per generation need more problems than there are.
  const sizes = ["training.num_generations=6", "training.steps_per_generation=4096"];
  await succeeds(argv`sft ${config} ${sizes} sft.max_steps=2 ${FAST} ${output}`);
  for (const size of sizes) {
    const refused = await rgx(["train", config, size, ...FAST, ...output, "--resume"]);
    assert.notEqual(refused.code, 0, size);
    assertClean(refused);
  }
});

/** The keys of a data set of pairs, which it writes. */
async function pairs(folder: string, pair: (i: number) => object): Promise<string[]> {
  const rows = Array.from({ length: 200 }, (_, i) => JSON.stringify(pair(i)));
  await Deno.writeTextFile(`${folder}/pairs.jsonl`, rows.join("\n") + "\n");
  return argv`data.task_name=null ~data.task_config data.dataset_name=${folder}/pairs.jsonl`;
}

test.inFolder("completions of a file are imitated, and a run without a section sft is refused", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const data = await pairs(folder, (i) => ({ prompt: `say ${i}`, completion: `it is ${i % 10}` }));
  await succeeds(argv`sft ${config} ${data} ${FAST} --output-dir ${run} --json`);
  const metrics = await readMetrics(run);
  const [first, last] = [metrics[1]!, metrics.at(-3)!].map((line) => line["loss"] as number);
  assert.ok(last! < 0.7 * first!, `${first} → ${last}`);
  const none = argv`sft ${config} sft=null --output-dir ${folder}/none`;
  await refuses([[none, /the configuration has no supervised training/, "sft.max_steps=100"]]);
  await assert.rejects(() => Deno.stat(`${folder}/none`), Deno.errors.NotFound);
});

test.inFolder("supervised training needs no reward and no room for completions; GRPO does", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const data = await pairs(folder, (i) => ({ prompt: `${i}`, completion: `${2 * i}` }));
  const done = await succeeds(argv`sft ${config} ${data} rewards=[] eval.num_examples=0
      training.max_completion_length=127 sft.max_steps=2 --output-dir ${run}`);
  assert.doesNotMatch(done.err, /rewards|go on with GRPO/);
  const after = ["train", `${run}/config.yaml`, "--resume"];
  await refuses([[after, /rewards: .*expected at least one reward/]]);
});
