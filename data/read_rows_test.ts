/** Files of rows: lines, lists, tables, and texts in another encoding. */
import assert from "node:assert/strict";
import zlib from "node:zlib";
import { parseTable, readJsonLineRows, readTextRows } from "./read_rows.ts";
import { withFile } from "./testing.ts";

function rowsOf(content: string | Uint8Array): Promise<unknown[]> {
  return withFile(
    content,
    (path) =>
      readJsonLineRows(path).map(({ columns, place }) => [columns, place.slice(path.length)]),
  );
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

const columns = (text: string, delimiter: "," | "\t" = ",") =>
  parseTable(text, "f.csv", delimiter).map((row) => row.columns);

Deno.test("fields in quotes hold commas, quotes and line breaks; empty lines are left out", () => {
  assert.deepEqual(parseTable("q\ra\r\rb", "old.csv", ",").map(({ columns }) => columns), [
    { q: "a" },
    { q: "b" },
  ]);
  const rows = parseTable('q,a\r\n"1, 2\nor ""3""?",3\r\n\r\n"",x', "f.csv", ",");
  assert.deepEqual(rows, [
    { place: "f.csv:2", columns: { q: '1, 2\nor "3"?', a: "3" } },
    { place: "f.csv:5", columns: { q: null, a: "x" } },
  ]);
  assert.deepEqual(columns("q\ta\nx, y\t\n", "\t"), [{ q: "x, y", a: null }]);
  assert.deepEqual(columns(""), []);
  assert.deepEqual(columns("q,a\n"), []);
});

Deno.test("a column is of numbers only if no digit of it changes", () => {
  assert.deepEqual(columns("a,b,c,d\n1,1,007,1.50\n-2.5,x,8,2\n,,,\n"), [
    { a: 1, b: "1", c: "007", d: "1.50" },
    { a: -2.5, b: "x", c: "8", d: "2" },
    { a: null, b: null, c: null, d: null },
  ]);
});

Deno.test("a column without a name has pandas' name", () => {
  assert.deepEqual(columns(",q\n0,x\n"), [{ "Unnamed: 0": 0, q: "x" }]);
});

Deno.test("what is no table is an error with its line", () => {
  const wrong: [text: string, message: string][] = [
    ["q,a\nx\n", "f.csv:2: 1 field, expected 2: q, a"],
    ['q,a\n"x\ny",1\nx,1,2\n', "f.csv:4: 3 fields, expected 2: q, a"],
    ['q,a\n"x,1\n', "f.csv:2: a quote is not closed"],
    ['q,a\n"x"y,1\n', 'f.csv:2: "y" follows a field in quotes'],
    ['q,a\n5" pipe,1\n', "f.csv:2: a quote within a field that is not in quotes"],
    ["q,q\n1,2\n", "f.csv:1: two columns have the name q"],
  ];
  for (const [text, message] of wrong) {
    assert.throws(() => parseTable(text, "f.csv", ","), { name: "UsageError", message });
  }
});

Deno.test("the rows of a file have the places of their lines", () =>
  withFile("\ufeffquestion,answer\nTwo?,2\n", (path) => {
    const expected = { columns: { question: "Two?", answer: 2 }, place: `${path}:2` };
    assert.deepEqual(readTextRows(path), [expected]);
  }, "a.csv"));
