import assert from "node:assert/strict";
import { literalsEqual, parseJson, parseLiteral, PyDict, PyFloat } from "./literals.ts";
import { repr } from "./repr.ts";

Deno.test("Python literals are read as Python reads them", () => {
  const cases: [text: string, repr: string][] = [
    ["-5", "-5"],
    ["+1_000", "1000"],
    ["-(1)", "-1"],
    ["0x1F", "31"],
    ["0b1_01", "5"],
    ["00", "0"],
    ["01.5", "1.5"],
    ["-.5", "-0.5"],
    ["1e5", "100000.0"],
    ["1e999999", "inf"],
    ["9007199254740993", "9007199254740993"],
    ["-123456789012345678901234567890", "-123456789012345678901234567890"],
    [`'a' "b"`, "'ab'"],
    ["'''a'b\nc'''", '"a\'b\\nc"'],
    ["r'a\\n'", "'a\\\\n'"],
    ["'\\x41\\u0042\\U00000043\\101\\q\\''", `"ABCA\\\\q'"`],
    ["[1, 2.0, 'x', None, True, False,]", "[1, 2.0, 'x', None, True, False]"],
    ["1, 2,", "(1, 2)"],
    ["(1)", "1"],
    ["(1,)", "(1,)"],
    ["()", "()"],
    ["\n[ # first\n 1,\\\n2]\n", "[1, 2]"],
  ];
  for (const [text, expected] of cases) {
    const value = parseLiteral(text);
    assert.ok(value !== undefined, text);
    assert.equal(repr(value), expected, text);
  }
});

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

Deno.test("what Python does not read as a literal is refused", () => {
  const texts = [
    "",
    "x",
    "true",
    "--1",
    "-True",
    "-'a'",
    "1+1",
    "1j",
    "1__0",
    "1_",
    "007",
    "0x",
    "1e",
    ".",
    "'a",
    "'a\nb'",
    "f'x'",
    "b'x'",
    "'\\x4'",
    "'\\N{DASH}'",
    "...",
    "1 2",
    "1if",
    "Truex",
    "١",
    "[,]",
    "[1 2]",
    "[1]]",
    "[1",
    "(,)",
    "[*[1]]",
    "\n [1]",
    "[1]\n[2]",
    "1\n,2",
    "[1]\0",
    "9".repeat(4301),
    nested(201),
    "(".repeat(201) + "1" + ")".repeat(201),
    "(1 for x in y)",
    "set([1])",
    "{1, 2}",
    "{1: 2}",
  ];
  for (const text of texts) assert.equal(parseLiteral(text), undefined, text);
});

Deno.test("literals compare as in Python", () => {
  const equal = (a: string, b: string) => literalsEqual(parseLiteral(a)!, parseLiteral(b)!);
  assert.ok(equal("[1, 1.0, True]", "[1.0, True, 1]"));
  assert.ok(equal("9007199254740993", "0x20000000000001"));
  assert.ok(!equal("9007199254740993", "9007199254740992"));
  assert.ok(!equal("[1]", "(1,)") && !equal("[1]", "[1, 2]") && !equal("'1'", "1"));
  const dict = (...entries: [string, number][]) => new PyDict(entries);
  assert.ok(literalsEqual(dict(["a", 1], ["b", 2]), dict(["b", 2], ["a", 1])));
  assert.ok(!literalsEqual(dict(["a", 1]), dict(["a", 2])));
  assert.ok(!equal("None", "False") && equal("None", "None"));
  assert.ok(literalsEqual(parseLiteral("[0.5]")!, [0.5]));
  assert.ok(new PyDict([[1, "a"]]).get(new PyFloat(1)) === "a");
});

Deno.test("JSON may contain infinities and NaN as in Python", () => {
  assert.deepEqual(parseJson(' {"a": [1, 2.5e3, "NaN", null]}'), { a: [1, 2500, "NaN", null] });
  assert.deepEqual(parseJson('[NaN, -Infinity, Infinity, "a\\"NaN"]'), [
    NaN,
    -Infinity,
    Infinity,
    'a"NaN',
  ]);
  for (
    const text of ["", "[1,]", "{a: 1}", "'a'", "-NaN", "nan", "[NaN", "xNaN", "\ufeff1", "01"]
  ) {
    assert.equal(parseJson(text), undefined, text);
  }
  assert.equal(parseJson(nested(901)), undefined);
});
