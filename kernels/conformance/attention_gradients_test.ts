/**
 * Attention: its backward against central differences (gradients_test.ts), and its forward in
 * packed groups and while decoding against separate sequences.
 */
import type { HostArray } from "../tensor.ts";
import { assertWithin, packLengths } from "../testing.ts";
import { checkBackward, empty, random64, run } from "./gradients_testing.ts";

Deno.test("attention_backward is the gradient of attention over packed groups", async () => {
  const batches: {
    groups: [number, number[]][];
    heads: [number, number, number];
    window?: number;
    softCap?: number;
    sinks?: boolean;
  }[] = [
    { groups: [[1, [1]]], heads: [1, 1, 2] },
    { groups: [[3, [2, 0, 4]], [1, [1]], [2, []]], heads: [2, 2, 4] },
    { groups: [[2, [3, 1]], [4, [0, 5]]], heads: [6, 2, 4] },
    { groups: [[5, [3, 3]]], heads: [3, 1, 6] },
    { groups: [[5, [3, 0, 4]], [2, [6]]], heads: [2, 1, 4], window: 3 },
    { groups: [[3, [1, 2]]], heads: [1, 1, 2], window: 1 },
    { groups: [[5, [3, 0, 4]], [2, [6]]], heads: [2, 1, 4], window: 3, softCap: 0.8 },
    { groups: [[2, [3, 1]], [4, [0, 5]]], heads: [6, 2, 4], softCap: 0.5 },
    { groups: [[5, [3, 0, 4]], [2, [6]]], heads: [6, 2, 4], window: 3, sinks: true },
    { groups: [[3, [2, 4]]], heads: [2, 1, 4], sinks: true },
  ];
  for (const { groups, heads: [heads, kvHeads, headDim], window, softCap, ...others } of batches) {
    const { rows, segmentCount, segments, rowSegment } = packLengths(groups);
    const what = JSON.stringify(groups);
    const q = random64(`q ${what}`, rows * heads * headDim);
    const k = random64(`k ${what}`, rows * kvHeads * headDim);
    const v = random64(`v ${what}`, rows * kvHeads * headDim);
    const dout = random64(`dout ${what}`, q.length);
    const shared = {
      q,
      k,
      v,
      segments,
      rowSegment,
      segmentCount,
      rows,
      heads,
      kvHeads,
      headDim,
      scale: 0.6,
      ...(window === undefined ? {} : { window }),
      ...(softCap === undefined ? {} : { softCap }),
    };
    const sinks = others.sinks ? random64(`sinks ${what}`, heads) : undefined;
    const layer = {
      forward: "attention",
      inputs: { ...shared, ...(sinks === undefined ? {} : { sinks }) },
      outputs: { out: q.length, lse: rows * heads },
      weights: { out: dout },
      more: ({ out, lse }: Record<string, HostArray>) => ({ out, lse, dout }),
    } as const;
    if (sinks !== undefined) {
      await checkBackward({ ...layer, backward: "sinks_backward", of: [["dsinks", "sinks"]] });
    }
    // A row that attends only to itself has the weight 1 for any score.
    const ofScores = window === 1 ? [] : [["dq", "q"], ["dk", "k"]] as const;
    const room = window === 1 ? { dq: empty(q.length), dk: empty(k.length) } : {};
    await checkBackward({
      ...layer,
      backward: "attention_backward",
      more: (found) => ({ ...layer.more(found), ...room }),
      of: [["dv", "v"], ...ofScores],
    });
  }
});

Deno.test("a packed group gives the same attention as its separate sequences", async () => {
  const heads = 2, kvHeads = 1, headDim = 4, prompt = 3, branches = [4, 1, 0, 2];
  const packed = packLengths([[prompt, branches]]);
  const shared = { heads, kvHeads, headDim, scale: 0.5 };
  let window: number | undefined;
  const attend = async (layout: ReturnType<typeof packLengths>, pick: number[]) => {
    const { rows, segmentCount, segments, rowSegment } = layout;
    const rowsOf = (all: Float64Array, width: number) =>
      Float64Array.from(pick.flatMap((r) => [...all.subarray(r * width, (r + 1) * width)]));
    const args = {
      q: rowsOf(random64("same q", packed.rows * heads * headDim), heads * headDim),
      k: rowsOf(random64("same k", packed.rows * kvHeads * headDim), kvHeads * headDim),
      v: rowsOf(random64("same v", packed.rows * kvHeads * headDim), kvHeads * headDim),
      out: empty(rows * heads * headDim),
      lse: empty(rows * heads),
      rows,
      segmentCount,
      segments,
      rowSegment,
      ...shared,
      ...(window === undefined ? {} : { window }),
    };
    return (await run("attention", args)).get("out")!;
  };
  const range = (from: number, n: number) => Array.from({ length: n }, (_, i) => from + i);
  for (window of [undefined, 1, 2, 4, 6]) {
    const together = await attend(packed, range(0, packed.rows));
    let begin = prompt;
    for (const length of branches) {
      const pick = [...range(0, prompt), ...range(begin, length)];
      const alone = await attend(packLengths([[pick.length, []]]), pick);
      const width = heads * headDim;
      for (const [i, row] of pick.entries()) {
        const expected = together.slice(row * width, (row + 1) * width);
        assertWithin(alone.slice(i * width, (i + 1) * width), expected, 1e-14, `row ${row}`);
      }
      begin += length;
    }
  }
});

Deno.test("attention_decode equals the last row of attention", async () => {
  const heads = 4, kvHeads = 2, headDim = 4, scale = 0.5, prompt = 5, branches = [3, 1, 4];
  const { rows, segmentCount, segments, rowSegment } = packLengths([[prompt, branches]]);
  const width = kvHeads * headDim, maxNew = 6, slots = [2, 0, 1];
  const q = random64("dq", rows * heads * headDim);
  const k = random64("dk", rows * width), v = random64("dv", rows * width);
  const sizes = { heads, kvHeads, headDim, scale };
  const full = await run("attention", {
    q,
    k,
    v,
    segments,
    rowSegment,
    segmentCount,
    rows,
    ...sizes,
    out: empty(q.length),
    lse: empty(rows * heads),
  });
  const branchK = empty(3 * maxNew * width), branchV = empty(3 * maxNew * width);
  const table: number[] = [], last: number[] = [];
  let begin = prompt;
  for (const [b, length] of branches.entries()) {
    branchK.set(k.subarray(begin * width, (begin + length) * width), slots[b]! * maxNew * width);
    branchV.set(v.subarray(begin * width, (begin + length) * width), slots[b]! * maxNew * width);
    table.push(0, prompt, slots[b]!, length, 0, 0);
    begin += length;
    last.push(begin - 1);
  }
  const rowsOf = (all: HostArray) =>
    Float64Array.from(
      last.flatMap((r) => [...all.slice(r * heads * headDim, (r + 1) * heads * headDim)]),
    );
  const decoded = await run("attention_decode", {
    q: rowsOf(q),
    prefixK: k.slice(0, prompt * width),
    prefixV: v.slice(0, prompt * width),
    branchK,
    branchV,
    out: empty(3 * heads * headDim),
    branches: Uint32Array.from(table),
    count: 3,
    maxNew,
    ...sizes,
  });
  assertWithin(decoded.get("out")!, rowsOf(full.get("out")!), 1e-14, "out");
});
