/** Splits and slices, beside what ReadInstruction of the `datasets` package (4.x) made of them. */
import assert from "node:assert/strict";
import { parseSplit, sliceRows } from "./split_slices.ts";

/** The text, the length of its splits, and the rows from … to of each term. */
const RECORDED: [text: string, length: number, ...rows: [from: number, to: number][]][] = [
  ["train", 7, [0, 7]],
  ["train[:]", 7, [0, 7]],
  ["train[:100]", 7, [0, 7]],
  ["test[21:]", 51, [21, 51]],
  ["train[-13:8]", 1, [0, 1]],
  ["a.b[77%:-5]", 5, [4, 4]],
  ["a.b[-5%:56%]", 5, [0, 3]],
  ["train[1%:76]", 101, [1, 77]],
  ["test[-84%:-77%]", 58, [9, 13]],
  ["train[-98%:-20%]", 101, [2, 81]],
  ["x_1[80:-83%]", 130, [104, 104]],
  ["train[71:43]", 1, [1, 1]],
  // Of two equally near numbers Python takes the even one.
  ["train[50%:]", 5, [2, 5]],
  ["train[50%:]", 7, [4, 7]],
  ["train[:1_0]", 12, [0, 10]],
  ["train[:10%]+train[90%:]", 250, [0, 25], [225, 250]],
  ["train + test[:5]", 9, [0, 9], [0, 5]],
];

Deno.test("slices of a split are those of the datasets package", () => {
  for (const [text, length, ...expected] of RECORDED) {
    const rows = Array.from({ length }, (_, i) => i);
    const found = parseSplit(text).map((slice) => sliceRows(rows, slice));
    assert.deepEqual(found, expected.map(([from, to]) => rows.slice(from, to)), text);
  }
});

Deno.test("what is no split is refused with an example", () => {
  const refused: [text: string, message: RegExp][] = [
    ["", /^UsageError: "": "" is no split$/],
    ["train[10]", /"train\[10\]" is no split/],
    ["train[a:b]", /is no split/],
    ["train+", /"" is no split/],
    ["my-split", /"my-split" is no split/],
    ["train[:101%]", /percents lie between -100 and 100/],
    ["train[:10%](closest)", /is no split/],
  ];
  for (const [text, message] of refused) assert.throws(() => parseSplit(text), message);
});
