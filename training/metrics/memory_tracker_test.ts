import assert from "node:assert/strict";
import { createDevice } from "../../kernels/mod.ts";
import { MemoryTracker } from "./phase_clock.ts";

Deno.test("memory is recorded by phase: tensors, the device, the process", async () => {
  using device = await createDevice("wasm", { threads: 1 });
  const tracker = new MemoryTracker(device), before = tracker.peakBytes;
  await tracker.during("generate", () => device.free(device.create("float", 1_000_000, "large")));
  await tracker.during("score", () => {});
  const first = tracker.lap();
  const [generate, score] = ["generate", "score"].map((phase) => first[`memory/${phase}_bytes`]!);
  assert.ok(generate! >= before + 4e6 && score! < generate!, `${generate} and ${score}`);
  assert.equal(first["memory/peak_bytes"], generate);
  for (const phase of ["generate", "score"]) {
    assert.ok(first[`memory/${phase}_wasm_bytes`]! >= generate!);
    assert.ok(first[`memory/${phase}_host_bytes`]! > 1e7, "the first time, the process is asked");
  }
  const second = tracker.lap();
  assert.equal(second["memory/peak_bytes"], generate, "the run's peak stays");
  assert.deepEqual(Object.keys(second).sort(), [
    "memory/host_bytes",
    "memory/peak_bytes",
    "memory/wasm_bytes",
  ]);
});
