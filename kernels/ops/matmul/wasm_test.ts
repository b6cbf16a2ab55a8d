/** The matrix product on the CPU device, beyond the conformance suite. */
import { productCase } from "../../conformance/cases/matmul_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { createWasmDevice } from "../../devices/wasm/device.ts";
import { stream } from "../../testing.ts";
import { someOf } from "../../../tests/cases.ts";

const LAYOUTS = [{}, { transA: true }, { transB: true }, { transA: true, transB: true }] as const;

Deno.test("products of every small shape are right, and of each in every layout", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const random = stream("small shapes");
  const sizes = [1, 2, 3, 4, 5, 6, 7, 8, 13, 15, 16, 17, 31, 33];
  const shapes = sizes.flatMap((m, i) =>
    sizes.flatMap((n, j) =>
      [0, 1, 2, 3, 4, 5, 7, 8, 16, 37].map((k, l) => ({ m, n, k, ...LAYOUTS[(i + j + l) % 4] }))
    )
  );
  for (const shape of someOf(shapes)) {
    await checkCase(device, productCase(random, { ...shape, r: 0 }));
  }
});
