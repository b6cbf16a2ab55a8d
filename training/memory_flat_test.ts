/**
 * Memory does not grow over steps of the quickstart's sizes. `deno task bench:grpo --memory 500`
 * measures more steps.
 */
import assert from "node:assert/strict";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { residentMemory } from "./grpo_step_bench.ts";

Deno.test("memory does not grow from step to step", async () => {
  using device = await createWasmDevice({ threads: 2 });
  const allocated: number[] = [];
  const resident = await residentMemory(device, 24, () => allocated.push(device.allocatedBytes));
  // Buffers have room for longer batches than the first one, but a later batch may be the longest
  // so far.
  assert.ok(
    allocated.at(-1)! <= 1.1 * allocated[3]!,
    `${allocated[3]} → ${allocated.at(-1)} bytes`,
  );
  // The JavaScript heap grows by some tens of megabytes in the first steps.
  assert.ok(resident.at(-1)! - resident[3]! < 60e6, `${resident[3]} → ${resident.at(-1)} bytes`);
  assert.equal(device.allocatedBytes, 0);
});
