/** The results of tools are shortened as verl shortens them. */
import assert from "node:assert/strict";
import { readGoldenJson } from "../../tests/golden.ts";
import { truncated, type TruncateSide } from "./environment.ts";

Deno.test("a long result of a tool is cut as verl cuts it, on each side", () => {
  type Case = { text: string; length: number; side: TruncateSide; result: string };
  const cases = readGoldenJson<Case[]>("dialects/verl-truncation.json");
  assert.ok(cases.length >= 45);
  for (const { text, length, side, result } of cases) {
    assert.equal(truncated(text, length, side), result, `${length} ${side}`);
  }
  // Of one character, half is 0, and verl would write the whole text after the mark.
  assert.equal(truncated("abc", 1, "middle"), "...(truncated)...");
});
