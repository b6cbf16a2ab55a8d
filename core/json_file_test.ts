import assert from "node:assert/strict";
import { parseJsonObject } from "./json_file.ts";

Deno.test("numbers as Python writes them are read, and texts stay as they are", () => {
  assert.deepEqual(
    parseJsonObject(
      `{"a": [0.0, Infinity], "b": -Infinity, "c": NaN, "d": "NaN \\" Infinity"}`,
      "f",
    ),
    { a: [0, Infinity], b: -Infinity, c: "NaN", d: 'NaN " Infinity' },
  );
  assert.throws(() => parseJsonObject(`{"a": Infinite}`, "f"), /^RgxError: f: not valid JSON/);
});
