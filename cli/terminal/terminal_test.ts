/** What tables look like. */
import assert from "node:assert/strict";
import { table } from "./terminal.ts";

Deno.test("numbers stand at the right, and so does a dash among them", () => {
  const rows = [["model", "trained on", "n"], ["a", "32", "1 ± 2"], ["b", "–", "–"]];
  assert.equal(
    table(rows),
    ["model  trained on  n", "a              32  1 ± 2", "b               –  –"].join("\n"),
  );
});
