import assert from "node:assert/strict";
import { availableBytes, memoryRoom } from "./memory.ts";

Deno.test("available memory is positive and at most that of the machine", async () => {
  const bytes = await availableBytes();
  assert.ok(bytes > 0, `${bytes}`);
  assert.ok(bytes <= Deno.systemMemoryInfo().total, `${bytes}`);
});

Deno.test("the memory left is the minimum of machine, cgroup and job", () => {
  const held = 3;
  assert.deepEqual(memoryRoom({ machine: 50, cgroup: null, job: null, held }), {
    bytes: 50,
    by: "machine",
  });
  assert.deepEqual(memoryRoom({ machine: 50, cgroup: 20, job: null, held }), {
    bytes: 20,
    by: "cgroup",
  });
  // The memory that the process uses is subtracted from that of the job.
  assert.deepEqual(memoryRoom({ machine: 50, cgroup: 20, job: 10, held }), { bytes: 7, by: "job" });
  assert.deepEqual(memoryRoom({ machine: 50, cgroup: 20, job: 2, held }), { bytes: 0, by: "job" });
});
