/** The matrix product on the CPU device, beyond the conformance suite. */
import { productCase } from "../../conformance/cases/matmul_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { createWasmDevice } from "../../devices/wasm/device.ts";
import { stream } from "../../testing.ts";

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
