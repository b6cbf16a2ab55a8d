/** Attention on the CPU device, beyond the conformance suite. */
import assert from "node:assert/strict";
import type { HostArray } from "../../tensor.ts";
import { execute } from "../../conformance/runner_testing.ts";
import {
  junk,
  type Layout,
  normals,
  packLengths,
  sameBits,
  stream,
  upload,
} from "../../testing.ts";
import { createWasmDevice, type WasmDevice } from "../../devices/wasm/device.ts";

const HEADS = 4, KV_HEADS = 2, HEAD_DIM = 24;
const WIDE = HEADS * HEAD_DIM, NARROW = KV_HEADS * HEAD_DIM;

interface Inputs {
  q: Float32Array;
  k: Float32Array;
  v: Float32Array;
  dout: Float32Array;
}

function randomInputs(rows: number): Inputs {
  const random = stream(`attention on wasm ${rows}`);
  const wide = () => normals(random, rows * WIDE);
  const narrow = () => normals(random, rows * NARROW);
  return { q: wide(), k: narrow(), v: narrow(), dout: wide() };
}

/** The given rows of every input, in the given order. */
function pickRows(inputs: Inputs, rows: readonly number[]): Inputs {
  const pick = (data: Float32Array, width: number) =>
    Float32Array.from(rows.flatMap((row) => [...data.subarray(row * width, (row + 1) * width)]));
  return {
    q: pick(inputs.q, WIDE),
    k: pick(inputs.k, NARROW),
    v: pick(inputs.v, NARROW),
    dout: pick(inputs.dout, WIDE),
  };
}

/** Runs forward and backward; returns all outputs. */
async function attend(device: WasmDevice, layout: Layout, { dout, ...inputs }: Inputs) {
  const shared = {
    ...inputs,
    segments: layout.segments,
    rowSegment: layout.rowSegment,
    segmentCount: layout.segmentCount,
    rows: layout.rows,
    heads: HEADS,
    kvHeads: KV_HEADS,
    headDim: HEAD_DIM,
    scale: 0.2,
  };
  const room = { out: junk(dout.length), lse: junk(layout.rows * HEADS) };
  const forward = await execute(device, { op: "attention", args: { ...shared, ...room } });
  const found = { out: forward.get("out")!, lse: forward.get("lse")! };
  const { q, k, v } = inputs;
  const back = { dout, dq: junk(q.length), dk: junk(k.length), dv: junk(v.length) };
  return await execute(device, {
    op: "attention_backward",
    args: { ...shared, ...found, ...back },
  });
}

const rowsOf = (data: HostArray, width: number, from: number, to: number) =>
  data.slice(from * width, to * width);

Deno.test("a branch gets the same bits among others as alone with its prompt", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const prompt = 131, lengths = [7, 1, 120, 33];
  const group = packLengths([[5, [3]], [prompt, lengths]]);
  const inputs = randomInputs(group.rows);
  const together = await attend(device, group, inputs);
  let begin = 8 + prompt;
  for (const length of lengths) {
    const rows = [
      ...Array.from({ length: prompt }, (_, i) => 8 + i),
      ...Array.from({ length }, (_, i) => begin + i),
    ];
    const alone = await attend(device, packLengths([[prompt, [length]]]), pickRows(inputs, rows));
    for (const [name, width] of [["out", WIDE], ["lse", HEADS], ["dq", WIDE]] as const) {
      const expected = rowsOf(alone.get(name)!, width, prompt, prompt + length);
      const found = rowsOf(together.get(name)!, width, begin, begin + length);
      assert.ok(sameBits(found, expected), `${name} of the branch of length ${length}`);
    }
    begin += length;
  }
});

Deno.test("NaN spreads within its group and to no other", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const layout = packLengths([[9, [20, 3]], [40, [11, 60]]]);
  const inputs = randomInputs(layout.rows);
  const clean = await attend(device, layout, inputs);
  inputs.k[4 * NARROW] = NaN; // a key of the first prompt
  const dirty = await attend(device, layout, inputs);
  for (const [name, width] of [["out", WIDE], ["dq", WIDE], ["dk", NARROW]] as const) {
    const other = (data: HostArray) => rowsOf(data, width, 32, layout.rows);
    assert.ok(sameBits(other(clean.get(name)!), other(dirty.get(name)!)), `${name} elsewhere`);
    assert.ok(dirty.get(name)!.some(Number.isNaN), `${name} of the group`);
  }
});

Deno.test("more query heads per key head than a tile holds are refused", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const tensor = upload(device, new Float32Array(256));
  const words = upload(device, Uint32Array.of(0, 1, 0, 0, 1));
  assert.throws(() =>
    device.run("attention", {
      q: tensor,
      k: tensor,
      v: tensor,
      out: device.create("float", 256, "out"),
      lse: device.create("float", 128, "lse"),
      segments: words,
      rowSegment: upload(device, Uint32Array.of(0)),
      segmentCount: 1,
      rows: 1,
      heads: 128,
      kvHeads: 1,
      headDim: 2,
      scale: 1,
    }), { name: "RgxError", message: /128 query heads over 1 key heads, at most 96/ });
});
