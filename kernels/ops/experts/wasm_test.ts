import assert from "node:assert/strict";
import { createWasmDevice } from "../../devices/wasm/device.ts";
import { execute } from "../../conformance/runner_testing.ts";
import { normals, sameBits, stream } from "../../testing.ts";
import { randomStored } from "../../weights/random_stored.ts";

Deno.test("a row of an expert has the same bits with any number of others and of threads", async () => {
  const n = 48, k = 256, experts = 3, random = stream("company"), a = normals(random, 400 * k);
  const before = normals(random, 400 * n);
  const variants = ([undefined, "bf16", "q4_k", "mxfp4"] as const).flatMap((weightType) =>
    [{}, { alpha: 0.7, accumulate: true }, ...weightType === undefined ? [{ transB: false }] : []]
      .map((options) => ({ weightType, transB: true, ...options }))
  );
  for (const { weightType, ...options } of variants) {
    const b = weightType === undefined
      ? normals(random, experts * n * k)
      : randomStored(random, weightType, experts * n, k);
    let alone: Float32Array | undefined;
    for (const [threads, native] of [[1, true], [2, true], [3, false]] as const) {
      using device = await createWasmDevice({ threads, native });
      for (const rows of [1, 2, 3, 9, 26, 40, 400]) {
        const begin = Uint32Array.from([0, 0, rows, rows]), out = before.slice(0, rows * n);
        const args = { a: a.slice(0, rows * k), b, out, begin, experts, rows, n, k, ...options };
        const all = weightType === undefined ? args : { ...args, weightType };
        const found = (await execute(device, { op: "expert_matmul", args: all as never })).get(
          "out",
        );
        const first = (found as Float32Array).slice(0, n);
        const which = `${weightType}, ${JSON.stringify(options)}, ${rows} rows, ${threads} threads`;
        assert.ok(sameBits(first, alone ??= first), which);
      }
    }
  }
});

Deno.test("the gradients of experts have the same bits with any number of threads and target", async () => {
  const m = 250, n = 40, experts = 4, begin = Uint32Array.from([0, 350, 350, 351, 420]);
  const random = stream("gradients"), rows = 420;
  const a = normals(random, rows * m), b = normals(random, rows * n);
  const out = normals(random, experts * m * n);
  const args = { a, b, begin, experts, rows, m, n, alpha: 0.3 };
  let expected: Float32Array | undefined;
  for (const [threads, native] of [[1, true], [3, true], [2, false]] as const) {
    using device = await createWasmDevice({ threads, native });
    const call = { op: "expert_gradient", args: { ...args, out: out.slice() } as never } as const;
    const found = (await execute(device, call)).get("out") as Float32Array;
    assert.ok(sameBits(found, expected ??= found), `${threads} threads, native: ${native}`);
  }
});
