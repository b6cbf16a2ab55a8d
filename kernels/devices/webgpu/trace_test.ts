/** Times of kernels, with and without the GPU's time stamps. */
import assert from "node:assert/strict";
import { createWebgpuDevice } from "./device.ts";
import { webgpuTest } from "./testing.ts";
import { formatTimes } from "../times.ts";

for (const trace of ["stamps", "waits"] as const) {
  webgpuTest(`every kernel has its calls, time and traffic (by ${trace})`, async () => {
    using device = await createWebgpuDevice({ trace });
    const n = 100_000, x = device.create("float", n, "x"), y = device.create("float", n, "y");
    for (let i = 0; i < 5; i++) device.run("add", { a: x, b: x, out: y, n });
    device.run("fill", { out: x, n, value: 2 });
    const rows = device.kernelTimes();
    const add = rows.find(({ name }) => name === "add")!;
    assert.deepEqual([add.calls, add.bytes], [5, 5 * 12 * n]);
    assert.ok(add.milliseconds > 0 && add.milliseconds < 10_000, `${add.milliseconds} ms`);
    assert.equal(rows.find(({ name }) => name === "fill")!.calls, 1);
    const line = formatTimes(rows).find((text) => text.startsWith("add "))!;
    assert.match(line, /^add +[0-9.]+ % +[0-9.]+ ms +5 x +– GFLOP\/s +[0-9.]+ GB\/s$/);
    // A lost device has no times, but their absence is not an error.
    device.run("fill", { out: x, n, value: 2 });
    device.lose();
    device.submit();
    await assert.rejects(() => device.read(x), /was lost/);
  });
}
