import assert from "node:assert/strict";
import {
  DROPOUT_PASS,
  dropoutCounter,
  fnv1a,
  philox4x32,
  RandomStream,
  sampleCounter,
  seedWords,
  uniform23,
} from "./philox.ts";

function philox(counter: number[], key: number[]): string {
  const out = new Uint32Array(4);
  philox4x32(out, counter[0]!, counter[1]!, counter[2]!, counter[3]!, key[0]!, key[1]!);
  return [...out].map((w) => w.toString(16).padStart(8, "0")).join(" ");
}

Deno.test("Philox4x32-10 reproduces the published vectors", () => {
  const ones = 0xffffffff;
  assert.equal(philox([0, 0, 0, 0], [0, 0]), "6627e8d5 e169c58d bc57ac4c 9b00dbd8");
  assert.equal(
    philox([ones, ones, ones, ones], [ones, ones]),
    "408f276d 41c83b0e a20bc7c6 6d5451fd",
  );
  assert.equal(
    philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
    "d16cfe09 94fdcceb 5001e420 24126ea1",
  );
});

Deno.test("the layout of counters and keys has not changed", () => {
  assert.deepEqual(seedWords(2 ** 53 - 1), [0xffffffff, 0x1fffff]);
  assert.deepEqual(sampleCounter(7, 3, 17), [(3 << 20) | 17, 7, 0x01000000]);
  assert.deepEqual(sampleCounter(2 ** 32 * 5 + 9, 4095, 2 ** 20 - 1), [0xffffffff, 9, 0x01000005]);
  assert.deepEqual(DROPOUT_PASS, { supervised: 0, grpo: 1 });
  assert.deepEqual(dropoutCounter(0, 7, 3, 17), [(3 << 20) | 17, 7, 0x03000000]);
  assert.deepEqual(dropoutCounter(255, 2 ** 32 * 5 + 9, 4095, 1), [0xfff00001, 9, 0x03ff0005]);
  assert.equal(fnv1a(""), 0x811c9dc5);
  assert.equal(fnv1a("a"), 0xe40c292c);
  assert.equal(fnv1a("foobar"), 0xbf9cf968);

  // A task item: key = seed, c0 = block, c1 = index, c2 = FNV-1a of the name, c3 = 2 ≪ 24 | split.
  const words = (s: RandomStream) => Array.from({ length: 8 }, () => s.u32());
  const expected = [0, 1].flatMap((block) => {
    const out = new Uint32Array(4);
    philox4x32(out, block, 12, fnv1a("chain_sum"), 0x02000002, 99, 1);
    return [...out];
  });
  assert.deepEqual(words(RandomStream.forTask(2 ** 32 + 99, "test", "chain_sum", 12)), expected);

  // Recorded words of two streams, which must never change.
  assert.deepEqual(
    words(RandomStream.forTask(42, "train", "spell_backward", 0)).slice(0, 4),
    PINNED.task,
  );
  assert.deepEqual(words(RandomStream.forPurpose(42, "init", "w", 3)).slice(0, 4), PINNED.init);
});

const PINNED = {
  task: [0x092fb095, 0x4a7c49e8, 0x4efa0fea, 0x6ed49556],
  init: [0xa2594c6c, 0xe3d91246, 0xe798477c, 0xb20f68db],
};

Deno.test("uniform23 stays strictly inside (0, 1) and is exact in f32", () => {
  for (const word of [0, 1, 511, 512, 0x7fffffff, 0x80000000, 0xffffffff]) {
    const u = uniform23(word);
    assert.ok(u > 0 && u < 1);
    assert.equal(Math.fround(u), u);
  }
});

/** χ² of counts against equal expectation. */
function chiSquare(counts: number[]): number {
  const expected = counts.reduce((a, b) => a + b) / counts.length;
  return counts.reduce((sum, c) => sum + (c - expected) ** 2 / expected, 0);
}

Deno.test("below is uniform and in range, also when 2^32 is no multiple of n", () => {
  const stream = new RandomStream(3, 0, 0, 0);
  const counts = new Array<number>(7).fill(0);
  for (let i = 0; i < 70_000; i++) counts[stream.below(7)]!++;
  assert.ok(chiSquare(counts) < 22.5, `χ² ${chiSquare(counts)} of 6 degrees of freedom`);

  // With n = 3·2^30 a plain remainder would hit the lowest third twice as often.
  const n = 3 * 2 ** 30, thirds = [0, 0, 0];
  for (let i = 0; i < 30_000; i++) thirds[Math.floor(stream.below(n) / 2 ** 30)]!++;
  assert.ok(chiSquare(thirds) < 13.8, `χ² ${chiSquare(thirds)} of 2 degrees of freedom`);
});

