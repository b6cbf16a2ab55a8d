/** Runs on problems of a file: what they say before and after. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { succeeds } from "../support.ts";
import { goldenPath } from "../golden.ts";

const TINY = goldenPath("models/tinystories-656k");
const ROWS = Array.from(
  { length: 100 },
  (_, i) => `{"question": "${i} + 1 =", "answer": "${i + 1}"}`,
);

/** A run of one step on a data set; what it says. */
async function run(folder: string, data: string, ...more: string[]): Promise<string> {
  const { err } = await succeeds(argv`train quickstart ~model.init model.model_name_or_path=${TINY}
    sft.max_steps=0 training.max_steps=1 max_completion_length=8 data.task_name=null
    data.dataset_name=${data} data.system_prompt=null --output-dir ${folder}/run --device wasm
    ${more}`);
  return err;
}

test.inFolder("a test split is asked whole; without a checkpoint there is nothing to go on from", async (folder) => {
  await Deno.writeTextFile(`${folder}/train.jsonl`, ROWS.slice(0, 80).join("\n"));
  await Deno.writeTextFile(`${folder}/test.jsonl`, ROWS.slice(80, 85).join("\n"));
  const all = ["eval.num_examples=1000000", "eval_strategy=no", "save_strategy=no"];
  const err = await run(folder, folder, ...all);
  assert.match(err, /on 5 held-out problems/);
  assert.doesNotMatch(err, /are wanted|--resume/);
});

test.inFolder("a dry run says that the rows have no answers", async (folder) => {
  const data = `${folder}/data.jsonl`;
  await Deno.writeTextFile(data, ROWS.join("\n").replaceAll('"answer"', '"answers"'));
  const err = await run(folder, data, "eval.num_examples=0", "eval_strategy=no", "--dry-run");
  assert.match(err, /warning: .*none of the 100 problems has an answer/);
  assert.match(err, /expected answer: \(none\)/);
});

test.inFolder("what a file holds out can all be asked, and without an evaluation it holds out none", async (folder) => {
  const data = `${folder}/data.jsonl`;
  await Deno.writeTextFile(data, ROWS.join("\n"));
  const plan = async (asked: number, ...more: string[]) => {
    const err = await run(
      folder,
      data,
      ...argv`eval.num_examples=${asked} eval_strategy=no save_strategy=no ${more}`,
    );
    const [, train, held] = /, (\d+) to train on, (\w+) held out/.exec(err.replace(/\s+/g, " "))!;
    const before = /evaluation on (\d+) held-out/.exec(err)?.[1] ?? null;
    return { train: Number(train), held: held!, before, err };
  };
  const all = await plan(1000, "--dry-run"), held = Number(all.held);
  assert.ok(held > 10 && held < 30 && all.train + held === 100, all.err);
  assert.equal(all.before, all.held, "all that are held out are asked");
  assert.match(all.err, /1000 held-out problems are wanted.*: all of them are asked/);
  const some = await plan(5, "--dry-run");
  assert.deepEqual([some.train, some.held, some.before], [all.train, all.held, "5"]);
  const none = await plan(0);
  assert.deepEqual([none.train, none.held, none.before], [100, "none", null]);

  // The benchmark of a run without held-out questions asks the file, and says that it was used.
  const bench = await succeeds(argv`bench --models ${folder}/run --tasks file=${data} --no-base
      --max-new-tokens 2 --output-dir ${folder}/results --device wasm`);
  assert.doesNotMatch(bench.err, /its training held out/);
  assert.match(bench.out, /trained on\nrun .* 100$/m);
});
