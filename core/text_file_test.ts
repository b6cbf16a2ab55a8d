import assert from "node:assert/strict";
import { linesOf } from "./text_file.ts";

Deno.test("the lines of a file equal those of its text, for any length of the pieces", () => {
  for (
    const text of ["", "\n", "a", "a\n", "a\nb", "é\n\nüü\r\n", "\n\n", `${"x".repeat(9)}\nß\n`]
  ) {
    const bytes = new TextEncoder().encode(text);
    const expected = text === "" ? [] : text.split("\n");
    for (const length of [1, 2, 3, 5, 100]) {
      assert.deepEqual([...linesOf(bytes, undefined, length)], expected, JSON.stringify(text));
    }
  }
});
