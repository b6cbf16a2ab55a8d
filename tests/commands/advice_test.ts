/** Advice that a run gives through the command line, and what its report shows. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { succeeds, TINY } from "../support.ts";
import { goldenPath } from "../golden.ts";

/** A run of the tiny configuration with changes; what it says, and the folder of the run. */
async function run(cwd: string, ...more: string[]): Promise<string> {
  await Deno.writeTextFile(`${cwd}/tiny.yaml`, TINY);
  const args = ["train", "tiny.yaml", "--output-dir", "run", "--force", "--device", "wasm"];
  const { err } = await succeeds([...args, "eval.num_examples=2", ...more], { cwd });
  return err.replaceAll("\n", " ");
}

test.inFolder("a run without any tags is told of format_answer; its report shows what was expected", async (cwd) => {
  const said = await run(
    cwd,
    ...argv`rewards=[correctness] sft.max_steps=1 sft.learning_rate=0 training.max_steps=2
        training.max_completion_length=20 --log-metrics reward,kl`,
  );
  assert.match(
    said,
    /no reward says that the tags are wanted.*try rewards='\[\{name: correctness/,
  );
  assert.match(said, / step +reward +kl +1\/2 +0 +\d/);
  const report = await Deno.readTextFile(`${cwd}/run/report.md`);
  assert.match(report, /## Warm start\n\n\| step +\| 1 +\|/);
  assert.match(report, /\| problem +\| +expected \| +before \| +after \| score \|/);
  const row = /\| Reverse the letters: \w+ +\| +\w+ \|( +no answer in: \S+ \|){2} +0 \|/;
  assert.match(report, row);
  assert.match(report, /Expected answer:\n\n```\n\w+\n```/);
  assert.match(await Deno.readTextFile(`${cwd}/run/report.html`), /expected answer<\/div><pre>/);
});

test.inFolder("a supervised loss above that of guessing is said during the warm start", async (cwd) => {
  // Digits and capitals without any form: this model has never seen such a text.
  const rows = Array.from({ length: 40 }, (_, i) => {
    const noise = `${i}QZXJ`.repeat(3);
    return JSON.stringify({ question: `${noise}?`, completion: `#@~^${noise}~^#@` });
  });
  await Deno.writeTextFile(`${cwd}/odd.jsonl`, rows.join("\n"));
  const said = await run(
    cwd,
    ...argv`~model.init model.model_name_or_path=${goldenPath("models/tinystories-656k")}
        data.task_name=null data.task_config=null data.dataset_name=odd.jsonl
        training.max_steps=1 sft.max_steps=3 sft.learning_rate=0
        sft.per_device_train_batch_size=4 eval.num_examples=0`,
  );
  assert.match(said, /advice: The supervised loss is [\d.]+, above [\d.]+, that of guessing one/);
});
