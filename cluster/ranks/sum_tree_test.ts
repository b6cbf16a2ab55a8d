/** The fixed order of sums over ranks. */
import assert from "node:assert/strict";
import { nodesOf, PartialSums, shareOf } from "./sum_tree.ts";

type Text = string;
const joined = (count: number, parts: [number, number][]): Text => {
  const all = new PartialSums<Text>(count, (a, b) => `(${a}+${b})`);
  for (const [begin, end] of parts) {
    const own = new PartialSums<Text>(count, (a, b) => `(${a}+${b})`);
    for (let i = begin; i < end; i++) own.push({ level: 0, index: i }, String(i));
    assert.deepEqual(own.values.map(({ node }) => node), nodesOf(begin, end, count));
    for (const { node, value } of own.values) all.push(node, value);
  }
  assert.equal(all.values.length, 1, `${count}: one sum is left`);
  return all.values[0]!.value;
};

Deno.test("the order of a sum is the same for every number of ranks", () => {
  for (let count = 1; count <= 33; count++) {
    const alone = joined(count, [[0, count]]);
    for (let size = 2; size <= 9; size++) {
      const parts = Array.from({ length: size }, (_, rank) => shareOf(count, rank, size));
      assert.equal(joined(count, parts), alone, `${count} leaves on ${size} ranks`);
    }
  }
});

Deno.test("the tree joins neighbours, and leaves without a partner go up as they are", () => {
  assert.equal(joined(1, [[0, 1]]), "0");
  assert.equal(joined(4, [[0, 4]]), "((0+1)+(2+3))");
  assert.equal(joined(6, [[0, 6]]), "(((0+1)+(2+3))+(4+5))");
  assert.equal(joined(5, [[0, 5]]), "(((0+1)+(2+3))+4)");
});

Deno.test("a rank that has half of a power of two keeps one partial sum", () => {
  assert.deepEqual(nodesOf(0, 4, 8), [{ level: 2, index: 0 }]);
  assert.deepEqual(nodesOf(4, 8, 8), [{ level: 2, index: 1 }]);
});

Deno.test("shares are consecutive and cover everything", () => {
  for (const [count, size] of [[7, 3], [2, 4], [0, 2], [8, 8]] as const) {
    let next = 0;
    for (let rank = 0; rank < size; rank++) {
      const [begin, end] = shareOf(count, rank, size);
      assert.equal(begin, next);
      assert.ok(end - begin <= Math.ceil(count / size));
      next = end;
    }
    assert.equal(next, count);
  }
});
