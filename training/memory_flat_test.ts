/** Memory does not grow over steps of the quickstart's sizes; tests/faults/haul.ts does 20,000. */
import assert from "node:assert/strict";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { quickstartStep } from "./grpo_step_bench.ts";
import { pauseBetweenSteps } from "./step/yield_to_events.ts";

Deno.test("memory does not grow from step to step", async () => {
  using device = await createWasmDevice({ threads: 2 });
  const { step, shape } = await quickstartStep(device), pause = pauseBetweenSteps();
  const allocated: number[] = [], resident: number[] = [];
  for (let i = 0; i < 12; i++) {
    await step.run(shape);
    await pause();
    allocated.push(device.allocatedBytes);
    resident.push(Deno.memoryUsage().rss);
  }
  step.dispose();
  // Buffers have room for longer batches than the first one, but a later batch may be the longest
  // so far.
  const what = `${allocated[3]} → ${allocated.at(-1)} bytes`;
  assert.ok(allocated.at(-1)! <= 1.1 * allocated[3]!, what);
  // The JavaScript heap grows by some tens of megabytes in the first steps.
  assert.ok(resident.at(-1)! - resident[3]! < 60e6, `${resident[3]} → ${resident.at(-1)} bytes`);
  assert.equal(device.allocatedBytes, 0);
});
