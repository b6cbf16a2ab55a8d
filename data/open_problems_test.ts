/** Data sets in every form: JSON Lines, parquet, a folder, a pulled data set. */
import assert from "node:assert/strict";
import { parquetWriteFile } from "hyparquet-writer";
import { test } from "../core/testing.ts";
import { openProblems, readEntries } from "./open_problems.ts";
import { ANSWERS, CODECS, FROM_FILE, lines, QUESTIONS, writeParquet } from "./testing.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

test.inFolder("parquet gives the same entries as JSON Lines, in every usual packing", async (folder) => {
  const tags = { kind: "sum", parts: [1, 2] };
  const rows = QUESTIONS.map((question, i) => {
    return { question, answer: ANSWERS[i], steps: i, tags, score: i / 3, easy: i % 2 === 0 };
  });
  await Deno.writeTextFile(`${folder}/a.jsonl`, lines(rows));
  const wanted = await readEntries(`${folder}/a.jsonl`);
  assert.equal(wanted.length, QUESTIONS.length);
  assert.equal(wanted[3]!.metadata["steps"], 3);
  for (const codec of CODECS) {
    writeParquet(`${folder}/${codec}.parquet`, codec);
    assert.deepEqual(await readEntries(`${folder}/${codec}.parquet`), wanted, codec);
  }
  writeParquet(`${folder}/x.parquet`, "LZ4");
  await assert.rejects(readEntries(`${folder}/x.parquet`), /x\.parquet: is packed with LZ4, /);
  await Deno.truncate(`${folder}/GZIP.parquet`, 300);
  await assert.rejects(
    readEntries(`${folder}/GZIP.parquet`),
    /GZIP\.parquet: not a parquet file/,
  );
});

test.inFolder("a pulled data set is named as on the Hub; its splits are kept apart", async (cache) => {
  const main = `${cache}/datasets--org--sums/snapshots/${COMMIT}/main`;
  await Deno.mkdir(main, { recursive: true });
  writeParquet(`${main}/train-00000-of-00001.parquet`);
  await Deno.writeTextFile(`${main}/test.jsonl`, '{"question": "q", "answer": "a"}');
  const before = Deno.env.get("HF_HUB_CACHE");
  Deno.env.set("HF_HUB_CACHE", cache);
  try {
    for (const name of ["org/sums", "hf://datasets/org/sums/main", main]) {
      const source = await openProblems({ ...FROM_FILE, num_examples: 1000, dataset_name: name });
      const splits = (["train", "validation", "test"] as const).map((split) =>
        source.length(split)
      );
      assert.deepEqual(splits, [QUESTIONS.length, 0, 1]);
      assert.equal(source.name, name);
    }
    assert.deepEqual((await readEntries("org/sums", "test")).map(({ answer }) => answer), ["a"]);
    await assert.rejects(
      readEntries("org/other"),
      /org\/other: no such file, nor a data set from the Hub: looked for org\/other and for /,
    );
    await assert.rejects(
      readEntries("hf://datasets/org/other"),
      /^UsageError: hf:\/\/datasets\/org\/other: no copy from the Hub: looked for \/.*main$/,
    );
    // The second path could also be a name on the Hub.
    for (const name of ["./other.jsonl", "other.jsonl"]) {
      await assert.rejects(readEntries(name), /there is no such file$/);
    }
  } finally {
    if (before === undefined) Deno.env.delete("HF_HUB_CACHE");
    else Deno.env.set("HF_HUB_CACHE", before);
  }
});

test.inFolder("a bad row of a parquet file is named by its number", async (folder) => {
  parquetWriteFile({
    filename: `${folder}/a.parquet`,
    columnData: [{ name: "text", data: ["a", "b"], type: "STRING" }],
  });
  await assert.rejects(
    readEntries(`${folder}/a.parquet`),
    /a\.parquet: row 1: has no column prompt, .* or messages \(its columns: text\)/,
  );
});

