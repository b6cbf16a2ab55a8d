/** Sums of vectors over ranks: slices, and bfloat16 on the wire. */
import assert from "node:assert/strict";
import { narrowBF16, widenBF16 } from "../../core/half_floats.ts";
import { vectorArithmetic } from "../../kernels/native/vector_arithmetic.ts";
import { localTransports } from "./local_testing.ts";
import { PartialSums, shareOf } from "./sum_tree.ts";
import type { Blocks, Transport } from "./transport.ts";
import { type Slice, type SumMeans, type SumOptions, VectorSums } from "./vector_sum.ts";
import { sumArrays } from "./vectors_testing.ts";

/** Vectors whose sum depends on the order of the additions. */
function vector(unit: number, length: number): Float32Array {
  return Float32Array.from(
    { length },
    (_, i) => Math.sin(unit * 12.9898 + i * 78.233) * 10 ** (i % 7 - 3),
  );
}

const rounded = (values: Float32Array) => widenBF16(narrowBF16(values));

/** The partial sums of leaves [begin, end) of `count`. */
function partials(begin: number, end: number, count: number, length: number, rounds: boolean) {
  const round = rounds ? rounded : (values: Float32Array) => values;
  const sums = new PartialSums<Float32Array>(
    count,
    (left, right) => round(left.map((x, i) => x + right[i]!)),
  );
  for (let i = begin; i < end; i++) sums.push({ level: 0, index: i }, round(vector(i, length)));
  return sums.values;
}

/** A transport that counts the bytes that its rank sends to others. */
function counting(transport: Transport): Transport & { sent: number } {
  const others = ({ lengths }: Blocks) =>
    lengths.reduce((sum, length, rank) => sum + (rank === transport.rank ? 0 : length), 0);
  return {
    sent: 0,
    rank: transport.rank,
    size: transport.size,
    label: "counting",
    allGather: (bytes, alarm) => transport.allGather(bytes, alarm),
    gatherParts(parts, alarm) {
      this.sent += parts.lengths[transport.rank]! * (transport.size - 1);
      return transport.gatherParts(parts, alarm);
    },
    exchange(send, receive, alarm) {
      this.sent += others(send);
      return transport.exchange(send, receive, alarm);
    },
    allReduce: (values, alarm) => transport.allReduce(values, alarm),
    abort: (code) => transport.abort(code),
    close: () => transport.close(),
  };
}

/** The sums of all ranks, and the bytes that each has sent. */
async function sumsOf(
  size: number,
  count: number,
  length: number,
  options: SumOptions,
  means: SumMeans = {},
) {
  return await Promise.all(
    localTransports(size).map(async (transport) => {
      const counted = counting(transport), sums = new VectorSums(counted, () => {}, means);
      const own = partials(
        ...shareOf(count, transport.rank, size),
        count,
        length,
        options.rounded ?? false,
      );
      const slice = options.slices?.[transport.rank];
      const sum = await sumArrays(sums, count, own, length, options, slice);
      return { sum, sent: counted.sent };
    }),
  );
}

Deno.test("a sum over ranks has the bits of one rank's sum, whose order of additions matters", async () => {
  for (const count of [1, 3, 4, 7, 8]) {
    for (const length of [1, 5, 1000]) {
      const alone = partials(0, count, count, length, false)[0]!.value;
      for (const size of [2, 3, 4, 6]) {
        for (const { sum } of await sumsOf(size, count, length, {})) {
          assert.deepEqual(sum, alone, `${count} vectors of ${length} on ${size} ranks`);
        }
      }
    }
  }
  const tree = partials(0, 8, 8, 1000, false)[0]!.value, plain = new Float32Array(1000);
  for (let i = 0; i < 8; i++) vector(i, 1000).forEach((x, k) => plain[k]! += x);
  assert.notDeepEqual(tree, plain);
});

Deno.test("each rank gets its slice of the sum, also where slices overlap or are empty", async () => {
  const length = 1000, slices: Slice[] = [[0, 400], [350, 350], [300, 1000]];
  for (const count of [1, 4, 7]) {
    const whole = partials(0, count, count, length, false)[0]!.value;
    for (const [rank, { sum }] of (await sumsOf(3, count, length, { slices })).entries()) {
      assert.deepEqual(sum, whole.slice(...slices[rank]!), `${count} vectors, rank ${rank}`);
    }
  }
});

Deno.test("a sum of several windows and chunks is the same, whole and in slices", async () => {
  const length = 1001, slices: Slice[] = [[0, 700], [650, 900], [900, 1001]];
  const whole = partials(0, 4, 4, length, false)[0]!.value;
  for (const [window, chunk] of [[1, 1], [64, 64], [500, 7], [1000, 100], [2000, 333]] as const) {
    const means = { window, chunk };
    for (const { sum } of await sumsOf(3, 4, length, {}, means)) assert.deepEqual(sum, whole);
    for (const [rank, { sum }] of (await sumsOf(3, 4, length, { slices }, means)).entries()) {
      assert.deepEqual(sum, whole.slice(...slices[rank]!), `a window of ${window}, rank ${rank}`);
    }
  }
});

Deno.test("bfloat16 on the wire sends half of the bytes, and rounds where it says", async () => {
  const length = 999;
  for (const [size, count] of [[2, 4], [3, 3], [4, 6]] as const) {
    // Each sum of the tree is rounded: any number of ranks has the bits of one.
    const tree = partials(0, count, count, length, true)[0]!.value;
    const options = { halves: true, rounded: true };
    // Native code on this processor, if there is some.
    const means = { chunk: 100, arithmetic: vectorArithmetic() };
    const halves = await sumsOf(size, count, length, options, means);
    for (const { sum } of halves) assert.deepEqual(sum, tree, `${count} vectors, ${size} ranks`);
    const floats = await sumsOf(size, count, length, {});
    halves.forEach(({ sent }, rank) => assert.equal(2 * sent, floats[rank]!.sent));
  }
  // Without that, what ranks send is rounded, and the whole sum.
  const sums = new PartialSums<Float32Array>(3, (left, right) => left.map((x, i) => x + right[i]!));
  for (let i = 0; i < 3; i++) sums.push({ level: 0, index: i }, rounded(vector(i, length)));
  const expected = rounded(sums.values[0]!.value);
  for (const { sum } of await sumsOf(3, 3, length, { halves: true })) {
    assert.deepEqual(sum, expected);
  }
});
