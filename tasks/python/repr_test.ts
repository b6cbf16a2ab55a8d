import assert from "node:assert/strict";
import { PyDict, PyFloat, PyTuple } from "./literals.ts";
import { formatExponent, formatFixed, repr, reprFloat, reprString, round, str } from "./repr.ts";
import { readGoldenJson } from "../../tests/golden.ts";

interface Table {
  repr: [number, string][];
  fmt: [number, Record<string, string>][];
  round: [number, number, number][];
}

Deno.test("floats are written and rounded as in the recorded table", () => {
  const table = readGoldenJson<Table>("reasoning-gym/core/python_float_format.json");
  for (const [x, text] of table.repr) assert.equal(reprFloat(x), text);
  for (const [x, formats] of table.fmt) {
    for (const [format, text] of Object.entries(formats)) {
      const digits = Number(/\.([0-9]+)/.exec(format)?.[1] ?? 6);
      if (format.endsWith("f")) assert.equal(formatFixed(x, digits), text, `${x} ${format}`);
      if (format.endsWith("e")) assert.equal(formatExponent(x, digits), text, `${x} ${format}`);
    }
  }
  for (const [x, digits, result] of table.round) {
    assert.equal(round(x, digits), result, `${x} ${digits}`);
  }
});

Deno.test("ties go to the even digit; only exact ties count", () => {
  const fixed: [number, number, string][] = [
    [0.5, 0, "0"],
    [1.5, 0, "2"],
    [2.5, 0, "2"],
    [-0.5, 0, "-0"],
    [10.5, 0, "10"],
    [99.5, 0, "100"],
    [0.125, 2, "0.12"],
    [0.375, 2, "0.38"],
    [2.675, 2, "2.67"],
    [1.005, 2, "1.00"],
    [0.25, 1, "0.2"],
    [10.25, 1, "10.2"],
    [1e23, 1, "99999999999999991611392.0"],
    [NaN, 2, "nan"],
    [-Infinity, 2, "-inf"],
  ];
  for (const [x, digits, text] of fixed) assert.equal(formatFixed(x, digits), text, `${x}`);
  assert.equal(formatExponent(12.5, 1), "1.2e+01");
  assert.equal(formatExponent(2.5, 0), "2e+00");
  assert.equal(formatExponent(1.35e-7, 1), "1.4e-07");
  const rounded: [number, number, number][] = [
    [250, -2, 200],
    [350, -2, 400],
    [250.5, -2, 300],
    [-350, -2, -400],
    [0.1 + 0.2, 15, 0.3],
    [5e-324, 3, 0],
  ];
  for (const [x, digits, result] of rounded) assert.equal(round(x, digits), result, `${x}`);
  assert.ok(Object.is(round(-0.4), -0));
});

Deno.test("values are written as Python writes them", () => {
  assert.equal(reprFloat(1234567.5), "1234567.5");
  assert.equal(reprFloat(0.00012), "0.00012");
  assert.equal(reprString("it's"), `"it's"`);
  assert.equal(reprString(`'"`), `'\\'"'`);
  assert.equal(
    reprString("a\\\n\x7f\u00a0\u2028\ud800é😀"),
    "'a\\\\\\n\\x7f\\xa0\\u2028\\ud800é😀'",
  );
  const list = [1, new PyFloat(3), "a", null, true, new PyTuple([1]), [], 12345678901234567890n];
  assert.equal(repr(list), "[1, 3.0, 'a', None, True, (1,), [], 12345678901234567890]");
  assert.equal(
    repr(new PyDict([["a", [1, 2]], [1, []]])),
    "{'a': [1, 2], 1: []}",
  );
  assert.equal(str("a") + str(1) + str(["a"]), "a1['a']");
});
