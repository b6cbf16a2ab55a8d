/** Dialects of models: their names, what stands in answers, and the way to the next turn. */
import assert from "node:assert/strict";
import { RgxError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/chat_message.ts";
import { readGoldenJson } from "../../../tests/golden.ts";
import { type AnswerDelta, type Dialect, dialectOf, type ReadOptions } from "./dialect.ts";
import { bridges, byteTokenizer, familyTokenizer } from "./dialect_testing.ts";
import { FAMILIES } from "./families.ts";

const NAMES: Record<string, string> = {
  qwen2_5: "hermes",
  qwen3: "hermes",
  qwen3_5_think: "qwen3_xml",
  llama3_1: "llama3_json",
  gptoss: "openai",
  gemma4_v5: "gemma4",
  lfm2_2_5_v2: "lfm2",
  glm4moe: "glm45",
};

for (const [name, { cases }] of Object.entries(bridges.families)) {
  Deno.test(`the ids after an answer of ${name} are those of its chat template`, () => {
    const tokenizer = familyTokenizer(name), dialect = dialectOf(tokenizer);
    assert.equal(dialect.name, NAMES[name]);
    assert.equal(dialect.whyNoTools, null);
    assert.ok(dialect.canShowTools);
    for (const { messages, variables, next } of cases) {
      const ids = dialect.bridge(messages, variables);
      assert.equal(tokenizer.decode(ids), next);
      // A special token in a result is text.
      const [before, after] = next.split("<|im_end|> 13");
      if (after === undefined) continue;
      const encode = (text: string, literal = false) =>
        tokenizer.encode(text, { addSpecialTokens: false, literal });
      assert.deepEqual(ids, [
        ...encode(before!),
        ...encode("<|im_end|> 13", true),
        ...encode(after),
      ]);
    }
  });
}

const golden: {
  tools: Tool[];
  families: Record<
    string,
    { prefix: string; cases: { text: string; parsed: Record<string, unknown> }[] }
  >;
} = readGoldenJson("dialects/response-template.json");

/** Recorded families, and the tokenizers whose dialects read their answers. */
const READERS: Record<string, string> = {
  qwen3: "qwen3",
  qwen3_5: "qwen3_5_think",
  llama3: "llama3_1",
  gptoss: "gptoss",
  gemma4: "gemma4_v5",
  lfm2_5: "lfm2_2_5_v2",
  glm4moe: "glm4moe",
};

/** Where rgx reads another thing than transformers, on purpose. */
const OTHERWISE: Record<string, { content?: string; calls?: object[]; errors?: string[] }> = {
  // Calls that were cut off, which transformers gives to be run.
  '<tool_call>\n{"name": "f", "arguments": {"i": 3}}': { errors: ["cut"] },
  "<tool_call>\n<function=f>\n<parameter=i>\n3": { errors: ["cut"] },
  '{"name": "f", "parameters": {"i": 3}': { errors: ["cut"] },
  "<tool_call>": { errors: ["cut"] },
  "a <tool_call> b": { content: "a\n<tool_call> b", errors: ["cut"] },
  "<|tool_call>call:f{i:3": { errors: ["cut"] },
  // Forms of calls that transformers does not read.
  '<|python_tag|>{"name": "f", "parameters": {"i": 3}}<|eom_id|>': { calls: [{ i: 3 }] },
  [
    "<|channel|>analysis<|message|>r<|end|><|start|>assistant<|channel|>commentary to=functions.f " +
    '<|constrain|>json<|message|>{"i": 3}<|call|>'
  ]: { calls: [{ i: 3 }] },
  // The end of the answer is no content, and a call without a value is none.
  [
    "\n<think></think>\n<tool_call>f\n<arg_key>i</arg_key>\n<arg_value>3</arg_value>\n" +
    "<arg_key>s</arg_key>\n<arg_value>x</arg_value>\n</tool_call><|observation|>"
  ]: { content: "" },
  "<|tool_call_start|>[f(i=]<|tool_call_end|><|im_end|>": {
    content: "<|tool_call_start|>[f(i=]<|tool_call_end|>",
    calls: [],
    errors: ["malformed"],
  },
};

/** The calls of which deltas have the pieces. */
function joined(deltas: readonly AnswerDelta[]) {
  const calls: { name: string; text: string; isWhole: boolean }[] = [];
  for (const delta of deltas) {
    if (!("call" in delta)) continue;
    const { name, arguments: more, isWhole = false } = delta.call;
    if (name !== undefined) calls.push({ name, text: "", isWhole: false });
    const call = calls.at(-1)!;
    assert.ok(!call.isWhole, "something follows the end of a call");
    call.text += more;
    call.isWhole = isWhole;
  }
  return calls;
}

/** Reads an answer that comes in pieces. */
function readInPieces(dialect: Dialect, text: string, size: number, options: ReadOptions) {
  const reader = dialect.read(options), deltas: AnswerDelta[] = [];
  for (let at = 0; at < text.length; at += size) {
    deltas.push(...reader.push(text.slice(at, at + size)));
  }
  deltas.push(...reader.end());
  return { answer: reader.answer, deltas, calls: joined(deltas) };
}

for (const [family, name] of Object.entries(READERS)) {
  Deno.test(`answers of ${family} are read as recorded, whole and in pieces`, () => {
    const dialect = dialectOf(familyTokenizer(name)), { prefix, cases } = golden.families[family]!;
    for (const { text, parsed } of cases) {
      const options = { prompt: prefix, tools: golden.tools };
      const answer = dialect.parse(text, options), other = OTHERWISE[text];
      const isBroken = "__error__" in parsed, cut = other?.errors?.[0] === "cut";
      const calls = (parsed["tool_calls"] ?? []) as { function: { arguments: object } }[];
      const wanted = isBroken || cut ? [] : calls.map((call) => call.function.arguments);
      assert.deepEqual(
        answer.toolCalls,
        (other?.calls ?? wanted).map((args) => ({ name: "f", arguments: args })),
        text,
      );
      const kinds = other?.errors ?? (isBroken && other === undefined ? ["malformed"] : []);
      assert.deepEqual(answer.errors.map(({ kind }) => kind), kinds, text);
      // What is no call stays text.
      const raw = kinds.length > 0 ? text.replace(/<\|im_end\|>$/, "") : "";
      assert.equal(answer.content, other?.content ?? parsed["content"] ?? raw, text);
      const reasoning = parsed["reasoning_content"] ?? parsed["thinking"];
      assert.equal(answer.reasoning, reasoning, text);
      for (const size of [1, 3, 7]) {
        const { answer: found, deltas, calls } = readInPieces(dialect, text, size, options);
        assert.deepEqual(found, answer, `${text} in pieces of ${size}`);
        const join = (key: string) =>
          deltas.map((delta) => (delta as Record<string, unknown>)[key] ?? "").join("");
        assert.equal(join("content"), answer.content);
        assert.equal(join("reasoning"), answer.reasoning ?? "");
        const whole = calls.filter(({ isWhole }) => isWhole);
        const given = answer.toolCalls.map(({ name, arguments: args }) => ({
          name,
          text: JSON.stringify(args),
          isWhole: true,
        }));
        assert.deepEqual(whole, given, `${text} in pieces of ${size}`);
      }
    }
  });
}

/** How families write one call. */
const CALLS: Record<string, (name: string, args: string) => string> = {
  qwen3: (name, args) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`,
  llama3_1: (name, args) => `{"name": "${name}", "parameters": ${args}}<|eot_id|>`,
  gptoss: (name, args) =>
    `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}<|call|>`,
  gemma4_v5: (name, args) => `<|tool_call>call:${name}${args}<tool_call|>`,
};
/** Arguments as models should not write them, and what is read; null = no call. */
const ODD: Record<string, object | null> = {
  '{"i": "three", "s": [1]}': { i: "three", s: [1] },
  '"{\\"i\\": 3}"': { i: 3 },
  '"abc"': null,
  "[1, 2]": null,
  "5": null,
  "": null,
  '```json\n{"i": 3}\n```': null,
  "{'i': 3}": null,
  '{"b": True}': null,
  '{"i": 3,}': null,
  '{"i": NaN}': null,
  '{"s": "\\x41"}': null,
  '{"s": "a\nb"}': null,
  '{"i": 3': null,
  '{"s": "\\u00e9\\ud83d\\ude00 <|im_end|> \\u0000"}': { s: "é\u{1f600} <|im_end|> \0" },
  '{"__proto__": {"a": 1}}': JSON.parse('{"__proto__": {"a": 1}}'),
  [`{"l": ${"[".repeat(30_000)}`]: null,
  [`{"s": "${"x".repeat(300_000)}"}`]: { s: "x".repeat(300_000) },
};

for (const [family, write] of Object.entries(CALLS)) {
  Deno.test(`odd calls of ${family} are read or refused, and never run by halves`, () => {
    const tokenizer = familyTokenizer(family), dialect = dialectOf(tokenizer);
    for (const [given, args] of Object.entries(ODD)) {
      const size = given.length > 1000 ? 40 : 3, shown = given.slice(0, 50);
      const { answer, calls } = readInPieces(dialect, write("f", given), size, { tools: TOOLS });
      const { toolCalls, errors, content } = answer;
      assert.deepEqual(toolCalls, args === null ? [] : [{ name: "f", arguments: args }], shown);
      assert.deepEqual(errors.map(({ kind }) => kind), args === null ? ["malformed"] : [], shown);
      assert.ok(errors.every(({ message }) => message.length < 400));
      const wanted = args === null ? [] : [JSON.stringify(args)];
      assert.deepEqual(calls.filter((c) => c.isWhole).map((c) => c.text), wanted, shown);
      // What is no call is text, without the token that ended the answer.
      assert.equal(content === "", args !== null, shown);
      assert.ok(!content.endsWith("|eot_id|>") && !content.endsWith("<|call|>"), content);
    }
    // A tool that there is not is for the one who runs tools to refuse.
    assert.equal(dialect.parse(write("nope", "{}")).toolCalls[0]!.name, "nope");
    assert.deepEqual(dialect.parse(write("", "{}")).toolCalls, []);
  });
}

Deno.test("a call whose last argument has no end is not run without it", () => {
  const text =
    "</think><tool_call>\n<function=f>\n<parameter=i>\n3\n</parameter>\n<parameter=s>\n" +
    "</tool_call><|im_end|>";
  const dialect = dialectOf(familyTokenizer("qwen3_5_think"));
  const { toolCalls, errors } = dialect.parse(text, { prompt: "<|im_start|>assistant\n<think>\n" });
  assert.deepEqual(toolCalls, []);
  assert.match(errors[0]!.message, /a tag has no end/);
});

Deno.test("gpt-oss says something before a call, and what has no channel is not lost", () => {
  const dialect = dialectOf(familyTokenizer("gptoss"));
  const call = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"i": 3}<|call|>';
  const said = `<|channel|>commentary<|message|>I look.<|end|><|start|>assistant${call}`;
  const { content, toolCalls } = dialect.parse(said);
  assert.deepEqual([content, toolCalls.length], ["I look.", 1]);
  const lost = dialect.parse("no channel<|return|>");
  assert.deepEqual([lost.content, lost.errors.length], ["no channel", 1]);
});

Deno.test("an answer is shown while it comes, up to what may begin a call", () => {
  const dialect = dialectOf(familyTokenizer("qwen3")), reader = dialect.read();
  assert.deepEqual(reader.push("Let me see"), [{ content: "Let me see" }]);
  assert.deepEqual(reader.push(": 1 < 2 <to"), [{ content: ": 1 < 2" }]);
  assert.deepEqual(reader.push("ol_call>"), []);
  // The last bracket waits for the end of the call: without it, nobody can run the call.
  const begun = [{ call: { name: "f", arguments: "{" } }];
  assert.deepEqual(reader.push('{"name": "f", "arguments": {}}</tool_call>'), begun);
  const ended = [{ call: { arguments: "}", isWhole: true } }];
  assert.deepEqual(reader.push("<|im_end|>"), ended);
  assert.deepEqual(reader.end(), []);
});

const ARGUMENTS = {
  text: 'a "b" \\ \n </x> {[,:]} \u{1f600} \ud800 é',
  'ke"y': [1, -0.5, 1e21, true, null, "", [], {}, { a: [{ b: "x" }] }],
  count: "12",
  list: ["3", "x"],
  empty: {},
};
const PARAMETERS = {
  type: "object",
  properties: { count: { type: "integer" }, list: { type: "integer" }, empty: { type: "object" } },
};
const TYPED = { ...ARGUMENTS, count: 12, list: [3, "x"] };
const JSON_ARGUMENTS = JSON.stringify(ARGUMENTS).replaceAll("\u{1f600}", "\\ud83d\\ude00");
const TOOLS: Tool[] = ["f", "g"].map((name) => ({
  type: "function",
  function: { name, parameters: PARAMETERS },
}));

interface Written {
  text: string;
  dialect?: Dialect;
  args?: object;
  count?: number;
  /** Whether much of a call is known only at its end. */
  isHeld?: boolean;
}

/** Answers with two calls of ARGUMENTS (or one), as families write them. */
const WRITTEN: Record<string, Written> = {
  qwen3: {
    text:
      ["f", "g"].map((name) =>
        `<tool_call>\n{"name": "${name}", "arguments": ${JSON_ARGUMENTS} }\n</tool_call>`
      ).join("\n") + "<|im_end|>",
  },
  "arguments before the name": {
    text: `<tool_call>{"arguments": ${JSON_ARGUMENTS}, "name": "f"}</tool_call>`,
    dialect: dialectOf(familyTokenizer("qwen3")),
    count: 1,
    isHeld: true,
  },
  "mistral, a list": {
    text: `[TOOL_CALLS][${
      ["f", "g"].map((name) => `{"name": "${name}", "arguments": ${JSON_ARGUMENTS}}`).join(", ")
    }]</s>`,
    dialect: dialectOf(byteTokenizer("[TOOL_CALLS]", ["</s>"])),
  },
  "mistral from version 11 on": {
    text:
      `[TOOL_CALLS]f[ARGS]${JSON_ARGUMENTS}[TOOL_CALLS]g[CALL_ID]abc[ARGS]${JSON_ARGUMENTS}</s>`,
    dialect: dialectOf(byteTokenizer("[TOOL_CALLS][ARGS]", ["</s>"])),
  },
  llama3_1: {
    text: `{"name": "f", "parameters": ${JSON_ARGUMENTS}}<|eot_id|>`,
    count: 1,
    isHeld: true,
  },
  gptoss: {
    text: `<|channel|>commentary to=functions.f <|constrain|>json<|message|>${JSON_ARGUMENTS}` +
      "<|call|>",
    count: 1,
  },
  gemma4_v5: {
    text: '<|tool_call>call:f{text:<|"|>a "b" {<|"|>,n:[<|"|><|"|>,{k:-1}],count:<|"|>12<|"|>}' +
      "<tool_call|><|tool_response>",
    args: { text: 'a "b" {', n: ["", { k: -1 }], count: 12 },
    count: 1,
  },
  qwen3_5_think: {
    text: "</think><tool_call>\n<function=f>\n<parameter=text>\na > </b>\n</parameter>\n" +
      "<parameter=count>\n12\n</parameter>\n</function>\n</tool_call><|im_end|>",
    args: { text: "a > </b>", count: 12 },
    count: 1,
  },
};

for (const [name, { text, args = TYPED, count = 2, ...other }] of Object.entries(WRITTEN)) {
  Deno.test(`the arguments of calls come piece by piece: ${name}`, () => {
    const dialect = other.dialect ?? dialectOf(familyTokenizer(name));
    const wanted = ["f", "g"].slice(0, count).map((name) => ({
      name,
      text: JSON.stringify(args),
      isWhole: true,
    }));
    const prompt = name === "qwen3_5_think" ? "<|im_start|>assistant\n<think>\n" : "";
    const pieces = (size: number, end = text.length) =>
      readInPieces(dialect, text.slice(0, end), size, { prompt, tools: TOOLS });
    for (const size of [1, 2, 5, 13, text.length]) {
      const { answer, calls } = pieces(size);
      assert.deepEqual(answer.toolCalls.map((call) => call.arguments), wanted.map(() => args));
      assert.deepEqual(calls, wanted);
    }
    const longest = Math.max(
      ...pieces(1).deltas.map((delta) => "call" in delta ? delta.call.arguments.length : 0),
    );
    assert.equal(longest > 24, other.isHeld ?? false, `${longest}`);
    // Wherever an answer is cut, no call is whole that is not among those to be run.
    for (let end = 0; end < text.length; end++) {
      const { answer, calls } = pieces(7, end);
      for (const { text, isWhole } of calls.slice(answer.toolCalls.length)) {
        if (isWhole) continue;
        assert.throws(() => JSON.parse(text), SyntaxError, `${end}: ${text}`);
      }
    }
  });
}

Deno.test("calls of LFM2.5 are read as Python writes values", () => {
  const dialect = dialectOf(familyTokenizer("lfm2_2_5_v2"));
  const text =
    `Well, f(x). <|tool_call_start|>[f(a='it's', b="x, y", c=[1, {'k': None}], d=False, ` +
    "e=-1.5e2, g={}), h()]<|tool_call_end|><|im_end|>";
  assert.deepEqual(dialect.parse(text), {
    content: "Well, f(x).",
    toolCalls: [
      {
        name: "f",
        arguments: { a: "it's", b: "x, y", c: [1, { k: null }], d: false, e: -150, g: {} },
      },
      { name: "h", arguments: {} },
    ],
    errors: [],
  });
});

Deno.test("what a chat template cannot show is said", () => {
  const why = (template: string | null) => dialectOf(byteTokenizer(template)).whyNoTools;
  assert.match(why(null)!, /no chat template/);
  const messages = "{% for m in messages %}{{ m.content }}{% endfor %}";
  assert.match(why(messages)!, /leaves out tools/);
  assert.match(why(`{{ tools }}${messages}`)!, /leaves out calls/);
  const calls = messages.replace("{{", "{{ m.tool_calls }}{{");
  assert.match(why(`{{ tools }}${calls}`)!, /does not know how .*hermes/);
  assert.match(why(`{{ tools }}{{ raise_exception("no") }}`)!, /refuses .*no/);
  assert.equal(why(`{{ tools }}<tool_call>${calls}`), null);
});

Deno.test("a message follows an answer also where a template has no end of messages", () => {
  const template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]";
  const tokenizer = byteTokenizer(template), dialect = dialectOf(tokenizer);
  const ids = dialect.bridge([{ role: "user", content: "lower" }]);
  assert.equal(tokenizer.decode(ids), "[user]lower[assistant]");
  const result = { role: "tool", name: "f", content: "3" };
  assert.throws(() => dialect.bridge([result]), RgxError);
  assert.throws(() => dialectOf(byteTokenizer(null)).bridge([result]), /no chat template/);
});

Deno.test("thoughts that a chat template drops are known", () => {
  assert.equal(dialectOf(familyTokenizer("qwen3")).dropsReasoning(), true);
  const keeps = "{% for m in messages %}{{ m.content }}{{ m.reasoning_content }}{% endfor %}";
  assert.equal(dialectOf(byteTokenizer(keeps)).dropsReasoning(), false);
  assert.equal(dialectOf(familyTokenizer("qwen2_5")).dropsReasoning(), false);
});

Deno.test("a model's own response template is used, unless it could take years", () => {
  const template = (pattern: string) => ({
    start_anchor: "A:",
    fields: {
      content: { close: "<|im_end|>" },
      tool_calls: {
        open_pattern: pattern,
        close: "}}",
        content: "kv-lines",
        content_args: { value_parser: { name: "json", args: { allow_non_json: true } } },
        transform: { type: "function", function: { name: "{name}", arguments: "{content}" } },
      },
    },
  });
  const make = (response_template: unknown, chat = "") =>
    dialectOf(byteTokenizer(chat, undefined, { response_template }));
  const dialect = make(template("\\{\\{(?P<name>\\w+)"));
  assert.equal(dialect.name, "response_template");
  assert.deepEqual(dialect.parse("so {{f\na: 1\nb: x y\n}}<|im_end|>", { prompt: "B: A:" }), {
    content: "so",
    toolCalls: [{ name: "f", arguments: { a: 1, b: "x y" } }],
    errors: [],
  });
  const slow = template("((?P<name>\\w+)*\\w+)*!");
  assert.throws(() => make(slow), /tokenizer_config.json.*open_pattern.*years/);
  assert.equal(make(slow, "<tool_call>").name, "hermes");
  const cases: [object, RegExp][] = [
    [{ fields: {} }, /fields/],
    [{ fields: { content: {} } }, /start_anchor/],
    [{ fields: { a: {}, b: {} }, start_anchor: "A" }, /several.*a, b/],
    [{ fields: { a: { content: "yaml" } }, start_anchor: "A" }, /yaml, expected text/],
    [{ fields: { a: { opens: "x" } }, start_anchor: "A" }, /opens is not known/],
    [{ fields: { a: { transform: "{a}{b}" } }, start_anchor: "A" }, /placeholder/],
    [{ fields: { a: { open_pattern: "(" } }, start_anchor: "A" }, /open_pattern/],
    [{ version: 2, fields: { a: {} }, start_anchor: "A" }, /version is 2/],
  ];
  for (const [spec, message] of cases) assert.throws(() => make(spec), message);
});

Deno.test("a dialect can be named", () => {
  const tokenizer = byteTokenizer("<tool_call>");
  assert.equal(dialectOf(tokenizer, "glm45").name, "glm45");
  assert.throws(() => dialectOf(tokenizer, "hermess"), /Did you mean "?hermes/i);
  assert.equal(new Set(FAMILIES.map(({ name }) => name)).size, FAMILIES.length - 1);
});
