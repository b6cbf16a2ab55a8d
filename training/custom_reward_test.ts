/**
 * Whole runs with rewards from files.
 */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import { createRubric } from "../rewards/rubric.ts";
import {
  completionsOf,
  metricsWithoutClock,
  tinyRunConfig,
  trainOn,
  warningsOf,
} from "./testing.ts";

/** A run of two steps (unless it ends earlier) with the reward `mine`, whose source is given. */
async function trainWith(source: string, dir: string, steps = 2) {
  using device = createReferenceDevice();
  await Deno.writeTextFile(`${dir}/mine.ts`, source);
  const config = tinyRunConfig(`${dir}/run`, {
    eval: { num_examples: 0 },
    training: { max_steps: steps, save_steps: 100 },
  });
  const rubric = createRubric([
    { name: "mine", weight: 1, params: {}, file: { path: `${dir}/mine.ts` } },
  ]);
  return warningsOf(await trainOn(device, config, { rubric }));
}

test.inFolder("a reward from a file trains; its logs are in metrics and completions", async (dir) => {
  const source = `export default ({ completion, completionIds, log, logExtra, step }) => {
      log("mine/tokens", completionIds.length);
      log("loss", 1e6);
      logExtra("tokens", completionIds.length);
      logExtra("even", completionIds.length % 2 === 0);
      logExtra("mixed", completionIds.length % 2 === 0 ? step : "odd");
      if (completionIds[0] % 2 === 0) throw new Error("even start");
      return completionIds.length;
    };`;
  const warnings = await trainWith(source, dir);
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0]!,
    /reward mine failed and counts 0: even start \(line 7.*completion was "/,
  );
  const [step] = await metricsWithoutClock(`${dir}/run`, "train");
  assert.equal(step!["mine/tokens"], step!["completions/mean_length"]);
  assert.notEqual(step!["loss"], 1e6);
  assert.ok(Number(step!["rewards/mine/errors"]) > 0);
  const rows = await completionsOf(`${dir}/run`, 1);
  for (const row of rows) {
    const tokens = row["tokens"] as number;
    assert.ok(row["mine"] === tokens || row["mine"] === 0);
    assert.equal(row["even"], tokens % 2 === 0);
    assert.equal(row["mixed"], tokens % 2 === 0 ? "1" : "odd");
  }
  assert.ok(rows.some((row) => row["mine"] !== 0), "every completion began with an even token");
});
