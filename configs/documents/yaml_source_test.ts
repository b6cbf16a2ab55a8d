import assert from "node:assert/strict";
import { nodeAt, Problems, toJson } from "./node.ts";
import { decodeUtf8, parseValue, parseYaml, plainScalar } from "./yaml_source.ts";

const SOURCE = { name: "f.yaml", directory: null };

function parse(text: string): { value: unknown; problems: string[] } {
  const problems = new Problems();
  const node = parseYaml(text, SOURCE, problems);
  return { value: node && toJson(node), problems: problems.lines() };
}

Deno.test("numbers of YAML 1.2 are numbers, also 1e-6, and no is text", () => {
  const text = "a: 1e-6\nb: 1.0e-6\nc: -3\nd: .5\ne: no\nf: true\ng: null\nh:\ni: 0o17\nj: '8'\n";
  assert.deepEqual(parse(text).value, {
    a: 1e-6,
    b: 1e-6,
    c: -3,
    d: 0.5,
    e: "no",
    f: true,
    g: null,
    h: null,
    i: 15,
    j: "8",
  });
});

Deno.test("JSON is read, with its positions", () => {
  const problems = new Problems();
  const node = parseYaml('{\n  "a": {"b": [1, 2.5e-3]}\n}', SOURCE, problems)!;
  assert.deepEqual(toJson(node), { a: { b: [1, 0.0025] } });
  const { line, column } = nodeAt(node, ["a", "b", "1"])!.at;
  assert.deepEqual([line, column], [2, 18]);
});

Deno.test("keys and values know their line and column", () => {
  const problems = new Problems();
  const node = parseYaml("a:\n  b: 7\n", SOURCE, problems)!;
  const inner = nodeAt(node, ["a"])!;
  assert.equal(inner.kind, "map");
  const entry = inner.kind === "map" ? inner.entries.get("b")! : undefined;
  assert.deepEqual([entry?.keyAt.line, entry?.keyAt.column], [2, 3]);
  assert.deepEqual([entry?.node.at.line, entry?.node.at.column], [2, 6]);
});

Deno.test("anchors, aliases and merge keys are expanded", () => {
  const text = "x: &x {a: 1, b: 2}\ny: *x\nz:\n  <<: *x\n  b: 3\n";
  assert.deepEqual(parse(text).value, { x: { a: 1, b: 2 }, y: { a: 1, b: 2 }, z: { a: 1, b: 3 } });
});

Deno.test("an empty file is an empty map", () => {
  assert.deepEqual(parse("").value, {});
  assert.deepEqual(parse("# nothing\n").value, {});
});

