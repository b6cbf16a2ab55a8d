/**
 * Attention with keys apart from its rows: the rows get the results that they get when the whole
 * prompt is computed.
 */
import assert from "node:assert/strict";
import type { Device } from "../../device.ts";
import type { HostArray } from "../../tensor.ts";
import { createReferenceDevice } from "../../devices/reference/device.ts";
import { execute } from "../../conformance/runner_testing.ts";
import { assertWithin, junk, normals, packLengths, sameBits, stream } from "../../testing.ts";
import { createWasmDevice } from "../../devices/wasm/device.ts";

const HEADS = 4, KV_HEADS = 2, HEAD_DIM = 16;
const WIDE = HEADS * HEAD_DIM, NARROW = KV_HEADS * HEAD_DIM;
/** Length of each prompt, and how many of its first tokens have no row. A tile has 96 keys. */
const PROMPTS = [[5, 0], [131, 57], [200, 96], [70, 69], [310, 230], [97, 1]] as const;

async function attend(
  device: Device,
  lengths: readonly number[],
  data: { q: HostArray; k: HostArray; v: HostArray; keys?: Uint32Array; window?: number },
) {
  const { rows, segments, rowSegment, segmentCount } = packLengths(lengths.map((n) => [n, []]));
  const found = await execute(device, {
    op: "attention",
    args: {
      ...data,
      out: junk(rows * WIDE),
      lse: junk(rows * HEADS),
      segments,
      rowSegment,
      segmentCount,
      rows,
      heads: HEADS,
      kvHeads: KV_HEADS,
      headDim: HEAD_DIM,
      scale: 0.25,
    },
  });
  return { out: found.get("out")!, lse: found.get("lse")! };
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
  const { q, k, v } = { q: junk(WIDE), k: junk(NARROW), v: junk(NARROW) };
  const data = { q, k, v, keys: Uint32Array.of(0, 1), window: 3 };
  const refused = { name: "RgxError", message: /window is 3, expected no keys beside it/ };
  await assert.rejects(() => attend(device, [1], data), refused);
});
