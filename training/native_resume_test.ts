/**
 * Native kernels give the bits of the WASM kernels, so a run may continue on another make of
 * processor: with and without them in turns it gives the weights of a run without them.
 */
import assert from "node:assert/strict";
import { test, withFolder } from "../core/testing.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import {
  metricsWithoutClock,
  shortRunConfig,
  stopsAfter,
  trainOn,
  varying,
  weightsOf,
} from "./testing.ts";

/** Trains until `steps` more steps are done, or to the end. @returns the status of the run */
async function train(
  path: string,
  compute_dtype: "float32" | "bfloat16",
  steps: number,
  native: boolean,
  resume: boolean,
) {
  using device = await createWasmDevice({ threads: 2, native });
  // All of the model is trained, after a warm start, with a frozen reference.
  const config = shortRunConfig(path, { training: { max_steps: 4, beta: 0.05, compute_dtype } });
  const { summary } = await trainOn(device, config, { ...varying, resume, ...stopsAfter(steps) });
  return summary.status;
}

for (const dtype of ["float32", "bfloat16"] as const) {
  test.inFolder(`a run goes on with native kernels and without to the same weights, ${dtype}`, async (whole) => {
    await withFolder(async (parts) => {
      assert.equal(await train(whole, dtype, Infinity, false, false), "completed");
      assert.equal(await train(parts, dtype, 2, true, false), "stopped");
      assert.equal(await train(parts, dtype, 2, false, true), "stopped");
      assert.equal(await train(parts, dtype, Infinity, true, true), "completed");
      assert.deepEqual(await weightsOf(parts), await weightsOf(whole));
      assert.deepEqual(await metricsWithoutClock(parts), await metricsWithoutClock(whole));
    });
  });
}
