/** The matrix product on the CPU device, beyond the conformance suite. */
import { strict as assert } from "node:assert";
import { productCase } from "../../conformance/cases/matmul_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { createWasmDevice } from "../../devices/wasm/device.ts";
import { normals, stream, upload } from "../../testing.ts";

const LAYOUTS = [{}, { transA: true }, { transB: true }, { transA: true, transB: true }] as const;

Deno.test("products of every small shape are right, and of each in every layout", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const random = stream("small shapes");
  const sizes = [1, 2, 3, 4, 5, 6, 7, 8, 13, 15, 16, 17, 31, 33];
  for (const m of sizes) {
    for (const n of sizes) {
      for (const [i, k] of [0, 1, 2, 3, 4, 5, 7, 8, 16, 37].entries()) {
        const layout = LAYOUTS[(sizes.indexOf(m) + sizes.indexOf(n) + i) % 4]!;
        await checkCase(device, productCase(random, { m, n, k, r: 0, ...layout }));
      }
    }
  }
});

Deno.test("an adapter's product in the same call has the bits of a second call", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const m = 37, n = 50, k = 64, r = 6;
  const random = stream("adapter"),
    make = (length: number) => upload(device, normals(random, length));
  const a = make(m * k), b = make(n * k), xa = make(m * r), loraB = make(n * r);
  const one = make(m * n), two = make(m * n);
  const sizes = { m, n, k, transB: true };
  device.run("matmul", { ...sizes, a, b, out: one, xa, loraB, r, loraScale: 0.3 });
  device.run("matmul", { ...sizes, a, b, out: two });
  const adapter = { a: xa, b: loraB, k: r, alpha: 0.3, accumulate: true };
  device.run("matmul", { ...sizes, ...adapter, out: two });
  assert.deepEqual(await device.read(one), await device.read(two));
});
