/** The layout of tables. */
import assert from "node:assert/strict";
import { table } from "./terminal.ts";

Deno.test("numbers are aligned to the right, and a dash among them too", () => {
  const rows = [["model", "trained on", "n"], ["a", "32", "1 ± 2"], ["b", "–", "–"]];
  assert.equal(
    table(rows),
    ["model  trained on  n", "a              32  1 ± 2", "b               –  –"].join("\n"),
  );
});
