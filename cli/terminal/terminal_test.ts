/** The layout of tables, and what texts may do to a terminal. */
import assert from "node:assert/strict";
import { table, withoutControl } from "./terminal.ts";

Deno.test("numbers are aligned to the right, and a dash among them too", () => {
  const rows = [["model", "trained on", "n"], ["a", "32", "1 ± 2"], ["b", "–", "–"]];
  assert.equal(
    table(rows),
    ["model  trained on  n", "a              32  1 ± 2", "b               –  –"].join("\n"),
  );
});

Deno.test("control characters of a text are shown, colours of the program stay", () => {
  assert.equal(withoutControl("a\x1b[2J\x07\x9b1m\tb\n"), "a\\x1b[2J\\x07\\x9b1m\tb\n");
  assert.equal(withoutControl("\x1b[31mred\x1b[0m\x1b]0;t", true), "\x1b[31mred\x1b[0m\\x1b]0;t");
  assert.equal(withoutControl("\x1b[31mred"), "\\x1b[31mred");
});
