/**
 * `rgx sft`: what a run writes, continuing after a stop, continuing with GRPO, and what is refused.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { assertClean, comparableMetrics, lines, readMetrics, rgx, tinyConfig } from "../support.ts";

const FAST = ["training.save_steps=10", "--quiet", "--threads", "1"];

/** trainer_state.json without the clock. */
async function trainerState(run: string) {
  const state = JSON.parse(await Deno.readTextFile(`${run}/trainer_state.json`));
  for (const entry of state.log_history) delete entry.step_time;
  return state;
}

const weights = (run: string) => Deno.readFile(`${run}/model.safetensors`);

test.inFolder("rgx sft trains on worked answers between two evaluations and writes a model", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const done = await rgx(["sft", config, "--output-dir", run, "--json", "--threads", "1"]);
  assert.equal(done.code, 0, done.err);
  assertClean(done);
  assert.match(done.err, /evaluation on 8 held-out problems, 30 supervised steps, the same/);
  assert.match(done.err, /rgx train .*config\.yaml --resume/);
  const summary = JSON.parse(lines(done.out).at(-1)!);
  assert.equal(summary.status, "completed");
  assert.equal(summary.steps, 30);
  assert.equal(summary.tokens_generated, 0);
  assert.equal(summary.eval_before.total, 8);
  assert.equal(summary.eval_after.total, 8);
  assert.match(summary.checkpoint, /warm-start\/checkpoint-30$/);
  const metrics = await readMetrics(run);
  assert.deepEqual(
    metrics.map(({ split, step }) => [split, step]),
    [["eval", 0], ...Array.from({ length: 30 }, (_, i) => ["sft", i + 1]), ["eval", 30], [
      "final",
      30,
    ]],
  );
  const losses = metrics.filter((line) => line["split"] === "sft").map((line) => line["loss"]);
  assert.ok((losses.at(-1) as number) < (losses[0] as number));
  const mean = (losses as number[]).reduce((a, b) => a + b) / 30;
  assert.ok(Math.abs((metrics.at(-1)!["train_loss"] as number) - mean) < 1e-9);
  const state = JSON.parse(await Deno.readTextFile(`${run}/trainer_state.json`));
  assert.equal(state.global_step, 30);
  assert.equal(state.max_steps, 30);
  assert.equal(state.epoch, 30 / 4);
  assert.equal(state.train_batch_size, 16);
  assert.equal(state.num_input_tokens_seen, metrics.at(-3)!["num_tokens"]);
  assert.deepEqual(
    state.log_history.map(({ step }: { step: number }) => step),
    [0, ...Array.from({ length: 30 }, (_, i) => i + 1), 30],
  );
  for (const name of ["model.safetensors", "config.json", "tokenizer.json", "config.yaml"]) {
    assert.ok((await Deno.stat(`${run}/${name}`)).isFile, name);
  }
});

test.inFolder("rgx train continues after rgx sft as if it had done both; the reverse is refused", async (folder) => {
  const config = await tinyConfig(folder), both = `${folder}/both`, one = `${folder}/one`;
  const run = async (...args: string[]) => {
    const result = await rgx([args[0]!, config, ...FAST, "--output-dir", ...args.slice(1)]);
    assert.equal(result.code, 0, result.err);
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
  const back = await rgx(["sft", config, ...FAST, "--output-dir", both, "--resume"]);
  assert.equal(back.code, 2);
  assert.match(back.err, /GRPO has begun \(step 4\): its supervised part is over/);
  assertClean(back);
});

test.inFolder("rgx sft accepts sizes that only GRPO refuses", async (folder) => {
  const config = await tinyConfig(folder), output = ["--output-dir", `${folder}/run`];
  // 6 does not divide 16, and 4096 steps per generation need more problems than there are.
  for (const size of ["training.num_generations=6", "training.steps_per_generation=4096"]) {
    const done = await rgx(argv`sft ${config} ${size} sft.max_steps=2 ${FAST} ${output} --force`);
    assert.equal(done.code, 0, done.err);
    const refused = await rgx(["train", config, size, ...FAST, ...output, "--resume"]);
    assert.notEqual(refused.code, 0, size);
    assertClean(refused);
  }
});

test.inFolder("completions of a file are imitated, and a run without a section sft is refused", async (folder) => {
  const config = await tinyConfig(folder), file = `${folder}/pairs.jsonl`;
  const rows = Array.from({ length: 200 }, (_, i) => ({
    prompt: `say ${i}`,
    completion: `it is ${i % 10}`,
  }));
  await Deno.writeTextFile(file, rows.map((row) => JSON.stringify(row)).join("\n") + "\n");
  const data = ["data.task_name=null", `data.dataset_name=${file}`, "~data.task_config"];
  const done = await rgx(argv`sft ${config} ${data} ${FAST} --output-dir ${folder}/run --json`);
  assert.equal(done.code, 0, done.err);
  const metrics = await readMetrics(`${folder}/run`);
  const [first, last] = [metrics[1]!, metrics.at(-3)!].map((line) => line["loss"] as number);
  assert.ok(last! < 0.7 * first!, `${first} → ${last}`);

  const none = await rgx(["sft", config, "sft=null", "--output-dir", `${folder}/none`]);
  assert.equal(none.code, 2);
  assert.match(none.err, /the configuration has no supervised training/);
  assert.match(none.err, /sft\.max_steps=100/);
  assertClean(none);
  await assert.rejects(() => Deno.stat(`${folder}/none`), Deno.errors.NotFound);
});

test.inFolder("supervised training needs no reward and no room for completions; GRPO does", async (folder) => {
  const pairs = Array.from(
    { length: 60 },
    (_, i) => ({ prompt: `${i}`, completion: `${2 * i}` }),
  );
  const config = await tinyConfig(folder), run = `${folder}/run`, file = `${folder}/pairs.jsonl`;
  await Deno.writeTextFile(file, pairs.map((pair) => JSON.stringify(pair)).join("\n"));
  const keys = ["task_name=null", "task_config={}", `dataset_name=${file}`].map((key) =>
    `data.${key}`
  );
  keys.push("rewards=[]", "eval.num_examples=0", "training.max_completion_length=127");
  const done = await rgx(["sft", config, ...keys, "sft.max_steps=2", "--output-dir", run]);
  assert.equal(done.code, 0, done.err);
  assert.doesNotMatch(done.err, /rewards|go on with GRPO/);
  const after = await rgx(["train", `${run}/config.yaml`, "--resume"]);
  assert.equal(after.code, 2);
  assert.match(after.err, /rewards: .*expected at least one reward/);
});
