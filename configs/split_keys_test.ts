import assert from "node:assert/strict";
import { assertErrors, load, MINIMAL } from "./testing.ts";

const FILE = "model: m\nrewards: [correctness]\ndataset_name: p.jsonl\n";
const FILES = { "p.jsonl": '{"question": "a", "answer": "1"}\n' };

async function asked(yaml: string, overrides: string[] = []) {
  const { config, notes } = await load(yaml, { overrides }, FILES);
  return { count: config.eval.num_examples, notes };
}

Deno.test("test_examples and train_ratio say how many problems are asked around training", async () => {
  const cases: [yaml: string, overrides: string[], count: number][] = [
    [`${MINIMAL}test_examples: 8\n`, [], 8],
    [
      `${MINIMAL}data: {num_examples: 100, train_ratio: 0.8}\n`.replace("task:", "task_name:"),
      [],
      20,
    ],
    [
      `${MINIMAL}num_examples: 100\ntrain_ratio: 0.8\nvalidation_examples: 5\neval_on_start: true\n`,
      [],
      15,
    ],
    [`${MINIMAL}test_examples: 8\neval: {num_examples: 8}\n`, [], 8],
    [`${MINIMAL}test_examples: 8\n`, ["--skip-evaluation"], 0],
    [`${MINIMAL}test_examples: 8\n`, ["data.test_examples=9"], 9],
    [`${MINIMAL}eval: {num_examples: 9}\n`, ["data.test_examples=7"], 7],
    [`${MINIMAL}test_examples: 8\n`, ["eval.num_examples=6"], 6],
    // How many these are is known when the file is read.
    [`${FILE}train_ratio: 0.5\n`, [], 1_000_000],
    [`${FILE}train_ratio: 0.5\ntest_examples: 3\n`, [], 3],
    [`${FILE}validation_examples: 3\neval_strategy: epoch\n`, [], 0],
  ];
  for (const [yaml, overrides, count] of cases) {
    assert.deepEqual(await asked(yaml, overrides), { count, notes: [] }, yaml);
  }
});

Deno.test("a configuration with splits reads itself again to the same", async () => {
  const first = await load(`${MINIMAL}num_examples: 100\ntrain_ratio: 0.8\ntest_examples: 9\n`);
  assert.deepEqual((await load(first.yaml)).config, first.config);
});

/** YAML after MINIMAL, and deeper its error. */
const REFUSED = String.raw`
test_examples: 8\neval: {num_examples: 9}
  f.yaml:4:16: data.test_examples: 8, and eval.num_examples is 9: both say how many problems are
    asked before and after training, so give one of them
num_examples: 10\ntrain_ratio: 0.8\ntest_examples: 3
  f.yaml:5:14: data.train_ratio: 0.8: data.test_examples 3: more than the 2 that train_ratio 0.8
    leaves of the 10 different problems of chain_sum
train_ratio: 1.5
  …train_ratio: expected a number…
dataset_prompt_column: q
  f.yaml:4:24: data.dataset_prompt_column: names a column of a file, and a task has none
`;

Deno.test("what does not go together is refused where it stands", async () => {
  await assertErrors(REFUSED);
  const { notes } = await asked(`${MINIMAL}validation_examples: 4\n`);
  assert.match(
    notes.join(),
    /data\.validation_examples: they are asked while training, which needs/,
  );
});

Deno.test("dataset_prompt_column is for files", async () => {
  const { config } = await load(`${FILE}dataset_prompt_column: q\n`, {}, FILES);
  assert.equal(config.data.dataset_prompt_column, "q");
});
