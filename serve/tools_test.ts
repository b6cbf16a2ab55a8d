/** Chats with tools: the calls that a model writes, those that it must write, and the results. */
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodFunction } from "openai/helpers/zod";
import { z } from "zod";
import { byteTokenizer, familyTokenizer } from "../models/tokenizers/dialects/dialect_testing.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { eventsOf, refuses, type Reply, say, type TestServer, withServer } from "./testing.ts";

const withTools = (
  tokenizer: Tokenizer,
  test: (server: TestServer) => Promise<void>,
  notes: string[] = [],
) => withServer(test, { onNote: (text) => notes.push(text), tokenizer });

const messages = [{ role: "user", content: "What is 3 times 4?" }];
const parameters = {
  type: "object",
  properties: {
    a: { type: "integer", minimum: 0, maximum: 99 },
    b: { type: "integer", minimum: 0, maximum: 99 },
  },
  required: ["a", "b"],
  additionalProperties: false,
};
const tool = (name: string, schema: object | null = parameters) => ({
  type: "function",
  function: {
    name,
    description: `${name} two numbers`,
    ...(schema === null ? {} : { parameters: schema }),
  },
});
const tools = [tool("multiply"), tool("add")];
const CHAT = "/v1/chat/completions";

Deno.test("calls that a model writes are answered whole and streamed, with their results", () =>
  withTools(familyTokenizer("qwen3"), async ({ ask, post, host, defects }) => {
    const args = { a: 3, b: 4 };
    const call = (name: string) =>
      `<tool_call>\n{"name": "${name}", "arguments": {"a": 3, "b": 4}}\n</tool_call>`;
    const text = `<think>\nhard\n</think>\n\nI see.\n${call("multiply")}\n${call("add")}`;
    say(host, `${text}<|im_end|>`);
    const body = { messages, tools, return_token_ids: true };
    const { choices: [choice], prompt_token_ids: ids } = await ask(CHAT, body);
    const prompt = host.base.loaded.tokenizer.decode(ids);
    assert.ok(prompt.includes('{"type": "function", "function": {"name": "multiply", '), prompt);
    assert.equal(choice.finish_reason, "tool_calls");
    const { role, content, reasoning_content: reasoning, tool_calls: calls } = choice.message;
    assert.deepEqual([role, content, reasoning], ["assistant", "I see.", "hard"]);
    for (const [i, name] of ["multiply", "add"].entries()) {
      assert.match(calls[i].id, /^[A-Za-z0-9]{9}$/);
      const called = { name, arguments: JSON.stringify(args) };
      assert.deepEqual({ ...calls[i], id: "" }, { id: "", type: "function", function: called });
    }
    const events = await eventsOf(await post(CHAT, { messages, tools, stream: true }));
    const deltas = events.map(({ choices: [one] }) => one.delta);
    const joined = (name: string) => deltas.map((delta) => delta[name] ?? "").join("");
    assert.deepEqual([joined("content"), joined("reasoning_content")], ["I see.", "hard"]);
    const parts: Reply[] = deltas.flatMap((delta) => delta.tool_calls ?? []);
    for (const [index, one] of calls.entries()) {
      const own = parts.filter((part) => part.index === index);
      assert.match(own[0].id, /^[A-Za-z0-9]{9}$/);
      assert.deepEqual([own[0].type, own[0].function.name], ["function", one.function.name]);
      assert.equal(own.map((part) => part.function.arguments).join(""), one.function.arguments);
      // The name comes alone, and then the arguments piece by piece.
      assert.equal(own[0].function.arguments, "");
      assert.ok(own.length > 3 && own.slice(1).every((part) => !("id" in part)));
    }
    assert.equal(events.at(-1).choices[0].finish_reason, "tool_calls");
    // Only one of them, where only one is wanted.
    const { choices: [single] } = await ask(CHAT, { messages, tools, parallel_tool_calls: false });
    assert.equal(single.message.tool_calls.length, 1);
    // The results follow the calls in the next prompt, as the chat template has them.
    const answered = [
      ...messages,
      { role: "assistant", content: null, tool_calls: calls },
      { role: "tool", tool_call_id: calls[0].id, content: "12" },
      { role: "tool", tool_call_id: calls[1].id, content: [{ type: "text", text: "7" }] },
    ];
    const { tokens } = await ask("/tokenize", { messages: answered, tools });
    assert.ok(
      host.base.loaded.tokenizer.decode(tokens).endsWith(
        `${call("multiply")}\n${call("add")}<|im_end|>\n<|im_start|>user\n<tool_response>\n12\n` +
          "</tool_response>\n<tool_response>\n7\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
      ),
    );
    assert.deepEqual(defects, []);
  }));

