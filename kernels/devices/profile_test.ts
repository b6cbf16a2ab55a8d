/** The profile counts calls, operations and bytes, and the device still works. */
import { strict as assert } from "node:assert";
import { profile, profileByEnvironment } from "./profile.ts";
import { formatTimes } from "./times.ts";
import { createWasmDevice } from "./wasm/device.ts";

Deno.test("a profiled device counts calls, floating point operations and bytes", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const table = profile(device);
  const a = device.create("float", 6, "a"), b = device.create("float", 12, "b");
  const out = device.create("float", 8, "out");
  device.write(a, Float32Array.of(1, 2, 3, 4, 5, 6));
  device.write(b, new Float32Array(12).fill(1));
  device.run("matmul", { a, b, out, m: 2, n: 4, k: 3 });
  device.run("matmul", { a, b, out, m: 2, n: 4, k: 3 });
  assert.deepEqual(await device.read(out), Float32Array.of(6, 6, 6, 6, 15, 15, 15, 15));
  const [row] = table();
  assert.ok(row);
  assert.deepEqual(
    { ...row, milliseconds: 0 },
    { name: "matmul", calls: 2, milliseconds: 0, flops: 96, bytes: 2 * 4 * 26 },
  );
  const [line] = formatTimes([{ ...row, milliseconds: 2 }]);
  assert.match(line!, /^matmul +100\.0 % +2\.00 ms +2 x +0\.0 GFLOP/);
});

Deno.test("each call is printed without a share, and the table after the total", async () => {
  const device = await createWasmDevice({ threads: 1 }), lines: string[] = [];
  const print = console.error;
  console.error = (line: string) => lines.push(line);
  try {
    profileByEnvironment(device, "3");
    device.run("fill", { out: device.create("float", 4, "out"), n: 4, value: 1 });
    device.close();
  } finally {
    console.error = print;
  }
  assert.equal(lines.length, 3);
  assert.match(lines[0]!, /^fill +[0-9.]+ ms +1 x +– GFLOP\/s +[0-9.]+ GB\/s$/);
  assert.match(lines[1]!, /^operations on wasm, 1 threads: [0-9]+\.[0-9] ms$/);
  assert.match(lines[2]!, /^fill +100\.0 % +[0-9.]+ ms +1 x +– GFLOP\/s +[0-9.]+ GB\/s$/);
});
