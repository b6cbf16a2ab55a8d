/**
 * Damaged and hostile data files: whatever a file holds, reading it gives problems or one error
 * that names it, in bounded time and memory, and no promise is left without a handler.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import zlib from "node:zlib";
import { RgxError } from "../core/errors.ts";
import { RandomStream } from "../core/philox.ts";
import { test } from "../core/testing.ts";
import { assertFast } from "../core/time_limit_testing.ts";
import { openProblems, readEntries } from "./open_problems.ts";
import { parseTable } from "./read_rows.ts";
import { CODECS, QUESTIONS, TEXT_COLUMNS, writeParquet } from "./testing.ts";

/** How many mutated files are read; RGX_FUZZ_TABLES=10000 reads more, RGX_FUZZ_SEED others. */
const COUNT = Number(Deno.env.get("RGX_FUZZ_TABLES") ?? 300);
const SEED = Number(Deno.env.get("RGX_FUZZ_SEED") ?? 1);
/** Longest time for one of these files, in milliseconds. */
const LIMIT = 10_000;

/** Small whole files of all kinds, by the ends of their names. */
function wholeFiles(folder: string): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const codec of CODECS) {
    const path = `${folder}/${codec}.parquet`;
    writeParquet(path, codec);
    files.set(`${codec}.parquet`, Deno.readFileSync(path));
  }
  const row = (question: string, i: number) => ({
    question,
    answer: `${i + 1}`,
    tags: [{ a: [i, null] }],
    metadata: { level: "é\u{1F600}" },
  });
  const bytes = (text: string) => new TextEncoder().encode(text);
  const lines = QUESTIONS.map((question, i) => JSON.stringify(row(question, i))).join("\n");
  const table = (delimiter: string) =>
    QUESTIONS.map((question, i) => [`"${question}, ""so"""`, i + 1].join(delimiter)).join("\r\n");
  files.set("lines.jsonl", bytes(lines));
  files.set("list.json", bytes(JSON.stringify(QUESTIONS.map(row))));
  files.set("table.csv", bytes(`question,answer\n${table(",")}\n`));
  files.set("table.tsv", bytes(`question\tanswer\n${table("\t")}\n`));
  files.set("lines.jsonl.gz", zlib.gzipSync(lines));
  files.set("lines.jsonl.zst", zlib.zstdCompressSync(lines));
  return files;
}

/** Bytes with a meaning in some format: ends of numbers, quotes, brackets, halves of characters. */
const BYTES = [0, 1, 0x7f, 0x80, 0xff, 10, 13, 34, 44, 92, 0x5b, 0x7b, 0x7d, 0xed, 0xa0, 0xf0];

function mutated(whole: Uint8Array, random: RandomStream): Uint8Array {
  let bytes = Uint8Array.from(whole);
  for (let n = random.int(1, 4); n > 0; n--) {
    // The end of a parquet file describes its contents.
    const isTail = random.random() < 0.4, from = isTail ? Math.max(0, bytes.length - 600) : 0;
    const at = random.int(from, Math.max(from, bytes.length - 1));
    const byte = random.random() < 0.5
      ? BYTES[random.int(0, BYTES.length - 1)]!
      : random.int(0, 255);
    const kind = random.int(0, 4);
    if (kind <= 1) bytes[at] = byte;
    else if (kind === 2) bytes = bytes.slice(0, at);
    else {
      const end = Math.min(bytes.length, at + random.int(1, 40));
      const middle = kind === 3 ? [] : [...bytes.subarray(at, end), ...bytes.subarray(at, end)];
      bytes = Uint8Array.from([...bytes.subarray(0, at), ...middle, ...bytes.subarray(end)]);
    }
  }
  return bytes;
}

/** A test in a folder, in which no promise may fail without a handler. */
function testInFolder(name: string, work: (folder: string) => Promise<void>): void {
  test.inFolder(name, async (folder) => {
    const stray: unknown[] = [];
    const note = (event: PromiseRejectionEvent) => {
      event.preventDefault();
      stray.push(event.reason);
    };
    addEventListener("unhandledrejection", note);
    try {
      await work(folder);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.deepEqual(stray, [], "promises without a handler");
    } finally {
      removeEventListener("unhandledrejection", note);
    }
  });
}

testInFolder(
  "mutated data files give problems, or one error that names the file",
  async (folder) => {
    const kinds = [...wholeFiles(folder)];
    // A page of the last one has a header without a length.
    for (const i of [...Array(COUNT).keys(), 740]) {
      const random = RandomStream.forPurpose(SEED, "shuffle", `table ${i}`);
      const [name, whole] = kinds[i % kinds.length]!, path = `${folder}/${i}_${name}`;
      await Deno.writeFile(path, mutated(whole, random));
      const start = performance.now();
      try {
        for (const { question } of await readEntries(path)) assert.equal(typeof question, "string");
      } catch (error) {
        assert.ok(error instanceof RgxError, `${i} ${name}: ${(error as Error).stack}`);
        assert.ok(error.message.includes(path), `${i} ${name}: ${error.message}`);
        assert.ok(
          error.message.length < 2000,
          `${i} ${name}: a message of ${error.message.length}`,
        );
      }
      const time = performance.now() - start;
      assert.ok(time < LIMIT, `${i} ${name} took ${Math.round(time)} ms`);
      await Deno.remove(path);
    }
  },
);

