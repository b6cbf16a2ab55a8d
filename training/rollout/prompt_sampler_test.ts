import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { ProblemOrder } from "./prompt_sampler.ts";

const make = ({ count = 7, chunk = 3, seed = 1, shuffle = true, warm = false } = {}) =>
  new ProblemOrder(
    { data_seed: null, seed, shuffle_dataset: shuffle },
    count,
    chunk,
    warm ? "warm start" : "GRPO",
  );

Deno.test("an epoch visits every problem at most once and drops the incomplete chunk", () => {
  const sampler = make();
  assert.equal(sampler.chunksPerEpoch, 2);
  for (let epoch = 0; epoch < 20; epoch++) {
    const seen = [0, 1].flatMap((i) => sampler.at(2 * epoch + i));
    assert.equal(new Set(seen).size, 6);
    assert.ok(seen.every((i) => i >= 0 && i < 7));
  }
});

Deno.test("the order depends on seed, epoch and name, and not on earlier calls", () => {
  const forward = Array.from({ length: 8 }, (_, k) => make().at(k).join());
  const sampler = make();
  for (const k of [7, 0, 3, 6, 1]) assert.equal(sampler.at(k).join(), forward[k]);
  assert.ok(new Set([forward[0], forward[2], forward[4], forward[6]]).size > 1);
  const big = { count: 100, chunk: 50 };
  assert.notEqual(make(big).at(0).join(), make({ ...big, seed: 2 }).at(0).join());
  assert.notEqual(make(big).at(0).join(), make({ ...big, warm: true }).at(0).join());
});

Deno.test("without shuffling the order is 0, 1, 2, … in every epoch", () => {
  const sampler = make({ shuffle: false });
  assert.deepEqual(sampler.at(0), [0, 1, 2]);
  assert.deepEqual(sampler.at(1), [3, 4, 5]);
  assert.deepEqual(sampler.at(2), [0, 1, 2]);
});

Deno.test("a training set smaller than one step is refused", () => {
  assert.throws(() => make({ count: 2 }), UsageError);
});
