/** Files of rows: lines, lists, and texts in another encoding. */
import assert from "node:assert/strict";
import zlib from "node:zlib";
import { readJsonLineRows } from "./read_rows.ts";

async function rowsOf(content: string | Uint8Array): Promise<unknown[]> {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  try {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(path, bytes);
    return readJsonLineRows(path).map(({ columns, place }) => [columns, place.slice(path.length)]);
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("rows are lines, or one list over any number of lines", async () => {
  const [a, b] = [{ question: "é?" }, { question: "b?" }];
  const lines = [[a, ":1"], [b, ":3"]], list = [[a, ": row 1"], [b, ": row 2"]];
  assert.deepEqual(await rowsOf(`\ufeff${JSON.stringify(a)}\r\n\r\n${JSON.stringify(b)}`), lines);
  assert.deepEqual(await rowsOf(JSON.stringify([a, b])), list);
  assert.deepEqual(await rowsOf(`\n ${JSON.stringify([a, b], null, 2)}\n`), list);
  await assert.rejects(rowsOf("[{}, 3]"), /row 2: must be an object, found 3/);
  await assert.rejects(rowsOf("[{},"), /not valid JSON.*expected one list of objects/);
});

Deno.test("a text that is not UTF-8 is refused, not read with other letters", async () => {
  await assert.rejects(rowsOf(new Uint8Array([0x7b, 0xe9, 0x7d])), /is not a text in UTF-8/);
  await assert.rejects(rowsOf(new Uint8Array([0xff, 0xfe, 0x7b, 0])), /is UTF-16, expected UTF-8/);
});

Deno.test("files that gzip or zstd has packed are read; other packings are named", async () => {
  const text = new TextEncoder().encode('{"question": "é?"}\n{"question": "b?"}\n');
  const rows = [[{ question: "é?" }, ":1"], [{ question: "b?" }, ":2"]];
  const packed = zlib.gzipSync(text);
  assert.deepEqual(await rowsOf(new Uint8Array(packed)), rows);
  assert.deepEqual(await rowsOf(new Uint8Array(zlib.zstdCompressSync(text))), rows);
  await assert.rejects(rowsOf(new Uint8Array(packed.subarray(0, 30))), /cannot be unpacked/);
  const magic = (name: string) => new Uint8Array([...new TextEncoder().encode(name), 0xff, 0xff]);
  await assert.rejects(rowsOf(magic("ARROW1")), /is an Arrow file, expected JSON Lines or parquet/);
  await assert.rejects(rowsOf(magic("PAR1")), /is parquet/);
});

Deno.test("answers that are whole numbers are exact, however long they are", async () => {
  const rows = '{"answer": 12345678901234567890, "n": 9007199254740991}\n{"answer": 1.5e300}\n' +
    '{"answer": 1e400, "n": 2}';
  assert.deepEqual(await rowsOf(rows), [
    [{ answer: "12345678901234567890", n: 9007199254740991 }, ":1"],
    [{ answer: 1.5e300 }, ":2"],
    [{ answer: "1e400", n: 2 }, ":3"],
  ]);
});
