import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { getTask } from "../../tasks/registry.ts";
import { readTaskParams } from "./task_params.ts";

Deno.test("--set takes plain text as it is, and lists as YAML", () => {
  const read = (value: string) =>
    readTaskParams(getTask("chain_sum"), { set: [`key=${value}`], setLevel: [] })["key"];
  const cases: [text: string, value: unknown][] = [
    ["3", 3],
    ["-1.5e2", -150],
    ["true", true],
    ["null", null],
    ['""', ""],
    ["*", "*"],
    [":", ":"],
    ["%d @home", "%d @home"],
    ['["+", "*"]', ["+", "*"]],
    ["{a: [1, b]}", { a: [1, "b"] }],
  ];
  for (const [text, value] of cases) assert.deepEqual(read(text), value, text);
  for (const text of ["[+,-,*]", "[+,-]", "[", '"', "{a: [1"]) {
    assert.throws(() => read(text), (error) => {
      assert.ok(error instanceof UsageError, String(error));
      assert.ok(error.message.startsWith(`--set key=${text}: can not read the value: `));
      assert.ok(!error.message.includes("\n"), error.message);
      return true;
    });
  }
});

Deno.test("a key may name its task, and must where a command has several", () => {
  const task = getTask("chain_sum");
  const options = {
    set: ["chain_sum.max_terms=3", "max_digits=2", "gcd.max_numbers=4"],
    setLevel: [],
  };
  assert.deepEqual(readTaskParams(task, options, true), { max_terms: 3 });
  const alone = { set: options.set.slice(0, 2), setLevel: ["chain_sum.num_terms=0"] };
  const { max_terms, max_digits } = readTaskParams(task, alone);
  assert.deepEqual([max_terms, max_digits], [3, 2]);
});
