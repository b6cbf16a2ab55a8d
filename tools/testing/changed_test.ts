import assert from "node:assert/strict";
import { reachedTests } from "./changed.ts";

const SOURCES = new Map([
  ["core/a.ts", "export const a = 1;"],
  ["core/a_test.ts", 'import { a } from "./a.ts";'],
  ["data/b.ts", 'import { a } from "../core/a.ts";\nimport text from "./words.txt";'],
  ["data/b_test.ts", 'import { b } from "./b.ts";'],
  ["data/c_test.ts", 'readGoldenJson("numbers/sums.json");'],
  ["main.ts", 'await import("./data/b.ts");'],
  ["tests/support.ts", 'new URL("main.ts", root)'],
  ["tests/commands/train_test.ts", 'import { rgx } from "../support.ts";'],
]);

Deno.test("a change reaches the tests of its importers, and tests that start the program", () => {
  assert.deepEqual(reachedTests(["core/a.ts"], SOURCES), [
    "core/a_test.ts",
    "data/b_test.ts",
    "tests/commands/train_test.ts",
  ]);
  assert.deepEqual(reachedTests(["core/a_test.ts"], SOURCES), ["core/a_test.ts"]);
});

Deno.test("a data file reaches the tests that read it, and deno.json reaches all tests", () => {
  assert.deepEqual(reachedTests(["data/words.txt"], SOURCES), [
    "data/b_test.ts",
    "tests/commands/train_test.ts",
  ]);
  assert.deepEqual(reachedTests(["tests/golden/numbers/sums.json"], SOURCES), ["data/c_test.ts"]);
  assert.equal(reachedTests(["deno.json"], SOURCES).length, 4);
  assert.deepEqual(reachedTests(["README.md"], SOURCES), []);
});