Deno.test("below is uniform and in range beyond 32 bits", () => {
  const stream = new RandomStream(4, 0, 0, 0);
  for (const n of [2 ** 32 + 1, 3 * 2 ** 51, Number.MAX_SAFE_INTEGER]) {
    const tenths = new Array<number>(10).fill(0), odd = [0, 0];
    for (let i = 0; i < 20_000; i++) {
      const value = stream.below(n);
      assert.ok(Number.isSafeInteger(value) && value >= 0 && value < n);
      tenths[Math.floor(value / n * 10)]!++;
      odd[value % 2]!++;
    }
    assert.ok(chiSquare(tenths) < 27.9, `n ${n}: χ² ${chiSquare(tenths)} of 9`);
    assert.ok(chiSquare(odd) < 10.8, `n ${n}: χ² ${chiSquare(odd)} of 1`);
  }
});

Deno.test("below and int accept a range of one value and refuse an empty one", () => {
  const stream = new RandomStream(5, 0, 0, 0);
  assert.equal(stream.below(1), 0);
  assert.equal(stream.int(-3, -3), -3);
  for (const n of [0, -1, 1.5, NaN, 2 ** 53]) assert.throws(() => stream.below(n), RangeError);
  assert.throws(() => stream.int(2, 1), RangeError);
  const seen = new Set(Array.from({ length: 200 }, () => stream.int(-1, 1)));
  assert.deepEqual([...seen].sort((a, b) => a - b), [-1, 0, 1]);
});

Deno.test("random has 53 bits in [0, 1) and a mean of one half", () => {
  const stream = new RandomStream(6, 0, 0, 0);
  let sum = 0, fine = false;
  for (let i = 0; i < 20_000; i++) {
    const x = stream.random();
    assert.ok(x >= 0 && x < 1);
    sum += x;
    fine ||= (x * 2 ** 32) % 1 !== 0;
  }
  assert.ok(fine, "no value has more than 32 bits");
  assert.ok(Math.abs(sum / 20_000 - 0.5) < 0.01);
});

Deno.test("shuffle gives every permutation equally often", () => {
  const stream = new RandomStream(7, 0, 0, 0);
  const counts = new Map<string, number>();
  for (let i = 0; i < 24_000; i++) {
    const order = stream.shuffle(["a", "b", "c", "d"]).join("");
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  assert.equal(counts.size, 24);
  assert.ok(chiSquare([...counts.values()]) < 49.7, "χ² of 23 degrees of freedom");
});

Deno.test("sample draws distinct elements, each equally often, without changing the list", () => {
  const stream = new RandomStream(8, 0, 0, 0);
  const items = [0, 1, 2, 3, 4], counts = [0, 0, 0, 0, 0];
  for (let i = 0; i < 10_000; i++) {
    const drawn = stream.sample(items, 2);
    assert.equal(new Set(drawn).size, 2);
    for (const item of drawn) counts[item]!++;
  }
  assert.deepEqual(items, [0, 1, 2, 3, 4]);
  assert.ok(chiSquare(counts) < 18.5, "χ² of 4 degrees of freedom");
  assert.deepEqual(stream.sample(items, 0), []);
  assert.deepEqual(stream.sample(items, 5).sort(), items);
  assert.throws(() => stream.sample(items, 6), RangeError);
});

Deno.test("weighted follows the weights and never takes a weight of 0", () => {
  const stream = new RandomStream(9, 0, 0, 0);
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 40_000; i++) counts[stream.weighted([0, 1, 2, 3], [1, 0, 2, 0])]!++;
  assert.equal(counts[1], 0);
  assert.equal(counts[3], 0);
  assert.ok(Math.abs(counts[0]! / 40_000 - 1 / 3) < 0.01);
  assert.throws(() => stream.weighted(["a"], [0]), RangeError);
});

Deno.test("normal has mean 0 and variance 1", () => {
  const stream = new RandomStream(10, 0, 0, 0);
  let sum = 0, squares = 0;
  for (let i = 0; i < 20_000; i++) {
    const x = stream.normal();
    sum += x;
    squares += x * x;
  }
  assert.ok(Math.abs(sum / 20_000) < 0.03);
  assert.ok(Math.abs(squares / 20_000 - 1) < 0.04);
});
