/**
 * `rgx train gsm8k` on a small model: the flags of the recipe, what a run leaves, and bad input.
 */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { namesIn, test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { goldenPath } from "../golden.ts";
import { jsonLines, lines, readMetrics, refuses, succeeds } from "../support.ts";

const REWARDS = argv`match_format_exactly match_format_approximately check_answer_correctness
  check_numbers_extraction`;

/** Keeps a run short. The model has 512 positions, and the longest prompt leaves 64 of them. */
const SHORT = ["training.max_completion_length=8", "--device=wasm"];

const MODEL = goldenPath("models/stories260k"), DATA = goldenPath("data/gsm8k");

test.inFolder("all flags of the recipe: rewards, tracking, evaluated problems and a report", async (folder) => {
  const run = `${folder}/run`;
  const { err } = await succeeds(
    argv`train gsm8k --model-name ${MODEL} --max-steps 2 --learning-rate 1e-4 --batch-size 2
        --gradient-accumulation-steps 4 --max-examples 20 --output-dir ${run}
        --project-name My-Project data.dataset_name=${DATA} eval.num_examples=3 ${SHORT}`,
    { env: { TRACKIO_DIR: `${folder}/trackio` } },
  );
  assert.equal(err.match(/the tokenizer has no chat template/g)?.length, 1, err);

  const config = parse(await Deno.readTextFile(`${run}/config.yaml`));
  assert.deepEqual(config.rewards.map(({ name }: { name: string }) => name), REWARDS);
  const { r, lora_alpha, lora_dropout, target_modules } = config.lora;
  assert.deepEqual([r, lora_alpha, lora_dropout], [16, 32, 0.1]);
  assert.equal(target_modules, null, "those of the model's architecture");
  const { max_steps, learning_rate, num_generations, max_grad_norm } = config.training;
  assert.deepEqual([max_steps, learning_rate, num_generations, max_grad_norm], [2, 1e-4, 4, 0.1]);
  const { per_device_train_batch_size, gradient_accumulation_steps } = config.training;
  assert.deepEqual([per_device_train_batch_size, gradient_accumulation_steps], [2, 4]);
  assert.equal(config.data.max_examples, 20);
  assert.equal(config.model.load_in_4bit, true);

  const steps = (await readMetrics(run)).filter(({ split }) => split === "train");
  assert.equal(steps.length, 2);
  for (const step of steps) {
    for (const name of REWARDS) assert.equal(typeof step[`rewards/${name}/mean`], "number", name);
    // A step has two prompts with four completions each, and there are 20 problems.
    assert.ok(Math.abs((step["epoch"] as number) - 0.1 * (step["step"] as number)) < 1e-9);
  }
  const [writer] = namesIn(`${folder}/trackio/inbox`), inbox = `${folder}/trackio/inbox/${writer}`;
  const logged = namesIn(inbox).map((name) =>
    JSON.parse(Deno.readTextFileSync(`${inbox}/${name}`))
  );
  assert.ok(logged.every(({ project }) => project === "My-Project"));
  for (const name of REWARDS) {
    const seen = logged.filter(({ metrics = {} }) => `train/rewards/${name}/mean` in metrics);
    assert.ok(seen.length >= 2, `${name} is not in trackio's inbox`);
  }

  const evaluated = jsonLines(await Deno.readTextFile(`${run}/eval_after.jsonl`));
  // Three problems of GSM8K's test split, with sampling and greedily.
  assert.equal(evaluated.length, 6);
  assert.match(evaluated[0].question, /^Janet.s ducks lay 16 eggs/);
  assert.equal(evaluated[0].expected, "18");
  for (const key of ["completion", "extracted", "score", "formatted", "truncated"]) {
    assert.ok(key in evaluated[0], key);
  }
  const report = await Deno.readTextFile(`${run}/report.md`);
  for (const name of REWARDS) assert.ok(report.includes(name), name);
  assert.match(report, /Held-out accuracy 0\.0 → 0\.0 %/);
  assert.match(await Deno.readTextFile(`${run}/report.html`), /<\/html>/);
});

test.inFolder("the recipe runs on a file, without tracking and evaluation", async (folder) => {
  const problems = lines(await Deno.readTextFile(`${DATA}/train.jsonl`)).slice(0, 60);
  const filename = `${folder}/some.jsonl`;
  await Deno.writeTextFile(filename, problems.join("\n"));
  const { out } = await succeeds(
    argv`train gsm8k --model-name ${MODEL} --max-steps=1 --json --no-trackio --skip-evaluation
        --gradient-accumulation-steps=2 --output-dir=${folder}/run data.dataset_name=${filename}
        ${SHORT}`,
    { env: { TRACKIO_DIR: `${folder}/trackio` } },
  );
  const { eval_before, eval_after } = JSON.parse(lines(out).at(-1)!);
  assert.deepEqual([eval_before, eval_after], [null, null]);
  const step = (await readMetrics(`${folder}/run`)).find(({ split }) => split === "train")!;
  assert.equal(typeof step["rewards/check_answer_correctness/mean"], "number");
  await assert.rejects(Deno.stat(`${folder}/trackio`), Deno.errors.NotFound);
});

test.inFolder("bad input is refused: columns, answers, flags that contradict keys", async (folder) => {
  const write = async (name: string, rows: readonly object[]) => {
    await Deno.writeTextFile(`${folder}/${name}`, rows.map((r) => JSON.stringify(r)).join("\n"));
    return `data.dataset_name=${folder}/${name}`;
  };
  const numbered = (answer: (i: number) => string) =>
    Array.from({ length: 60 }, (_, i) => ({ question: `${i} + 1 =`, answer: answer(i) }));
  const good = await write("good.jsonl", numbered((i) => `add\n#### ${i + 1}`));
  const train = argv`train gsm8k --model-name ${MODEL} --max-steps=1 --output-dir=${folder}/run
      ${SHORT}`;
  await refuses([
    [
      [await write("columns.jsonl", [{ problem: "1 + 1", solution: "2" }])],
      'columns.jsonl:1: no column "question", expected those of gsm8k: question, answer ' +
      "(found problem, solution)",
    ],
    [
      [await write("unsolved.jsonl", numbered(String))],
      'unsolved.jsonl has no entries: none of its 60 answers has "####"',
    ],
    [
      [good, "--no-trackio", "report_to=trackio"],
      "report_to: names trackio, which --no-trackio switches off",
    ],
  ], { before: train, env: { TRACKIO_DIR: `${folder}/trackio` } });
  assert.deepEqual([...Deno.readDirSync(folder)].filter(({ isDirectory }) => isDirectory), []);

  const unanswered = { question: "And?", answer: "no idea" };
  const all = [...numbered((i) => `add\n#### ${i + 1}`), unanswered];
  const some = await write("some.jsonl", all);
  const { err } = await succeeds([...train, some, "--skip-evaluation", "--no-trackio"]);
  assert.match(err, /1 row is left out: the answer has no "####" \(the first: .*some\.jsonl:61\)/);
});
