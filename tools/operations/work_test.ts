import assert from "node:assert/strict";
import { BRANCH } from "../../kernels/ops/attention_decode/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { attendedKeys, decodedKeys, workOf } from "./work.ts";

Deno.test("keys of a group: those of the prompt, and of each branch up to its row", () => {
  // A prompt of 3 rows, branches of 2 and 1 rows.
  const segments = Uint32Array.of(0, 3, 0, 0, 6, 3, 5, 0, 3, 5, 5, 6, 0, 3, 6);
  const each = [1, 2, 3, 3 + 1, 3 + 2, 3 + 1];
  assert.equal(attendedKeys(segments, 3), each.reduce((a, b) => a + b));
  // One row after 4 earlier positions.
  assert.equal(attendedKeys(Uint32Array.of(0, 1, 0, 0, 1), 1, Uint32Array.of(0, 5)), 5);
});

Deno.test("a decode step reads the keys of a prompt once for all its branches", () => {
  const branch = (prefixBegin: number, prefixEnd: number, length: number) => {
    const row = new Array<number>(BRANCH.columns).fill(0);
    [row[BRANCH.prefixBegin], row[BRANCH.prefixEnd]] = [prefixBegin, prefixEnd];
    row[BRANCH.length] = length;
    return row;
  };
  const branches = Uint32Array.from([branch(0, 10, 2), branch(0, 10, 3), branch(10, 14, 1)].flat());
  assert.deepEqual(decodedKeys(branches, 3), { all: 12 + 13 + 5, read: 2 + 3 + 1 + 10 + 4 });
});

Deno.test("a product counts its multiplications, and the bytes of a stored weight", () => {
  const tensor = { length: 1e6 } as Tensor, read = () => new Uint32Array();
  const product = { a: tensor, b: tensor, out: tensor, m: 4, n: 64, k: 32, transB: true };
  assert.deepEqual(workOf("matmul", product, read), {
    flops: 2 * 4 * 64 * 32,
    bytes: 4 * (4 * 32 + 64 * 32 + 4 * 64),
  });
  const halves = workOf("matmul", { ...product, weightType: "bf16" }, read);
  assert.equal(halves.bytes, 4 * (4 * 32 + 4 * 64) + 2 * 64 * 32);
  // What is not known in detail counts its tensors.
  assert.deepEqual(workOf("fill", { out: tensor, n: 5, value: 0 }, read), { flops: 0, bytes: 4e6 });
});
