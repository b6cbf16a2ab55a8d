/**
 * Attention of new tokens: neither the number of threads nor reading ahead of long rows changes a
 * bit.
 */
import assert from "node:assert/strict";
import type { Device } from "../../device.ts";
import type { DType, Tensor } from "../../tensor.ts";
import { stream } from "../../testing.ts";
import { createWasmDevice } from "../../devices/wasm/device.ts";
import { BRANCH } from "./spec.ts";

/** Branches of three prompts, with completions of 1 to `maxNew` tokens. */
interface Shape {
  count: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  maxNew: number;
}

const PROMPT_ROWS = [0, 5, 130];

async function attend(device: Device, shape: Shape): Promise<number[]> {
  const { count, heads, kvHeads, headDim, maxNew } = shape, tensors: Tensor[] = [];
  const create = (dtype: DType, n: number) => {
    const tensor = device.create(dtype, n, "test");
    tensors.push(tensor);
    return tensor;
  };
  const random = stream(JSON.stringify(shape)), kv = kvHeads * headDim;
  const floats = (n: number): Tensor => {
    const tensor = create("float", n);
    device.write(tensor, Float32Array.from({ length: n }, () => random.uniform(-1, 1)));
    return tensor;
  };
  const prompts = PROMPT_ROWS.reduce((sum, n) => sum + n),
    table = new Uint32Array(count * BRANCH.columns);
  for (let b = 0; b < count; b++) {
    const prompt = Math.floor(b * PROMPT_ROWS.length / count);
    const begin = PROMPT_ROWS.slice(0, prompt).reduce((sum, n) => sum + n, 0);
    const at = b * BRANCH.columns;
    table[at + BRANCH.prefixBegin] = begin;
    table[at + BRANCH.prefixEnd] = begin + PROMPT_ROWS[prompt]!;
    table[at + BRANCH.slot] = b;
    table[at + BRANCH.length] = 1 + random.below(maxNew);
  }
  const branches = create("u32", table.length);
  device.write(branches, table);
  const out = create("float", count * heads * headDim);
  device.run("attention_decode", {
    q: floats(count * heads * headDim),
    prefixK: floats(prompts * kv),
    prefixV: floats(prompts * kv),
    branchK: floats(count * maxNew * kv),
    branchV: floats(count * maxNew * kv),
    out,
    branches,
    count,
    maxNew,
    heads,
    kvHeads,
    headDim,
    scale: 0.3,
  });
  const found = [...await device.read(out)];
  for (const tensor of tensors) device.free(tensor);
  return found;
}

Deno.test("attention of new tokens has the same bits on any number of threads", async () => {
  const shapes: Shape[] = [];
  for (const [heads, kvHeads] of [[9, 3], [4, 4], [7, 1], [16, 2], [5, 1]] as const) {
    for (const headDim of [16, 64]) {
      for (const count of [1, 2, 3, 17]) {
        shapes.push({ count, heads, kvHeads, headDim, maxNew: 200 });
      }
    }
  }
  const expected: number[][] = [];
  for (const threads of [1, 2, 5, 16]) {
    const device = await createWasmDevice({ threads });
    await device.ready();
    for (const [i, shape] of shapes.entries()) {
      const found = await attend(device, shape);
      assert.ok(found.every(Number.isFinite));
      assert.deepEqual(
        found,
        expected[i] ??= found,
        `${threads} threads, ${JSON.stringify(shape)}`,
      );
    }
    device.close();
  }
});
