/** Keys of sampling that decide when completions end, in whole training runs. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { type Line, readMetrics, rgx, tinyConfig } from "../support.ts";

async function trained(folder: string, name: string, ...overrides: string[]): Promise<Line[]> {
  const config = await tinyConfig(folder), run = `${folder}/${name}`;
  const { code, err } = await rgx(["train", config, "--quiet", "--output-dir", run, ...overrides]);
  assert.equal(code, 0, err);
  return (await readMetrics(run)).filter((line) => line["split"] === "train");
}

test.inFolder("training samples with a min length, stop strings and a repetition penalty", async (folder) => {
  const plain = await trained(folder, "plain");
  const longest = await trained(folder, "longest", "training.min_new_tokens=12");
  for (const line of longest) {
    assert.equal(line["completions/min_length"], 12);
    assert.equal(line["completions/clipped_ratio"], 1);
  }
  // Every completion of this model soon has one of these characters.
  const stop = 'training.stop=["a","e","<","o"]';
  const stopped = await trained(folder, "stopped", stop, "training.repetition_penalty=1.3");
  // When completions are trained on twice, their log-probabilities are computed again.
  const again = await trained(
    folder,
    "again",
    "training.num_iterations=2",
    "training.min_new_tokens=3",
    stop,
    "training.repetition_penalty=1.3",
  );
  const difference = "sampling/sampling_logp_difference/max";
  const seen = again.filter((line) => difference in line);
  assert.equal(seen.length, 2);
  for (const line of seen) assert.ok((line[difference] as number) < 1e-4, `${line[difference]}`);
  const mean = (lines: Line[], name: string) =>
    lines.reduce((sum, line) => sum + (line[name] as number), 0) / lines.length;
  assert.ok(
    mean(stopped, "completions/mean_length") < mean(plain, "completions/mean_length") / 2,
  );
  assert.ok(
    mean(stopped, "completions/clipped_ratio") < 0.5,
    "a stop string is an end, not a cut",
  );
});
