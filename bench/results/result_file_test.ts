import assert from "node:assert/strict";
import { namesIn, test } from "../../core/testing.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import {
  checkResultFile,
  readResultFile,
  resultFileBytes,
  type TaskResultFile,
} from "./result_file.ts";
import { exampleResult, modelResult, taskFile } from "./testing.ts";

const file: TaskResultFile = {
  ...taskFile("chain_sum", {}),
  models: { tiny: { ...modelResult(1, 1), examples: [exampleResult(0, true)] } },
};

test.inFolder("a result file is read as written, and no temporary file remains", async (folder) => {
  const path = `${folder}/results_chain_sum_20260102_030405.json`;
  await Deno.writeFile(path, resultFileBytes(file));
  assert.deepEqual(await readResultFile(path), file);
  // With a byte order mark or line ends as some editors write them.
  const edited = `\uFEFF${(await Deno.readTextFile(path)).replaceAll("\n", "\r\n")}`;
  await Deno.writeTextFile(path, edited);
  assert.deepEqual(await readResultFile(path), file);
  assert.deepEqual(namesIn(folder), [
    "results_chain_sum_20260102_030405.json",
  ]);
});

Deno.test("files of another version, damaged and missing files are refused", async () => {
  const broken = (change: (copy: Record<string, unknown>) => void) => {
    const copy = structuredClone(file) as unknown as Record<string, unknown>;
    change(copy);
    return () => checkResultFile(copy, "x.json");
  };
  const model = (f: Record<string, unknown>) =>
    (f["models"] as Record<string, Record<string, unknown>>)["tiny"]!;
  const refused: [change: Parameters<typeof broken>[0], says: RegExp][] = [
    [(f) => f["format"] = 2, /x\.json: result format 2, .* reads format 1/],
    [(f) => delete f["format"], /not a result file of rgx bench/],
    [(f) => f["kind"] = "other", /kind: expected "task" or "all_tasks"/],
    [(f) => f["models"] = [], /x\.json: models: expected an object, found \[\]/],
    [(f) => delete model(f)["accuracy"], /models\.tiny: accuracy: .* from 0 to 1, found nothing/],
    [(f) => model(f)["ci95"] = [1], /models\.tiny: ci95: expected \[low, high\]/],
    [(f) => model(f)["ci95"] = [0.9, 0.1], /ci95: expected \[low, high\] .*, found \[0\.9,0\.1\]/],
    // Percentages that someone wrote by hand.
    [(f) => model(f)["accuracy"] = 85.2, /accuracy: expected a share from 0 to 1, found 85\.2/],
    [(f) => model(f)["ci95"] = [80.1, 89.2], /ci95: .* from 0 to 1, found \[80\.1,89\.2\]/],
    [(f) => model(f)["truncated_rate"] = 1.1, /truncated_rate: expected a share/],
    [(f) => model(f)["format_rate"] = -0.1, /format_rate: expected a share/],
  ];
  for (const [change, says] of refused) assert.throws(broken(change), says);
  const copy = structuredClone(file) as unknown as Record<string, unknown>;
  delete model(copy)["examples"];
  const read = checkResultFile(copy, "x.json") as TaskResultFile;
  assert.deepEqual(read.models["tiny"]!.examples, []);
  assert.throws(() => checkResultFile([1], "x.json"), RgxError);
  await assert.rejects(readResultFile("/no/such/results.json"), UsageError);
});
