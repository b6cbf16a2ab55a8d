import assert from "node:assert/strict";
import { metricsOf, shortRunConfig, test, trainOn } from "../testing.ts";
import { RunTracking } from "./run_tracking.ts";

/** A file of MLflow's store as [step, value]. */
const points = (path: string): number[][] =>
  Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => {
    const [, value, step] = line.split(" ").map(Number);
    return [step!, value!];
  });

test.onReference("trackers get metrics, times by phase and memory at every log", async ({ device, dir }) => {
  const config = shortRunConfig(`${dir}/run`, {
    logging: { report_to: ["mlflow"] },
    training: { logging_steps: 2, max_steps: 3 },
  });
  const warnings: string[] = [];
  const tracking = new RunTracking(config, { USER: "me" }, (message) => warnings.push(message));
  await trainOn(device, config, { listeners: [(event) => tracking.on(event)] });
  tracking.close();
  assert.deepEqual(warnings, []);
  const store = `${dir}/run/mlruns`;
  const [experiment] = [...Deno.readDirSync(store)];
  const [run] = [...Deno.readDirSync(`${store}/${experiment!.name}`)].filter((f) => f.isDirectory);
  const folder = `${store}/${experiment!.name}/${run!.name}`;
  const steps = (name: string) => points(`${folder}/metrics/${name}`).map(([step]) => step);
  // The last step is logged too.
  assert.deepEqual(steps("train/loss"), [2, 3]);
  for (const name of ["time/generate", "time/forward_backward", "memory/peak_bytes"]) {
    assert.deepEqual(steps(`train/${name}`), [2, 3], name);
  }
  // deno-lint-ignore no-explicit-any
  const all: any[] = await metricsOf(`${dir}/run`);
  const lines = all.filter(({ split, step }) => split === "train" && step < 3);
  const [[, generate]] = points(`${folder}/metrics/train/time/generate`) as [number[]];
  const expected = (lines[0]["time/generate"] + lines[1]["time/generate"]) / 2;
  assert.ok(Math.abs(generate! - expected) < 1e-12);
  const [[, peak]] = points(`${folder}/metrics/train/memory/peak_bytes`) as [number[]];
  assert.equal(peak, Math.max(...lines.map((line) => line["memory/peak_bytes"])));
  assert.match(Deno.readTextFileSync(`${folder}/meta.yaml`), /^status: 3$/m);
});
