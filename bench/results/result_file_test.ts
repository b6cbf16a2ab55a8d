import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import {
  checkResultFile,
  readResultFile,
  resultFileBytes,
  type TaskResultFile,
} from "./result_file.ts";

const file: TaskResultFile = {
  format: 1,
  kind: "task",
  created: "2026-01-02T03:04:05.000Z",
  stamp: "20260102_030405",
  rgx_version: "0.1.0",
  deno_version: "2.6.10",
  seed: 1,
  sampling_seed: 1,
  sampling: {
    temperature: 0,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    max_new_tokens: 8,
    samples: 1,
  },
  task: "chain_sum",
  task_name: "chain_sum",
  category: "arithmetic",
  parameters: {},
  models: {
    tiny: {
      accuracy: 1,
      correct: 1,
      total: 1,
      ci95: [0.2, 1],
      mean_score: 1,
      mean_score_ci95: [1, 1],
      format_rate: 1,
      truncated_rate: 0,
      mean_completion_tokens: 3,
      num_examples: 1,
      errors: 0,
      too_long: 0,
      accuracy_of_all: 1,
      prompt: {
        system_prompt: null,
        add_instructions: true,
        format: "plain",
        few_shot: 0,
        few_shot_as: "prompt",
        from: "default",
      },
      overlap: null,
      samples: null,
      usage: { prompt_tokens: 5, completion_tokens: 3, seconds: 0.1 },
      device: "reference",
      examples: [{
        index: 0,
        question: "1 + 1?",
        expected: "2",
        completion: "<answer>2</answer>",
        extracted: "2",
        score: 1,
        truncated: false,
        completion_tokens: 3,
        metadata: {},
      }],
    },
  },
  comparisons: [],
};

test.inFolder("a result file is read as written, and no temporary file remains", async (folder) => {
  const path = `${folder}/results_chain_sum_20260102_030405.json`;
  await Deno.writeFile(path, resultFileBytes(file));
  assert.deepEqual(await readResultFile(path), file);
  // With a byte order mark or line ends as some editors write them.
  const edited = `\uFEFF${(await Deno.readTextFile(path)).replaceAll("\n", "\r\n")}`;
  await Deno.writeTextFile(path, edited);
  assert.deepEqual(await readResultFile(path), file);
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), [
    "results_chain_sum_20260102_030405.json",
  ]);
});

Deno.test("files of another version, damaged and missing files are refused", async () => {
  const broken = (change: (copy: Record<string, unknown>) => void) => {
    const copy = structuredClone(file) as unknown as Record<string, unknown>;
    change(copy);
    return () => checkResultFile(copy, "x.json");
  };
  assert.throws(broken((f) => f["format"] = 2), /x\.json: result format 2, .* reads format 1/);
  assert.throws(broken((f) => delete f["format"]), /not a result file of rgx bench/);
  assert.throws(broken((f) => f["kind"] = "other"), /kind: expected "task" or "all_tasks"/);
  assert.throws(broken((f) => f["models"] = []), /x\.json: models: expected an object, found \[\]/);
  const model = (f: Record<string, unknown>) =>
    (f["models"] as Record<string, Record<string, unknown>>)["tiny"]!;
  assert.throws(
    broken((f) => delete model(f)["accuracy"]),
    /models\.tiny: accuracy: expected a share from 0 to 1, found nothing/,
  );
  assert.throws(
    broken((f) => model(f)["ci95"] = [1]),
    /models\.tiny: ci95: expected \[low, high\]/,
  );
  assert.throws(
    broken((f) => model(f)["ci95"] = [0.9, 0.1]),
    /models\.tiny: ci95: expected \[low, high\] .*, found \[0\.9,0\.1\]/,
  );
  // A percentage that someone wrote by hand.
  assert.throws(
    broken((f) => model(f)["accuracy"] = 85.2),
    /models\.tiny: accuracy: expected a share from 0 to 1, found 85\.2/,
  );
  assert.throws(
    broken((f) => model(f)["ci95"] = [80.1, 89.2]),
    /models\.tiny: ci95: expected \[low, high\] from 0 to 1, found \[80\.1,89\.2\]/,
  );
  assert.throws(broken((f) => model(f)["format_rate"] = -0.1), /format_rate: expected a share/);
  const copy = structuredClone(file) as unknown as Record<string, unknown>;
  delete model(copy)["examples"];
  const read = checkResultFile(copy, "x.json") as TaskResultFile;
  assert.deepEqual(read.models["tiny"]!.examples, []);
  assert.throws(() => checkResultFile([1], "x.json"), RgxError);
  await assert.rejects(readResultFile("/no/such/results.json"), UsageError);
});