Deno.test("a call that is cut off or wrong is text, and its answer ended by its length", () =>
  withTools(familyTokenizer("qwen3"), async ({ ask, post, host }) => {
    const cut = '<tool_call>\n{"name": "multiply", "arguments": {"a": 3}}';
    say(host, cut, "length");
    const { choices: [choice] } = await ask(CHAT, { messages, tools });
    assert.equal(choice.finish_reason, "length");
    assert.deepEqual(choice.message, { role: "assistant", content: cut });
    const events = await eventsOf(await post(CHAT, { messages, tools, stream: true }));
    assert.equal(events.map(({ choices: [one] }) => one.delta.content ?? "").join(""), cut);
    assert.equal(events.at(-1).choices[0].finish_reason, "length");
    const wrong = '<tool_call>\n{"name": "multiply"\n</tool_call>';
    say(host, `${wrong}<|im_end|>`);
    const { choices: [other] } = await ask(CHAT, { messages, tools });
    assert.deepEqual([other.message.content, other.finish_reason], [wrong, "stop"]);
    // Without tools, and with tool_choice none, an answer is what it is.
    const { choices: [plain] } = await ask(CHAT, { messages, tools, tool_choice: "none" });
    assert.equal(plain.message.content, wrong);
  }));

/** Calls of a model of random weights, which must be made. */
const forced = async ({ ask }: TestServer, tool_choice: unknown, more = {}) => {
  const limits = { temperature: 1.3, max_tokens: 400 };
  const { choices: [choice] } = await ask(CHAT, {
    messages,
    tools,
    tool_choice,
    ...limits,
    ...more,
  });
  return choice;
};

for (const family of ["qwen3", "llama3_1", "qwen3_5_think", "gemma4_v5", "gptoss"]) {
  Deno.test(`a model of ${family} makes the calls that it must, whatever it has learnt`, () =>
    withTools(familyTokenizer(family), async (server) => {
      for (const seed of [0, 1]) {
        const choice = await forced(server, "required", { seed });
        assert.equal(choice.finish_reason, "tool_calls", JSON.stringify(choice));
        // The form of a text says nothing of calls.
        const named = await forced(server, { type: "function", function: { name: "add" } }, {
          seed,
          response_format: { type: "json_object" },
        });
        assert.equal(named.finish_reason, "stop");
        assert.deepEqual(named.message.tool_calls.map((call: Reply) => call.function.name), [
          "add",
        ]);
        for (const { function: called } of [choice, named].flatMap((c) => c.message.tool_calls)) {
          const { a, b, ...others } = JSON.parse(called.arguments);
          assert.ok(["multiply", "add"].includes(called.name));
          assert.ok(Number.isInteger(a) && Number.isInteger(b) && a >= 0 && b <= 99);
          assert.deepEqual(others, {});
        }
        assert.equal(choice.message.content, null);
        const body = { messages, tools, tool_choice: "required", seed, temperature: 1.3 };
        const events = await eventsOf(await server.post(CHAT, { ...body, stream: true }));
        const parts = events.flatMap(({ choices: [one] }) => one.delta.tool_calls ?? []);
        assert.equal(
          parts.map((part) => part.function.arguments).join(""),
          choice.message.tool_calls.map((call: Reply) => call.function.arguments).join(""),
        );
      }
      const cut = await forced(server, "required", { max_tokens: 12 });
      assert.equal(cut.finish_reason, "length");
      assert.equal(cut.message.tool_calls, undefined);
      assert.deepEqual(server.defects, []);
    }));
}

Deno.test("a template without tools calls those that it must, shown in a system message", () => {
  const notes: string[] = [];
  const template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<|im_end|>{% endfor %}" +
    "{% if add_generation_prompt %}[assistant]{% endif %}";
  return withTools(byteTokenizer(template), async (server) => {
    const { ask, host } = server;
    const refused = await ask(CHAT, { messages, tools });
    assert.equal(refused.error.param, "tools");
    assert.match(refused.error.message, /leaves out tools; tool_choice: "required"/);
    for (const system of [[], [{ role: "system", content: "Be brief." }]]) {
      const asked = { messages: [...system, ...messages], return_token_ids: true, seed: 1 };
      const choice = await forced(server, "required", asked);
      assert.equal(choice.finish_reason, "tool_calls");
      const { tokens } = await ask("/tokenize", { ...asked, tools, tool_choice: "required" });
      const prompt = host.base.loaded.tokenizer.decode(tokens);
      assert.match(prompt, /^\[system\](Be brief\.\n\n)?You can call .*\n.*"name":"multiply"/);
      const calls = [{ id: "1", type: "function", function: { name: "add", arguments: "" } }];
      const history = [...messages, { role: "assistant", tool_calls: calls }];
      const later = await ask("/tokenize", { messages: history });
      const text = host.base.loaded.tokenizer.decode(later.tokens);
      assert.match(text, /\[assistant\]\[\{"name":"add","arguments":\{\}\}\]/);
    }
    assert.deepEqual(notes, [
      "tools are shown in a system message: the chat template leaves out tools",
    ]);
  }, notes);
});

