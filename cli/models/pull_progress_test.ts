/** The progress line of a pull: it fits 80 columns and shows how far, how fast and how long. */
import assert from "node:assert/strict";
import { progressText } from "./pull.ts";

Deno.test("the line of a pull fits 80 columns however large things are", () => {
  const text = progressText({ present: 1.23e9, bytes: 4.56e9 }, { done: 3, all: 9 }, 45.2e6);
  assert.equal(text, "3/9 files  1.23 GB of 4.56 GB  26 %  45.2 MB/s  1 min 14 s left");
  const huge = progressText(
    { present: 999.4e12, bytes: 999.4e12 },
    { done: 9999, all: 9999 },
    999.4e9,
  );
  assert.ok(huge.length < 80, huge);
  assert.equal(
    progressText({ present: 0, bytes: 10 }, { done: 0, all: 1 }, 0),
    "0/1 files  0 B of 10 B  0 %",
  );
  assert.match(progressText({ present: 0, bytes: 0 }, { done: 1, all: 1 }, 0), /100 %$/);
});
