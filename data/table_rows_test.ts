import assert from "node:assert/strict";
import { parseTable, readTextRows } from "./read_rows.ts";

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

Deno.test("the rows of a file have the places of their lines", async () => {
  const path = await Deno.makeTempFile({ suffix: ".csv" });
  try {
    await Deno.writeTextFile(path, "\ufeffquestion,answer\nTwo?,2\n");
    const expected = { columns: { question: "Two?", answer: 2 }, place: `${path}:2` };
    assert.deepEqual(readTextRows(path), [expected]);
  } finally {
    await Deno.remove(path);
  }
});