Deno.test("tools that are wrong are refused by the field's name", () =>
  withTools(familyTokenizer("qwen3"), async ({ ask }) => {
    const one = (fields: object) => ({ tools: [{ type: "function", function: fields }] });
    const required = { tool_choice: "required" };
    await refuses({ ask }, CHAT, { messages }, [
      [{ tools: {} }, "tools", /a list/],
      [{ tools: [{ type: "web_search" }] }, "tools[0].type", /"function"/],
      [{ tools: [{ type: "function" }] }, "tools[0].function", /an object with a name/],
      [one({ name: "a b" }), "tools[0].function.name", /letters/],
      [{ tools: [tool("f"), tool("f")] }, "tools[1].function.name", /two tools are named f/],
      [one({ name: "f", parameters: 5 }), "tools[0].function.parameters", /JSON schema/],
      [
        one({ name: "f", parameters: { type: "string" } }),
        "tools[0].function.parameters",
        /object/,
      ],
      [
        { ...one({ name: "f", parameters: { type: "object", minProps: 1 } }), ...required },
        "tool_choice",
        /tools\[0\]\.function\.parameters\.minProps is not supported/,
      ],
      [{ tools, tool_choice: "always" }, "tool_choice", /none, auto, required/],
      [{ tools, tool_choice: { type: "function" } }, "tool_choice", /name/],
      [
        { tools, tool_choice: { type: "function", function: { name: "multiple" } } },
        "tool_choice",
        /no tool "multiple".*multiply/,
      ],
      [{ ...required }, "tool_choice", /no tools/],
      [{ tools, response_format: { type: "json_object" } }, "tools", /held to a form/],
      [{ tools, ...required, structured_outputs: { regex: "a" } }, "tool_choice", /exclude/],
      [one({ name: "f", strict: "yes" }), "tools[0].function.strict", /true or false/],
      [{ tools, parallel_tool_calls: 1 }, "parallel_tool_calls", /true or false/],
      [{ functions: [{ name: "f" }] }, "functions", /use tools/],
      [
        { messages: [{ role: "user", content: "x", tool_calls: [{ function: { name: "f" } }] }] },
        "messages[0].tool_calls",
        /only the assistant/,
      ],
      [
        {
          messages: [{
            role: "assistant",
            tool_calls: [{ function: { name: "f", arguments: "{" } }],
          }],
        },
        "messages[0].tool_calls[0].function.arguments",
        /JSON object/,
      ],
    ]);
    const { error } = await ask(CHAT, {
      messages: [...messages, { role: "tool", content: "7 ".repeat(3000) }],
      tools,
    });
    assert.equal(error.code, "context_length_exceeded");
  }));

Deno.test("the official client calls tools, also those of zod, and sends their results", () =>
  withTools(familyTokenizer("qwen3"), async ({ url, host }) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0 });
    const multiply = (given: { a: number; b: number }) => given.a * given.b;
    const schema = z.object({ a: z.number().int(), b: z.number().int() });
    const call = '<tool_call>\n{"name": "multiply", "arguments": {"a": 3, "b": "4"}}\n</tool_call>';
    say(host, `${call}<|im_end|>`);
    const asked = { model: "base", messages: [{ role: "user" as const, content: "3 times 4?" }] };
    const parsed = await client.chat.completions.parse({
      ...asked,
      tools: [zodFunction({ name: "multiply", parameters: schema })],
    });
    const found = ({ message }: Reply) => message.tool_calls[0].function.parsed_arguments;
    assert.deepEqual(found(parsed.choices[0]), { a: 3, b: 4 });
    const stream = client.chat.completions.stream({
      ...asked,
      tools: [zodFunction({ name: "multiply", parameters: schema })],
    });
    const final = await stream.finalChatCompletion();
    assert.deepEqual(found(final.choices[0]), { a: 3, b: 4 });
    // The client itself calls the tool, and asks again with the result.
    const runner = client.chat.completions.runTools({
      ...asked,
      tools: [{
        type: "function",
        function: {
          name: "multiply",
          description: "Multiplies two numbers",
          parse: JSON.parse,
          function: (given: { a: number; b: number }) => {
            say(host, "It is 12.<|im_end|>");
            return String(multiply(given));
          },
          parameters,
        },
      }],
    });
    assert.equal(await runner.finalContent(), "It is 12.");
  }));
