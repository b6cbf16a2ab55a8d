/** Reads the rows of every format in both kinds of file. */
import assert from "node:assert/strict";
import { parquetReadObjects } from "hyparquet";
import { test, withFolder } from "../core/testing.ts";
import { createDataset, scoreAnswer } from "../tasks/dataset.ts";
import { entryJson } from "../tasks/entry_json.ts";
import type { Entry } from "../tasks/types.ts";
import type { ExportFormat, Row, RowOptions } from "./export_formats.ts";
import { EXPORT_FORMATS, ROW_FORMATS, withSplit } from "./export_formats.ts";
import { writeJsonLines, writeParquet } from "./write_rows.ts";

const OPTIONS = { systemPrompt: "simple", addInstructions: true };

/** The first entry has no single right answer. */
function entries(): Entry[] {
  return ["rush_hour", "chain_sum", "spell_backward"].flatMap((name) => [
    ...createDataset(name, { seed: 4, size: 5 }),
  ]);
}

/** What `read` returns for a file with all entries. */
function writtenTo<T>(
  format: ExportFormat,
  kind: "jsonl" | "parquet",
  read: (path: string) => Promise<T>,
  options: RowOptions = OPTIONS,
): Promise<T> {
  return withFolder(async (folder) => {
    const path = `${folder}/a.${kind}`, { columns, row } = withSplit(ROW_FORMATS[format]);
    const rows = entries().map((entry) => row(entry, "test", options));
    if (kind === "jsonl") await writeJsonLines(path, rows);
    else await writeParquet(path, columns, rows);
    return await read(path);
  });
}

function written(format: ExportFormat, kind: "jsonl" | "parquet"): Promise<Row[]> {
  return writtenTo(format, kind, async (path) => {
    if (kind === "jsonl") {
      const text = await Deno.readTextFile(path);
      return text.trimEnd().split("\n").map((line) => JSON.parse(line));
    }
    const bytes = await Deno.readFile(path);
    return await parquetReadObjects({ file: bytes.buffer }) as Row[];
  });
}

Deno.test("a table has the values of the JSON Lines and the declared columns", async () => {
  for (const format of EXPORT_FORMATS) {
    const lines = await written(format, "jsonl"), table = await written(format, "parquet");
    assert.equal(table.length, 15);
    for (const [i, row] of table.entries()) {
      const plain = JSON.parse(
        JSON.stringify(row, (_, v) => typeof v === "bigint" ? Number(v) : v),
      );
      if (format === "raw") plain.metadata = JSON.parse(plain.metadata);
      assert.deepEqual(plain, lines[i]);
      assert.deepEqual(Object.keys(row), ["split", ...Object.keys(ROW_FORMATS[format].columns)]);
    }
  }
});

Deno.test("numbers beyond 64 bits are written with an exponent, which every reader takes", () => {
  const metadata = { exact: -9007199254740991, large: -8.8e20, text: ":88888888888888888888" };
  const row = ROW_FORMATS.trl.row({ question: "", answer: "", metadata }, "train", OPTIONS);
  assert.equal(
    row["metadata"],
    '{"exact":-9007199254740991,"large":-8.8e+20,"text":":88888888888888888888"}',
  );
  assert.equal(entryJson([NaN, 2 ** 63, 1e18]), "[null,9.223372036854776e+18,1000000000000000000]");
});

Deno.test("an entry can be scored from the rows of every format", () => {
  for (const entry of entries().filter(({ answer }) => answer !== null)) {
    const row = (format: ExportFormat) =>
      // deno-lint-ignore no-explicit-any -- the test looks at the values of a row
      ROW_FORMATS[format].row(entry, "train", OPTIONS) as any;
    assert.deepEqual(row("raw"), entry);
    for (const format of ["chat", "trl"] as const) {
      const { answer, metadata, task } = row(format);
      assert.equal(task, entry.metadata["source_dataset"]);
      assert.equal(scoreAnswer(entry.answer, { answer, metadata: JSON.parse(metadata) }), 1);
    }
    const { reward_model: { ground_truth, style }, extra_info } = row("verl");
    assert.deepEqual(JSON.parse(extra_info.entry), entry);
    assert.equal(scoreAnswer(ground_truth, JSON.parse(extra_info.entry)), 1);
    assert.equal(style, "rule");
  }
});

Deno.test("prompts are conversations with the instruction and the system message", () => {
  const [manyAnswers, , , , , sum] = entries();
  const [system, user] = ROW_FORMATS.trl.row(sum!, "train", OPTIONS)["prompt"] as Row[];
  assert.equal(system!["role"], "system");
  const asDeveloper = { ...OPTIONS, systemRole: "developer" as const };
  const [other] = ROW_FORMATS.chat.row(sum!, "train", asDeveloper)["messages"] as Row[];
  assert.deepEqual(other, { role: "developer", content: system!["content"] });
  assert.ok((user!["content"] as string).endsWith(sum!.question));
  const bare = { systemPrompt: null, addInstructions: false };
  assert.deepEqual(ROW_FORMATS.chat.row(sum!, "train", bare)["messages"], [
    { role: "user", content: sum!.question },
    { role: "assistant", content: `<answer>${sum!.answer}</answer>` },
  ]);
  assert.equal((ROW_FORMATS.chat.row(manyAnswers!, "train", bare)["messages"] as Row[]).length, 1);
});

test.inFolder("more rows than a group holds, and none", async (folder) => {
  const path = `${folder}/a.parquet`;
  const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n, text: `t${n}` }));
  for (const count of [25_000, 0]) {
    await writeParquet(path, { n: "int", text: "text" }, rows(count));
    const { buffer } = await Deno.readFile(path);
    const found = await parquetReadObjects({ file: buffer });
    assert.equal(found.length, count);
    if (count > 0) assert.deepEqual(found.at(-1), { n: 24_999n, text: "t24999" });
  }
});

test.inFolder("a file that can not be finished leaves the earlier one", async (folder) => {
  const path = `${folder}/a.jsonl`;
  await writeJsonLines(path, [{ a: 1 }]);
  const failing = function* () {
    yield { a: 2 };
    throw new Error("no more");
  };
  await assert.rejects(writeJsonLines(path, failing()), /no more/);
  assert.equal(await Deno.readTextFile(path), '{"a":1}\n');
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["a.jsonl"]);
});
