import assert from "node:assert/strict";
import { publishedFormat } from "../../data/published_formats.ts";
import { majorityIndex, passAtK, passLevels } from "./pass_at_k.ts";

const near = (a: number, b: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

Deno.test("pass@k is the share of subsets of k samples with a correct one", () => {
  const count = (n: number, c: number, k: number): number => {
    let hits = 0, all = 0;
    for (let mask = 0; mask < 1 << n; mask++) {
      let size = 0;
      for (let m = mask; m > 0; m &= m - 1) size++;
      if (size !== k) continue;
      all++;
      if ((mask & ((1 << c) - 1)) !== 0) hits++;
    }
    return hits / all;
  };
  for (const n of [1, 2, 5, 8]) {
    for (let c = 0; c <= n; c++) {
      for (let k = 1; k <= n; k++) near(passAtK(n, c, k), count(n, c, k));
    }
  }
  assert.throws(() => passAtK(2, 1, 3), RangeError);
  assert.deepEqual([1, 2, 5, 8].map(passLevels), [[1], [1, 2], [1, 2, 4, 5], [1, 2, 4, 8]]);
});

Deno.test("the majority is the most frequent answer, and the earliest of equals", () => {
  assert.equal(majorityIndex(["a", "b", "b", null, null, null]), 1);
  assert.equal(majorityIndex(["x", "y"]), 0);
  assert.equal(majorityIndex([null, null]), -1);
  assert.equal(majorityIndex([]), -1);
  // Different spellings of an answer count together where answers are compared by meaning.
  const answers = ["3", "7", "1/2", "7", "0.5", "\\frac{1}{2}"];
  assert.equal(majorityIndex(answers), 1);
  assert.equal(majorityIndex(answers, publishedFormat("math500")!.same), 2);
  const letters = ["?", "!", "(B)", "C", "B. two"];
  assert.equal(majorityIndex(letters, publishedFormat("mmlu_pro")!.same), 2);
});
