/** Cores and cards of ranks that share machines. */
import assert from "node:assert/strict";
import { type NodeFacts, nodeShare, requireCards } from "./node_share.ts";

const facts = (changes: Partial<NodeFacts> = {}): NodeFacts => ({
  node: "n1",
  cores: 8,
  mask: "ff",
  visible: "",
  cards: 2,
  memory: 64,
  ...changes,
});

Deno.test("ranks with one mask share its cores; ranks with their own keep them", () => {
  const shared = [facts(), facts(), facts({ node: "n2" })];
  assert.deepEqual(shared.map((_, rank) => nodeShare(rank, shared).threads), [4, 4, 8]);
  const bound = [facts({ mask: "0f", cores: 4 }), facts({ mask: "f0", cores: 4 })];
  assert.deepEqual(bound.map((_, rank) => nodeShare(rank, bound).threads), [4, 4]);
  assert.deepEqual(shared.map((_, rank) => nodeShare(rank, shared).memory), [32, 32, 64]);
  const crowded = Array.from({ length: 12 }, () => facts());
  assert.equal(nodeShare(11, crowded).threads, 1);
});

Deno.test("a rank has the card of its local number, or the one that the scheduler gave it", () => {
  const shown = { visible: "CUDA_VISIBLE_DEVICES=0,1" };
  const shared = [facts(shown), facts(shown), facts({ ...shown, node: "n2" })];
  assert.deepEqual(shared.map((_, rank) => nodeShare(rank, shared).card), [0, 1, 0]);
  assert.deepEqual(shared.map((_, rank) => nodeShare(rank, shared).localRank), [0, 1, 0]);
  const own = [0, 1].map((card) => facts({ visible: `CUDA_VISIBLE_DEVICES=${card}`, cards: 1 }));
  assert.deepEqual(own.map((_, rank) => nodeShare(rank, own).card), [0, 0]);
  requireCards(shared);
  requireCards(own);
});

Deno.test("more ranks than cards: the first rank without one is named", () => {
  const all = Array.from({ length: 3 }, () => facts({ visible: "CUDA_VISIBLE_DEVICES=0,1" }));
  assert.throws(
    () => requireCards(all),
    /rank 2 has no graphics card: n1 has 2 for its 3 ranks \(CUDA_VISIBLE_DEVICES=0,1\)/,
  );
});
