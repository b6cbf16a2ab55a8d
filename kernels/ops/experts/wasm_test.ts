import assert from "node:assert/strict";
import { createWasmDevice } from "../../devices/wasm/device.ts";
import { execute } from "../../conformance/runner_testing.ts";
import { normals, stream } from "../../testing.ts";
import { randomStored } from "../../weights/random_stored.ts";

Deno.test("a row of an expert has the same bits with any number of others and of threads", async () => {
  const n = 48, k = 256, experts = 3, random = stream("company"), a = normals(random, 40 * k);
  for (const weightType of [undefined, "bf16", "q4_k", "mxfp4"] as const) {
    const b = weightType === undefined
      ? normals(random, experts * n * k)
      : randomStored(random, weightType, experts * n, k);
    let alone: Float32Array | undefined;
    for (const threads of [1, 2, 3]) {
      using device = await createWasmDevice({ threads });
      for (const rows of [1, 2, 3, 9, 26, 40]) {
        const begin = Uint32Array.from([0, 0, rows, rows]), out = new Float32Array(rows * n);
        const args = {
          a: a.slice(0, rows * k),
          b,
          out,
          begin,
          experts,
          rows,
          n,
          k,
          transB: true,
        };
        const all = weightType === undefined ? args : { ...args, weightType };
        const found = (await execute(device, { op: "expert_matmul", args: all as never })).get(
          "out",
        );
        const first = (found as Float32Array).slice(0, n);
        assert.deepEqual(
          first,
          alone ??= first,
          `${weightType}, ${rows} rows, ${threads} threads`,
        );
      }
    }
  }
});
