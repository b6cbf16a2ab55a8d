import assert from "node:assert/strict";
import { askedPlaces, placesText, requireAsked } from "./rank_layout.ts";

const keys = (nnodes: number | null, n_gpus_per_node: number | null) => ({
  nnodes,
  n_gpus_per_node,
});

Deno.test("the keys ask for nodes × ranks of a node; one that is not written is 1", () => {
  assert.equal(askedPlaces(keys(null, null)), null);
  assert.deepEqual(askedPlaces(keys(null, 4)), { nodes: 1, perNode: 4 });
  assert.deepEqual(askedPlaces(keys(2, null)), { nodes: 2, perNode: 1 });
  assert.match(placesText({ nodes: 2, perNode: 4 }), /n_gpus_per_node is 2 × 4 = 8$/);
});

Deno.test("another number of ranks than the keys ask for is refused, with both numbers", () => {
  requireAsked(keys(null, null), 3, "--ranks 3");
  requireAsked(keys(2, 2), 4, "--ranks 4");
  assert.throws(() => requireAsked(keys(2, 4), 4, "--ranks 4"), {
    name: "UsageError",
    message: "--ranks 4: training.nnodes × training.n_gpus_per_node is 2 × 4 = 8",
    advice: "Ask for the same number in both, or leave one of them out: training.nnodes=2 " +
      "training.n_gpus_per_node=2",
  });
});
