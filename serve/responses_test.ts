/** /v1/responses, and the official client's use of it. */
import assert from "node:assert/strict";
import OpenAI from "openai";
import { familyTokenizer } from "../models/tokenizers/dialects/dialect_testing.ts";
import { refuses, type Reply, say, type TestServer, withServer } from "./testing.ts";

const withQwen = (test: (server: TestServer) => Promise<void>) =>
  withServer(test, { tokenizer: familyTokenizer("qwen3") });

const RESPONSES = "/v1/responses";
const tools = [{
  type: "function" as const,
  name: "multiply",
  strict: true,
  parameters: {
    type: "object",
    properties: { a: { type: "integer", maximum: 99, minimum: 0 } },
    required: ["a"],
    additionalProperties: false,
  },
}];
const SAID = "<think>\nhard\n</think>\n\nI see.\n<tool_call>\n" +
  '{"name": "multiply", "arguments": {"a": 3}}\n</tool_call><|im_end|>';

/** The data of all events, whose lines of their own have the same names. */
async function eventsOf(response: Response): Promise<Reply[]> {
  const blocks = (await response.text()).split("\n\n").filter((block) => block.startsWith("event"));
  return blocks.map((block) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block)!;
    const event = JSON.parse(data!);
    assert.equal(event.type, name);
    return event;
  });
}

/** An answer without what is random or depends on the time. */
const bare = (response: Reply) => ({
  ...response,
  id: "",
  created_at: 0,
  output: response.output.map(({ id, call_id, ...item }: Reply) => {
    assert.match(id, /^(msg|rs|fc)_/);
    return { ...item, ...(call_id === undefined ? {} : { call_id: call_id.length }) };
  }),
});

Deno.test("a response has items, and its stream the same ones piece by piece", () =>
  withQwen(async ({ ask, post, host, defects }) => {
    say(host, SAID);
    const body = { model: "base", instructions: "Be brief.", input: "3 times 4?", tools };
    const whole = await ask(RESPONSES, body);
    assert.deepEqual([whole.object, whole.status, whole.error], ["response", "completed", null]);
    const part = { type: "output_text", text: "I see.", annotations: [], logprobs: [] };
    const status = "completed", name = "multiply", args = '{"a":3}';
    const reasoning = [{ type: "reasoning_text", text: "hard" }];
    assert.deepEqual(bare(whole).output, [
      { type: "reasoning", status, summary: [], content: reasoning },
      { type: "message", status, role: "assistant", content: [part] },
      { type: "function_call", call_id: 9, name, arguments: args, status },
    ]);
    const { input_tokens, output_tokens, total_tokens } = whole.usage;
    assert.equal(input_tokens + output_tokens, total_tokens);
    const events = await eventsOf(await post(RESPONSES, { ...body, stream: true }));
    assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
    assert.deepEqual(bare(events.at(-1).response), bare(whole));
    const types = events.map((event) => event.type.replace("response.", ""));
    const isFirst = (type: string, i: number) => !type.endsWith(".delta") || type !== types[i - 1];
    assert.deepEqual(
      types.filter(isFirst),
      ("created in_progress output_item.added content_part.added reasoning_text.delta " +
        "reasoning_text.done content_part.done output_item.done output_item.added " +
        "content_part.added output_text.delta output_text.done content_part.done " +
        "output_item.done output_item.added function_call_arguments.delta " +
        "function_call_arguments.done output_item.done completed").split(" "),
    );
    const deltas = events.filter(({ type }) => type === "response.output_text.delta");
    assert.equal(deltas.map(({ delta }) => delta).join(""), "I see.");
    assert.ok(deltas.length > 1 && deltas.every((event) => event.output_index === 1));
    const more = events.filter(({ type }) => type.endsWith("arguments.delta"));
    assert.equal(more.map(({ delta }) => delta).join(""), args);
    assert.ok(more.length > 1 && more.every((event) => event.item_id === more[0].item_id));
    // A cut call is incomplete, and so is the answer.
    say(host, SAID.slice(0, SAID.indexOf("}}")), "length");
    const ended = (await eventsOf(await post(RESPONSES, { ...body, stream: true }))).at(-1);
    assert.equal(ended.type, "response.incomplete");
    const broken = ended.response.output.find((item: Reply) => item.type === "function_call");
    assert.deepEqual([broken.status, broken.arguments], ["incomplete", '{"a":']);
    // A cut answer is incomplete.
    say(host, "<think>\nhard", "length");
    const cut = await ask(RESPONSES, body);
    assert.deepEqual([cut.status, cut.incomplete_details], [
      "incomplete",
      { reason: "max_output_tokens" },
    ]);
    assert.deepEqual(defects, []);
  }));

