/**
 * Attention with keys apart from its rows: the rows get the results that they get when the whole
 * prompt is computed.
 */
import assert from "node:assert/strict";
import type { Device } from "../../device.ts";
import type { HostArray } from "../../tensor.ts";
import { createReferenceDevice } from "../../devices/reference/device.ts";
import { assertWithin, normals, packLengths, sameBits, stream, upload } from "../../testing.ts";
import { createWasmDevice } from "../../devices/wasm/device.ts";

const HEADS = 4, KV_HEADS = 2, HEAD_DIM = 16;
const WIDE = HEADS * HEAD_DIM, NARROW = KV_HEADS * HEAD_DIM;
/** Length of each prompt, and how many of its first tokens have no row. A tile has 96 keys. */
const PROMPTS = [[5, 0], [131, 57], [200, 96], [70, 69], [310, 230], [97, 1]] as const;

async function attend(
  device: Device,
  lengths: readonly number[],
  data: { q: HostArray; k: HostArray; v: HostArray; keys?: Uint32Array },
) {
  const { rows, segments, rowSegment, segmentCount } = packLengths(lengths.map((n) => [n, []]));
  const out = device.create("float", rows * WIDE, "out");
  const lse = device.create("float", rows * HEADS, "lse");
  const { q, k, v, keys } = data;
  device.run("attention", {
    q: upload(device, q),
    k: upload(device, k),
    v: upload(device, v),
    out,
    lse,
    ...(keys === undefined ? {} : { keys: upload(device, keys) }),
    segments: upload(device, segments),
    rowSegment: upload(device, rowSegment),
    segmentCount,
    rows,
    heads: HEADS,
    kvHeads: KV_HEADS,
    headDim: HEAD_DIM,
    scale: 0.25,
  });
  return { out: await device.read(out), lse: await device.read(lse) };
}

Deno.test("rows whose earlier keys exist get the same bits as in the whole prompt", async () => {
  const lengths = PROMPTS.map(([length]) => length);
  const total = lengths.reduce((sum, n) => sum + n, 0), random = stream("keys apart");
  const q = normals(random, total * WIDE);
  const k = normals(random, total * NARROW), v = normals(random, total * NARROW);
  const rests: number[] = [], keys: number[] = [], kept: number[] = [];
  let begin = 0;
  for (const [length, before] of PROMPTS) {
    keys.push(begin, begin + length);
    rests.push(length - before);
    for (let i = before; i < length; i++) kept.push(begin + i);
    begin += length;
  }
  const pick = (data: HostArray, width: number) =>
    Float32Array.from(kept.flatMap((row) => [...data.subarray(row * width, (row + 1) * width)]));
  const apart = { q: pick(q, WIDE), k, v, keys: Uint32Array.from(keys) };
  for (const threads of [1, 2]) {
    const device = await createWasmDevice({ threads });
    const whole = await attend(device, lengths, { q, k, v });
    const found = await attend(device, rests, apart);
    assert.ok(sameBits(found.out, pick(whole.out, WIDE)), `out, ${threads} threads`);
    assert.ok(sameBits(found.lse, pick(whole.lse, HEADS)), `lse, ${threads} threads`);
    const reference = createReferenceDevice();
    const expected = await attend(reference, rests, apart);
    assertWithin(found.out, expected.out, 2e-6, "out");
    assertWithin(found.lse, expected.lse, 4e-6, "lse");
    reference.close();
    device.close();
  }
});

Deno.test("keys apart from the rows are refused together with a window", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const tensor = upload(device, new Float32Array(2)), words = upload(device, new Uint32Array(5));
  assert.throws(() =>
    device.run("attention", {
      q: tensor,
      k: tensor,
      v: tensor,
      segments: words,
      rowSegment: words,
      keys: words,
      out: device.create("float", 2, "out"),
      lse: device.create("float", 1, "lse"),
      segmentCount: 1,
      rows: 1,
      heads: 1,
      kvHeads: 1,
      headDim: 2,
      scale: 1,
      window: 3,
    }), { name: "RgxError", message: /window is 3, expected no keys beside it/ });
});
