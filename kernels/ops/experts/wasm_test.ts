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

Deno.test("a row has the same bits alone and among experts of many and of few rows", async () => {
  // 133 rows of an expert in the mean: then each expert's rows are a product of their own.
  const experts = 3, rows = 400, shares = [[0, 1, 3, rows], [0, 17, 300, rows]];
  for (const [n, k, transB] of [[48, 1000, true], [33, 700, false]] as const) {
    const random = stream("shares"), a = normals(random, rows * k);
    const b = normals(random, experts * n * k);
    for (const [threads, native] of [[1, true], [2, true], [2, false]] as const) {
      using device = await createWasmDevice({ threads, native });
      const product = async (begin: readonly number[], first: number) => {
        const count = begin[experts]!, out = new Float32Array(count * n);
        const of = a.slice(first * k, (first + count) * k), at = Uint32Array.from(begin);
        const args = { a: of, b, out, begin: at, experts, rows: count, n, k, transB };
        const call = { op: "expert_matmul", args: args as never } as const;
        return (await execute(device, call)).get("out") as Float32Array;
      };
      for (const begin of shares) {
        const all = await product(begin, 0);
        for (let e = 0; e < experts; e++) {
          const row = begin[e + 1]! - 1, own = begin.map((_, i) => i > e ? 1 : 0);
          const alone = await product(own, row), which = `${n} × ${k}, ${begin}, row ${row}`;
          assert.ok(sameBits(alone, all.slice(row * n, (row + 1) * n)), which);
        }
      }
    }
  }
});
