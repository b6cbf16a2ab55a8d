import assert from "node:assert/strict";
import { changedKeys } from "./config_difference.ts";

Deno.test("changed and removed keys are named", () => {
  const before = "a: { b: 1, c: [1, 2] }\nd: x\ngone: 1\n";
  assert.deepEqual(changedKeys(before, before), []);
  assert.deepEqual(changedKeys(before, "d: x\na: { c: [1, 3], b: 1 }\nnew: null\n"), [
    "a.c",
    "new",
    "gone",
  ]);
});

Deno.test("only the first of many changed keys are named", () => {
  const text = (value: number) =>
    Array.from({ length: 9 }, (_, i) => `key${i}: ${value}`).join("\n");
  const keys = changedKeys(text(1), text(2));
  assert.equal(keys.length, 7);
  assert.equal(keys.at(-1), "…");
});