testInFolder(
  "tables that are too large, or packed in an unknown way, are refused",
  async (folder) => {
    const path = `${folder}/a.parquet`;
    writeParquet(path, "LZ4_RAW");
    await assert.rejects(readEntries(path), /a\.parquet: is packed with LZ4_RAW, expected none/);
    const more = Array.from({ length: 10_001 }, (_, i) => ({
      name: `c${i}`,
      data: ["q"],
      type: "STRING" as const,
    }));
    writeParquet(path, "UNCOMPRESSED", more);
    await assert.rejects(readEntries(path), /a\.parquet: has 10001 columns, 10000 is the most/);
    const long = "a".repeat(2 ** 24);
    const data = Array.from({ length: 20 }, (_, i) => `${i} ${long}`);
    writeParquet(path, "ZSTD", [{ name: "question", data, type: "STRING", encoding: "PLAIN" }]);
    await assert.rejects(readEntries(path), /a\.parquet: unpacks to more than 268 MB, from /);
    const same = [{ name: "question", data: Array(20).fill(long), type: "STRING" as const }];
    writeParquet(path, "ZSTD", same);
    await assert.rejects(readEntries(path), /a\.parquet: unpacks to more than 268 MB, from /);
    const piece = zlib.gzipSync(new Uint8Array(2 ** 24));
    await Deno.writeFile(`${folder}/a.jsonl.gz`, Buffer.concat(Array(17).fill(piece)));
    await assert.rejects(readEntries(`${folder}/a.jsonl.gz`), /a\.jsonl\.gz: unpacks to more than/);
  },
);

testInFolder("a page with a run of more values than the page has is refused", async (folder) => {
  const path = `${folder}/a.parquet`, data = [...QUESTIONS.slice(0, 7), null];
  writeParquet(path, "UNCOMPRESSED", [{ name: "question", data, type: "STRING" }]);
  const bytes = Deno.readFileSync(path);
  // The levels: one group of eight packed values, of which seven are 1.
  const at = bytes.findIndex((_, i) => bytes[i] === 3 && bytes[i + 1] === 0x7f);
  assert.ok(at > 0);
  bytes.set([0xfe, 0xff, 0xff, 0xff, 0x0f], at); // 2^31 − 1 values
  Deno.writeFileSync(path, bytes);
  await assert.rejects(readEntries(path), /a page of question has more values than it says/);
});

testInFolder(
  "a table with many columns takes little time, and its error is short",
  async (folder) => {
    const names = Array.from({ length: 10_000 }, (_, i) => `c${i}`), line = names.join();
    assertFast(2000, () => assert.equal(parseTable(`${line}\n${line}\n`, "a.csv", ",").length, 1));
    assert.throws(
      () => parseTable(`${line}\n1\n`, "a.csv", ","),
      ({ message }: Error) => message.length < 200 && message.includes("9992 more"),
    );
    const most = /has 10001 columns, 10000 is the most/;
    assert.throws(() => parseTable(`${line},x\n`, "a.csv", ","), most);
    const row = Object.fromEntries([...names, "x"].map((name) => [name, "1"]));
    await Deno.writeTextFile(`${folder}/a.jsonl`, JSON.stringify(row));
    await assert.rejects(readEntries(`${folder}/a.jsonl`), most);
  },
);

testInFolder("hostile names and texts are data like others", async (folder) => {
  const path = `${folder}/a.jsonl`;
  const line = (i: number) =>
    `{"question": "${i} \\ud800", "answer": "\\udc00", "__proto__": {"answer": "x"}, ` +
    `"constructor": 1, "metadata": {"__proto__": {"level": 1}, "source_dataset": "__proto__"}}`;
  await Deno.writeTextFile(path, QUESTIONS.map((_, i) => line(i)).join("\n"));
  const [entry] = await readEntries(path);
  assert.equal(entry!.answer, "\udc00");
  assert.equal(entry!.metadata["source_dataset"], "file");
  assert.equal(Object.getPrototypeOf(entry!.metadata), Object.prototype);
  assert.equal(({} as Record<string, unknown>)["level"], undefined);
  const deep = "[".repeat(20_000) + "]".repeat(20_000);
  await Deno.writeTextFile(path, `{"question": "q", "answer": "1", "deep": ${deep}}`);
  assert.equal((await readEntries(path)).length, 1);
  await Deno.writeTextFile(path, `{"question": "q", "answer": {"a": ${deep}}}`);
  await assert.rejects(readEntries(path), /a\.jsonl:1: answer: must be a text/);
  writeParquet(`${folder}/a.parquet`, "SNAPPY", [
    ...TEXT_COLUMNS,
    { name: "__proto__", data: QUESTIONS.map(() => ({ question: "x" })), type: "JSON" },
  ]);
  const options = { task_name: null, task_config: {}, seed: 1, num_examples: null };
  const source = await openProblems({ ...options, dataset_name: `${folder}/a.parquet` });
  assert.match(source.entry("train", 0).question, /^\d+ \+ 1 =$/);
});