Deno.test("a key named __proto__ is a key", () => {
  const value = parse("__proto__: {polluted: 1}\n").value as object;
  assert.deepEqual(Object.keys(value), ["__proto__"]);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

const BAD: [string, string, RegExp][] = [
  [
    "a duplicate key",
    "a: 1\nb: 2\na: 3\n",
    /^f\.yaml:3:1: a: duplicate key, first at f\.yaml:1:1$/,
  ],
  ["a list at the top", "- a\n", /^f\.yaml:1:1: expected a map of keys/],
  ["text at the top", "hello\n", /^f\.yaml:1:1: expected a map of keys/],
  ["an unclosed list", "a: [1, 2\n", /^f\.yaml:2:1: Flow sequence/],
  ["a tab as indentation", "a:\n\tb: 1\n", /^f\.yaml:2:1: Tabs are not allowed/],
  ["two documents", "a: 1\n---\nb: 2\n", /expected one YAML document, found several$/],
  ["an unknown tag", "a: !!python/object:os.system x\n", /^f\.yaml:1:4: Unresolved tag/],
  ["a key that is a list", "? [a]\n: 1\n", /^f\.yaml:1:3: expected a name as the key$/],
  [
    "a map without a space after the colon",
    "a: {b: 1, c.d:2}\n",
    /^f\.yaml:1:11: a space is missing after the colon: c\.d: 2$/,
  ],
  ["an alias without anchor", "a: *b\n", /^f\.yaml:1:4: /],
  ["an alias inside itself", "a: &a [*a]\n", /contains itself$/],
  ["too much nesting", "a: " + "[".repeat(200) + "]".repeat(200), /nested more than 64 levels/],
  ["brackets without end", "[".repeat(20_000), /^f\.yaml:1:\d+: .*nested too deeply$/],
];

for (const [name, text, expected] of BAD) {
  Deno.test(`${name} is refused with its position`, () => {
    const { value, problems } = parse(text);
    assert.equal(value, null);
    assert.match(problems[0]!, expected);
  });
}

Deno.test("a file of TOML is named as such", () => {
  const problems = new Problems(), source = { ...SOURCE, name: "rl.toml" };
  assert.equal(parseYaml('[model]\nname = "m"\n', source, problems), null);
  assert.match(problems.lines()[0]!, /^rl\.toml.*: TOML is not read; write YAML/);
  const prime = new Problems();
  assert.equal(parseYaml("[[orchestrator.train.source]]\nid = 1\n", source, prime), null);
  assert.match(prime.lines()[0]!, /a file of prime-rl: .*docs\/coming_from\.md#prime-rl/);
});

Deno.test("aliases of aliases do not fill the memory", () => {
  let text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (let i = 1; i < 12; i++) {
    text += `a${i}: &a${i} [${Array(10).fill(`*a${i - 1}`).join(", ")}]\n`;
  }
  const { value, problems } = parse(text);
  assert.equal(value, null);
  assert.match(problems[0]!, /more than 100000 values once aliases are expanded/);
});

Deno.test("bytes that are not UTF-8 are reported with their line", () => {
  const problems = new Problems();
  const bytes = new Uint8Array([...new TextEncoder().encode("a: é\nb: "), 0xe9, 0x0a]);
  assert.equal(decodeUtf8(bytes, SOURCE, problems), null);
  assert.deepEqual(problems.lines(), ["f.yaml:2:1: not UTF-8: save the file in this encoding"]);
  const utf16 = new Uint8Array([0xff, 0xfe, 0x61, 0x00]);
  assert.equal(decodeUtf8(utf16, SOURCE, new Problems()), null);
});

Deno.test("a byte order mark is no part of the text", () => {
  const bytes = new TextEncoder().encode("\ufeffa: 1\n");
  assert.equal(decodeUtf8(bytes, SOURCE, new Problems()), "a: 1\n");
});

Deno.test("an unquoted value is what YAML's core schema makes of it", () => {
  const texts = ["1", "-1", "1e-6", "1.", "0x1F", "~", "null", "true", "yes", "1,2", "a: b", ""];
  const expected = [1, -1, 1e-6, 1, 31, null, null, true, "yes", "1,2", "a: b", null];
  assert.deepEqual(texts.map(plainScalar), expected);
});

Deno.test("a typed value is a scalar, a quoted text or a flow collection", () => {
  const problems = new Problems();
  const value = (text: string) => toJson(parseValue(text, SOURCE, problems, "k"));
  assert.deepEqual(value("[1, a]"), [1, "a"]);
  assert.deepEqual(value("{a: 1}"), { a: 1 });
  assert.deepEqual(value('"8"'), "8");
  assert.deepEqual(value("Hello: world"), "Hello: world");
  assert.equal(problems.count, 0);
  value("[1, 2");
  assert.match(problems.lines()[0]!, /^f\.yaml: k: can not read the value \[1, 2: Flow sequence/);
});

Deno.test("a number that YAML 1.1 reads in another way is refused with both readings", () => {
  const problems = new Problems();
  const text = "a: 010\nb: [07, 0, 00, 1.05, 010.5, '010']\nc: -0120\nd: 09\n";
  parseYaml(text, SOURCE, problems);
  assert.deepEqual(problems.lines().map((line) => line.replace(/, which TRL.*: w/, ": w")), [
    "f.yaml:1:4: 010 is 10 in YAML 1.2, and 8 in YAML 1.1: write 10 or 8 without the leading zero",
    "f.yaml:3:4: -0120 is -120 in YAML 1.2, and -80 in YAML 1.1: write -120 or -80 without the " +
    "leading zero",
    "f.yaml:4:4: 09 is 9 in YAML 1.2, and a text in YAML 1.1: write 9 without the leading zero",
  ]);
  const typed = new Problems();
  parseValue("010", SOURCE, typed, "training.seed");
  assert.match(typed.lines().join(), /training\.seed: 010 is 10 in YAML 1\.2, and 8 in YAML 1\.1/);
});
