/** The splits of data sets that a configuration names, as sources of problems. */
import assert from "node:assert/strict";
import { withFolder } from "../core/testing.ts";
import { openProblems } from "./open_problems.ts";
import { FROM_FILE, lines } from "./testing.ts";

const rows = (name: string, count: number, more: object = {}) =>
  lines(
    Array.from({ length: count }, (_, i) => ({ question: `${name}${i}`, answer: "1", ...more })),
  );

const FILES: Readonly<Record<string, string>> = {
  "one.jsonl": rows("a", 10),
  "set/train.jsonl": rows("t", 10),
  "set/validation.jsonl": rows("v", 4),
  "column.jsonl": rows("t", 3, { split: "train" }) + rows("d", 2, { split: "dev" }) +
    rows("s", 1, { split: "test" }),
};

async function withData(work: (folder: string) => Promise<void>) {
  await withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/set`);
    for (const [name, text] of Object.entries(FILES)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    await work(folder);
  });
}

Deno.test("splits and slices of files, folders and a column are trained on and held out", async () => {
  await withData(async (folder) => {
    const open = (name: string, train?: string, test?: string, hold_out = false) =>
      openProblems({
        ...FROM_FILE,
        dataset_name: `${folder}/${name}`,
        hold_out,
        ...(train === undefined ? {} : { dataset_train_split: train }),
        ...(test === undefined ? {} : { dataset_test_split: test }),
      });
    const splitsOf = async (...args: Parameters<typeof open>) => {
      const source = await open(...args);
      const all = (split: "train" | "test") =>
        Array.from({ length: source.length(split) }, (_, i) => source.entry(split, i).question)
          .join(" ");
      return [all("train"), all("test"), ...source.notes ?? []];
    };
    const ten = rows("t", 10).match(/t\d/g)!.join(" "), four = "v0 v1 v2 v3";
    assert.deepEqual(await splitsOf("set"), [ten, four]);
    assert.deepEqual(await splitsOf("set", "train[:3]"), ["t0 t1 t2", four]);
    assert.deepEqual(await splitsOf("set", "validation"), [four, ""]);
    assert.deepEqual(await splitsOf("set", "train[80%:]+validation[:1]", "train[:2]"), [
      "t8 t9 v0",
      "t0 t1",
    ]);
    assert.deepEqual(await splitsOf("one.jsonl", "train[:20%]", "train[-2:]"), ["a0 a1", "a8 a9"]);
    assert.deepEqual(await splitsOf("column.jsonl"), ["t0 t1 t2", "s0"]);
    assert.deepEqual(await splitsOf("column.jsonl", "dev"), ["d0 d1", "s0"]);
    assert.deepEqual(await splitsOf("column.jsonl", "train[1:]", "dev"), ["t1 t2", "d0 d1"]);
    assert.deepEqual(await splitsOf("column.jsonl", "test"), ["s0", ""]);
    assert.deepEqual(await splitsOf("one.jsonl", "train[:2]", "train[1:3]"), [
      "a0 a1",
      "a1 a2",
      `${folder}/one.jsonl: 1 of the 2 problems of the test split is trained on, too`,
    ]);
    // What is asked, splitProblems counts.
    assert.deepEqual((await open("one.jsonl", "train[:2]", "train[1:3]", true)).notes ?? [], []);
    // A slice without a test split is divided like a file.
    const held = await open("one.jsonl", "train[:8]", undefined, true);
    assert.equal(held.length("train") + held.length("test"), 8);

    const refused = async (message: RegExp, ...args: Parameters<typeof open>) =>
      await assert.rejects(open(...args), message);
    await refused(/there is no split "dev", only train$/, "one.jsonl", "dev");
    // A split that is asked for is not replaced by another one.
    await refused(/there is no split "test", only train$/, "one.jsonl", "test");
    await refused(/there is no split "test", only train, validation$/, "set", "test");
    await refused(/there is no split "dev", only train, validation$/, "set", "dev");
    await refused(/there is no split "test", only train, validation$/, "set", "train", "test[:2]");
    await refused(/there is no split "x", only train, dev, test$/, "column.jsonl", "x");
    await refused(/"train\[10:\]" has no rows: train has 10 rows$/, "one.jsonl", "train[10:]");
  });
});
