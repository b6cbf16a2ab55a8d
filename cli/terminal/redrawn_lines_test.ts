/** Redrawn lines: what a terminal shows, and what is sent to it. */
import assert from "node:assert/strict";
import { RedrawnLines } from "./redrawn_lines.ts";
import { shown } from "./terminal_testing.ts";

/** The lines on a terminal after this text was written to it. */
function screen(written: string): string[] {
  const lines = [""];
  let row = 0, column = 0;
  const marked = written.replaceAll("\x1b[A", "↑").replaceAll("\x1b[K", "×");
  for (const [part] of marked.matchAll(/[↑×\r\n]|[^↑×\r\n]+/g)) {
    if (part === "↑") row--;
    else if (part === "×") lines[row] = lines[row]!.slice(0, column);
    else if (part === "\r") column = 0;
    else if (part === "\n") [row, column] = [row + 1, 0];
    else {
      lines[row] = (lines[row] ?? "").slice(0, column) + part;
      column += part.length;
    }
    lines[row] ??= "";
  }
  return lines;
}

const after = (work: (lines: RedrawnLines) => void) =>
  screen(shown(true, () => work(new RedrawnLines())).join(""));

Deno.test("lines replace those before, however many there are", () => {
  assert.deepEqual(after((lines) => lines.draw("a")), ["a"]);
  assert.deepEqual(
    after((lines) => {
      lines.draw("first, long");
      lines.draw("one", "two", "three");
      lines.draw("1", "2");
      assert.equal(lines.drawn, true);
    }),
    ["1", "2", ""],
  );
});

Deno.test("what is said stays above them", () => {
  assert.deepEqual(
    after((lines) => {
      lines.say("before");
      lines.draw("one", "two");
      lines.say("between");
      lines.draw("three", "four");
      lines.say("after");
    }),
    ["before", "between", "after", "three", "four"],
  );
});

Deno.test("removed lines leave nothing, and nothing more is sent", () => {
  assert.deepEqual(
    after((lines) => {
      lines.draw("one", "two");
      lines.clear();
      assert.equal(lines.drawn, false);
      lines.say("end");
    }),
    ["end", ""],
  );
  assert.deepEqual(
    shown(true, () => {
      const lines = new RedrawnLines();
      lines.draw("a");
      lines.clear();
      lines.clear();
    }),
    ["\r\x1b[Ka", "\r\x1b[K"],
  );
});

Deno.test("a line is cut before the last column, where a terminal would wrap it", () => {
  const [line] = after((lines) => lines.draw("x".repeat(500)));
  assert.equal(line, "x".repeat(58) + "…");
});