test.inFolder("a note says that a file has only questions before they are trained on", async (folder) => {
  const path = `${folder}/a.jsonl`;
  const write = (more: object) =>
    Deno.writeTextFile(path, lines(QUESTIONS.map((question) => ({ question, ...more }))));
  const options = { ...FROM_FILE, dataset_name: path };
  await write({ label: "2" });
  const open = await openProblems({ ...options, num_examples: 10 });
  assert.match(open.notes!.join(), /none of the 20 problems has an answer/);
  const rows = QUESTIONS.map((question, i) => i < 9 ? { question } : { question, answer: "2" });
  await Deno.writeTextFile(path, lines(rows));
  const some = await openProblems({ ...options, num_examples: 10 });
  assert.match(some.notes!.join(), /9 of the 20 problems have no answer .* of them is right/);
  await write({ answer: "2" });
  const closed = await openProblems({ ...options, num_examples: 10 });
  assert.doesNotMatch(closed.notes!.join(), /answer/);
});

test.inFolder("the test split of a file with several splits is not trained on", async (folder) => {
  const path = `${folder}/all.jsonl`, splits = ["train", "test", "train", "validation"];
  const rows = QUESTIONS.map((question, i) => ({ split: splits[i % 4]!, question }));
  const written = rows.map(({ split, question }, i) => ({
    question,
    answer: ANSWERS[i],
    ...(i % 3 === 0 ? { extra_info: { split } } : { split }), // where verl has it
  }));
  await Deno.writeTextFile(path, lines(written));
  const of = (split: string) => rows.flatMap((row) => row.split === split ? [row.question] : []);
  const options = { ...FROM_FILE, dataset_name: path };
  const source = await openProblems({ ...options, num_examples: 100 });
  for (const split of ["train", "test"] as const) {
    const found = Array.from({ length: source.length(split) }, (_, i) => source.entry(split, i));
    assert.deepEqual(found.map(({ question }) => question), of(split));
    assert.deepEqual((await readEntries(path, split)).map((e) => e.question), of(split));
  }
});

test.inFolder("files that are named are read alone; a folder leaves out what runs in it wrote", async (folder) => {
  const line = (question: string) => lines([{ question, answer: "1" }]);
  const write = async (name: string, ...rows: string[]) => {
    await Deno.mkdir(`${folder}/${name}`.replace(/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${name}`, rows.map(line).join(""));
  };
  await write("train.jsonl", "a", "b", "c");
  await write("test.jsonl", "d");
  await write("gsm_test.jsonl", "e", "f");
  const readFiles = async (dataset_name: string, eval_dataset_name: string | null) => {
    const sets = { dataset_name, eval_dataset_name };
    const { files, ...source } = await openProblems({ ...FROM_FILE, ...sets });
    const names = files!.map(({ path, rows, heldOut }) =>
      `${heldOut ? "held out " : ""}${path.slice(folder.length + 1)} ${rows}`
    );
    return [names.join(", "), source.name];
  };
  const [train, test] = [`${folder}/train.jsonl`, `${folder}/test.jsonl`];
  const named = ["train.jsonl 3, held out test.jsonl 1", train];
  assert.deepEqual(await readFiles(train, test), named);
  const parts = ["train.jsonl 3, held out gsm_test.jsonl 2, held out test.jsonl 1", folder];
  assert.deepEqual(await readFiles(folder, null), parts);
  for (const mark of ["run.json", "metrics.jsonl", "results_sums_20260101_000000.json"]) {
    await write(`out/one/${mark}`);
    await write("out/one/eval_before.jsonl", "x");
    await write("out/one/completions/train.parquet");
    await write("out/one/samples_20260101_000000.jsonl", "x");
    assert.deepEqual(await readFiles(folder, null), parts, mark);
    assert.deepEqual(await readFiles(train, test), named, mark);
    await Deno.remove(`${folder}/out`, { recursive: true });
  }
  await write("old/test.jsonl", "x");
  assert.deepEqual(await readFiles(folder, null), parts, "the folder's own files");
  await write("sets/train.jsonl", "a", "b");
  await write("sets/one/test.jsonl", "c");
  await write("sets/two/test.jsonl", "d");
  await assert.rejects(readFiles(`${folder}/sets`, null), /several sets of problems: one, two/);
  await Deno.remove(`${folder}/sets`, { recursive: true });
  // A run whose output_dir is the folder of the data.
  await write("run.json");
  await write("eval_before.jsonl", "x");
  await write("metrics.jsonl", "x");
  await write("completions/train.parquet");
  assert.deepEqual(await readFiles(folder, null), parts);
});