Deno.test("items of a conversation are rendered as the messages of a chat", () =>
  withQwen(async ({ ask, host }) => {
    say(host, "x<|im_end|>");
    const call = { type: "function_call", call_id: "a", name: "multiply", arguments: '{"a":3}' };
    const input = [
      { role: "developer", content: "Be brief." },
      { type: "message", role: "user", content: [{ type: "input_text", text: "3 times 4?" }] },
      { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "hard" }] },
      { role: "assistant", content: [{ type: "output_text", text: "I see." }] },
      call,
      { ...call, call_id: "b" },
      { type: "function_call_output", call_id: "a", output: "12" },
      { type: "function_call_output", call_id: "b", output: "12" },
    ];
    const called = { name: "multiply", arguments: '{"a":3}' };
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "3 times 4?" },
      {
        role: "assistant",
        reasoning_content: "hard",
        content: "I see.",
        tool_calls: ["a", "b"].map((id) => ({ id, type: "function", function: called })),
      },
      { role: "tool", tool_call_id: "a", content: "12" },
      { role: "tool", tool_call_id: "b", content: "12" },
    ];
    const nested = tools.map(({ type, ...called }) => ({ type, function: called }));
    const { count } = await ask("/tokenize", { messages, tools: nested });
    assert.equal((await ask(RESPONSES, { input, tools })).usage.input_tokens, count);
  }));

Deno.test("a response is held to calls and to forms, and refuses what it cannot do", () =>
  withQwen(async ({ ask }) => {
    const name = { type: "function", name: "multiply" };
    for (const tool_choice of ["required", name]) {
      const { output } = await ask(RESPONSES, { input: "x", tools, tool_choice, seed: 1 });
      assert.equal(output[0].type, "function_call");
      assert.ok(JSON.parse(output[0].arguments).a <= 99);
    }
    const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
    const text = { format: { type: "json_schema", name: "x", schema, strict: true } };
    const { output } = await ask(RESPONSES, { input: "x", text, max_output_tokens: 40 });
    assert.equal(typeof JSON.parse(output[0].content[0].text).ok, "boolean");
    await refuses({ ask }, RESPONSES, { input: "x" }, [
      [{ input: [] }, "input"],
      [{ input: [{ type: "image" }] }, "input[0].type"],
      [{ input: [{ role: "bot", content: "x" }] }, "input[0].role"],
      [
        { input: [{ role: "user", content: [{ type: "input_image" }] }] },
        "input[0].content[0].type",
      ],
      [{ previous_response_id: "resp_1" }, "previous_response_id"],
      [{ background: true }, "background"],
      [{ truncation: "auto" }, "truncation"],
      [{ tools: [{ type: "web_search" }] }, "tools[0].type"],
      [{ tools: [{ type: "function", name: "a b" }] }, "tools[0].name"],
      [{ tools, tool_choice: { type: "function", name: "other" } }, "tool_choice"],
      [{ text: { format: { type: "xml" } } }, "text.format.type"],
      [{ max_output_tokens: 0 }, "max_output_tokens"],
    ]);
  }));

Deno.test("the official client makes responses, whole and streamed", () =>
  withQwen(async ({ url, host }) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0 });
    say(host, SAID);
    const asked = { model: "base", input: "3 times 4?", tools };
    const response = await client.responses.create(asked);
    assert.equal(response.output_text, "I see.");
    const stream = client.responses.stream(asked);
    let text = "";
    stream.on("response.output_text.delta", ({ delta }) => text += delta);
    const final = await stream.finalResponse();
    assert.equal(text, "I see.");
    assert.deepEqual(bare(final).output.map((item: Reply) => item.type), [
      "reasoning",
      "message",
      "function_call",
    ]);
  }));
