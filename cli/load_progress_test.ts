/** The line of a model that is loading. */
import assert from "node:assert/strict";
import { loadText } from "./load_progress.ts";

Deno.test("a model that loads says how far it is and how long it will take", () => {
  assert.equal(loadText(0.8e9, 3.21e9, 5), "loading: 24 % of 3.21 B weights, 15 s left");
  assert.equal(loadText(134.5e6, 134.5e6, 3.4), "loaded 135 M weights in 3 s");
  assert.match(loadText(0, 2e8, 4), /^loading: 0 % of 200 M weights/);
});
