import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { PromptSampler } from "./prompt_sampler.ts";

const make = (options: Partial<ConstructorParameters<typeof PromptSampler>[0]> = {}) =>
  new PromptSampler({ count: 7, chunk: 3, seed: 1, shuffle: true, name: "prompts", ...options });

Deno.test("an epoch visits every problem at most once and drops the incomplete chunk", () => {
  const sampler = make();
  assert.equal(sampler.chunksPerEpoch, 2);
  for (let epoch = 0; epoch < 20; epoch++) {
    const seen = [0, 1].flatMap((i) => sampler.at(2 * epoch + i).indices);
    assert.equal(new Set(seen).size, 6);
    assert.ok(seen.every((i) => i >= 0 && i < 7));
    assert.equal(sampler.at(2 * epoch + 1).epoch, epoch);
  }
});

Deno.test("the order depends on seed, epoch and name, and not on earlier calls", () => {
  const forward = Array.from({ length: 8 }, (_, k) => make().at(k).indices.join());
  const sampler = make();
  for (const k of [7, 0, 3, 6, 1]) assert.equal(sampler.at(k).indices.join(), forward[k]);
  assert.ok(new Set([forward[0], forward[2], forward[4], forward[6]]).size > 1);
  const big = { count: 100, chunk: 50 };
  assert.notEqual(make(big).at(0).indices.join(), make({ ...big, seed: 2 }).at(0).indices.join());
  assert.notEqual(make(big).at(0).indices.join(), make({ ...big, name: "x" }).at(0).indices.join());
});

Deno.test("without shuffling the order is 0, 1, 2, … in every epoch", () => {
  const sampler = make({ shuffle: false });
  assert.deepEqual(sampler.at(0).indices, [0, 1, 2]);
  assert.deepEqual(sampler.at(1).indices, [3, 4, 5]);
  assert.deepEqual(sampler.at(2), { epoch: 1, indices: [0, 1, 2] });
});

Deno.test("a training set smaller than one step is refused", () => {
  assert.throws(() => make({ count: 2 }), UsageError);
});
