/** Dialogues that an agent leads, and agents that misbehave. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { familyTokenizer } from "../../models/tokenizers/dialects/dialect_testing.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import type { Dialogue } from "./dialogue.ts";
import { idsOf, lossMask, rowsOf } from "./segments.ts";
import { playScripts, type ScriptedGame } from "./testing.ts";

const tokenizer = familyTokenizer("qwen3");

/** What agents of tests have at hand; `code` is what one does. */
const agent = (code: string) =>
  `const { row, seed } = JSON.parse(await new Response(Deno.stdin.readable).text());
const base = Deno.env.get("OPENAI_BASE_URL"), key = Deno.env.get("OPENAI_API_KEY");
const send = (body, { path = "/chat/completions", as = key } = {}) =>
  fetch(base + path, {
    method: "POST",
    headers: { authorization: "Bearer " + as, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const user = (content) => ({ role: "user", content });
const ask = async (messages, more = {}) => {
  const response = await send({ model: "any", messages, ...more });
  const json = await response.json();
  if (!response.ok) throw new Error(response.status + " " + json.error.message);
  return json.choices[0];
};
// A last line need not end.
const end = (value) => Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(value)));
${code}
`;

/** The dialogue of an agent with a model that says these texts. */
async function play(code: string, says: readonly string[], game: ScriptedGame = {}) {
  let dialogue: Dialogue;
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/agent.js`, agent(code));
    const command = [Deno.execPath(), "run", "-A", "--no-lock", `${folder}/agent.js`];
    const environment = { agent: command, max_prompt_length: 600 };
    const limits = { tool_timeout_s: 60, ...game.limits };
    const { dialogues } = await playScripts([says], { environment, tokenizer, ...game, limits });
    [dialogue] = dialogues as [Dialogue];
  });
  return dialogue!;
}

Deno.test("a conversation of an agent that goes on is one row", async () => {
  const dialogue = await play(
    `const messages = [user("one")], first = await ask(messages, { temperature: 0 });
     messages.push(first.message, user("two"));
     const second = await ask(messages, { max_completion_tokens: 4 });
     console.log("some line");
     end({ reward: 0.5, metrics: { cut: Number(second.finish_reason === "length") }, answer: "x" });`,
    ["hello<|im_end|>", "world, and more"],
  );
  const { about, reward, rows, segments, messages, text } = dialogue;
  assert.deepEqual([about.stop, about.turns, about.userTurns, reward], ["done", 2, 1, 0.5]);
  assert.deepEqual([about.metrics, text, rows], [{ cut: 1 }, "x", undefined]);
  assert.deepEqual(segments.map(({ from }) => from), ["model", "environment", "model"]);
  assert.equal(
    tokenizer.decode(idsOf(dialogue)),
    "hello<|im_end|>\n<|im_start|>user\ntwo<|im_end|>\n<|im_start|>assistant\nworl",
  );
  assert.match(dialogue.prompt.text, /user\none<\|im_end\|>\n<\|im_start\|>assistant\n$/);
  assert.deepEqual(messages.map(({ content }) => content), ["hello", "two", "worl"]);
  assert.equal(lossMask(dialogue)!.filter((one) => one === 1).length, 10);
});

Deno.test("other conversations of an agent are rows of their own", async () => {
  const dialogue = await play(
    `const a = [user("a")], b = [{ role: "system", content: "s" }, user("b")];
     a.push((await ask(a)).message, user("more"));
     await ask(b);
     await ask(a);
     await ask(b);
     end({ reward: 1 });`,
    ["1<|im_end|>", "2<|im_end|>", "3<|im_end|>", "4<|im_end|>"],
  );
  const contents = dialogue.messages.map(({ content }) => content);
  assert.deepEqual(contents, ["1", "s", "b", "2", "more", "3", "s", "b", "4"]);
  const rows = rowsOf(dialogue), said = (row: typeof rows[number]) => tokenizer.decode(idsOf(row));
  assert.deepEqual(rows.map(({ turns }) => turns), [[0, 2], [1], [3]]);
  assert.match(said(rows[0]!), /^1<\|im_end\|>[^]*more[^]*3<\|im_end\|>$/);
  assert.deepEqual(rows.slice(1).map(said), ["2<|im_end|>", "4<|im_end|>"]);
  assert.equal(dialogue.segments.length, rows.flatMap(({ segments }) => segments).length);
});

Deno.test("an agent gets calls of its tools, in streams too", async () => {
  const { about, messages } = await play(
    `const tools = [{ type: "function", function: { name: "f",
       parameters: { type: "object", properties: { x: { type: "integer" } } } } }];
     const options = { tools, stream: true, stream_options: { include_usage: true } };
     const response = await send({ messages: [user("call")], ...options });
     if (!response.ok) throw new Error(await response.text());
     const events = (await response.text()).trim().split("\\n\\n").map((line) => line.slice(6));
     const chunks = events.slice(0, -1).map((text) => JSON.parse(text));
     const [call] = chunks[0].choices[0].delta.tool_calls;
     const reason = chunks[1].choices[0].finish_reason;
     const messages = [user("call"), { role: "assistant", content: null, tool_calls: [call] },
       { role: "tool", tool_call_id: call.id, content: "9" }];
     await ask(messages, { tools });
     end({ metrics: { index: call.index, x: JSON.parse(call.function.arguments).x,
       usage: chunks[2].usage.completion_tokens, isCall: Number(reason === "tool_calls"),
       isDone: Number(events.at(-1) === "[DONE]") } });`,
    ['<tool_call>\n{"name": "f", "arguments": {"x": 3}}\n</tool_call><|im_end|>', "nine<|im_end|>"],
  );
  assert.deepEqual(about.metrics, { index: 0, x: 3, usage: 41, isCall: 1, isDone: 1 });
  assert.deepEqual(messages.map(({ role }) => role), ["assistant", "tool", "assistant"]);
  assert.deepEqual(messages[0]!.tool_calls?.[0]?.function, { name: "f", arguments: { x: 3 } });
});

Deno.test("what an agent may not ask is refused, and it can go on", async () => {
  const { about, reward } = await play(
    `const metrics = {}, note = async (name, response) => {
       metrics[name] = response.status;
       await response.body?.cancel();
     };
     const messages = [user("go")];
     await note("foreign", await send({ messages }, { as: "rgx-another" }));
     await note("path", await send({ messages }, { path: "/embeddings" }));
     await note("huge", await send("x".repeat(2 ** 21)));
     await note("text", await send("no JSON"));
     await note("choices", await send({ messages, n: 2 }));
     await note("form", await send({ messages, response_format: { type: "json_object" } }));
     await note("long", await send({ messages: [user("long ".repeat(150))] }));
     await note("models", await fetch(base + "/models", { headers: { authorization: "Bearer " + key } }));
     await ask(messages);
     end({ reward: 1, metrics });`,
    ["yes<|im_end|>"],
  );
  assert.deepEqual([about.stop, about.turns, reward], ["done", 1, 1]);
  const refused = { text: 400, choices: 400, form: 400, long: 400 };
  assert.deepEqual(about.metrics, {
    foreign: 401,
    path: 404,
    huge: 413,
    ...refused,
    models: 200,
  });
});

const FAILURES: [what: string, code: string, stop: string, error: RegExp | null][] = [
  ["never asks", "end({ reward: 1 });", "error", /ended without asking the model/],
  [
    "dies",
    `await ask([user("a")]); console.error("a mistake"); Deno.exit(3);`,
    "error",
    /exit code 3\): a mistake/,
  ],
  [
    "hangs, and prints",
    `await ask([user("a")]); setInterval(() => console.log("busy"), 50);`,
    "timeout",
    /1 s/,
  ],
  [
    "says a wrong reward",
    `await ask([user("a")]); end({ reward: "x" });`,
    "error",
    /reward is "x"/,
  ],
  ["says nothing", `await ask([user("a")]);`, "done", null],
  [
    "repeats what is refused",
    `for (;;) await send({ messages: [] });`,
    "error",
    /messages is \[\], expected a list/,
  ],
];

for (const [what, code, stop, error] of FAILURES) {
  Deno.test(`an agent that ${what} ends its own dialogue alone`, async () => {
    const limits = /hangs|repeats/.test(what) ? { tool_timeout_s: 1 } : {};
    const played = await play(code, ["1<|im_end|>"], { limits }).catch((thrown: Error) => thrown);
    if (played instanceof Error) {
      // All dialogues have failed.
      assert.equal(stop, "error");
      assert.match(played.message, error!);
      return;
    }
    assert.equal(played.about.stop, stop);
    if (error !== null) assert.match(played.about.error!, error);
  });
}

Deno.test("an agent hears of the limit that ends its dialogue, and may still give a reward", async () => {
  const { about, reward, truncated } = await play(
    `let metrics = {};
     await ask([user("a")]);
     for (let i = 0; i < 2; i++) {
       const response = await send({ messages: [user("b")] });
       metrics["after" + i] = response.status;
       metrics["code" + i] = Number((await response.json()).error.code === "dialogue_ended");
     }
     end({ reward: 0.25, metrics });`,
    ["1<|im_end|>"],
    { limits: { max_assistant_turns: 1 } },
  );
  assert.deepEqual([about.stop, truncated, reward], ["max_turns", true, 0.25]);
  assert.deepEqual(about.metrics, { after0: 400, code0: 1, after1: 400, code1: 1 });
});

const python = Deno.env.get("RGX_TEST_PYTHON");
const EXAMPLES: [what: string, program: string[], ignore: boolean][] = [
  ["Deno", [Deno.execPath(), "run", "-A", "--no-lock", "examples/agents/guess.ts"], false],
  [
    "Python",
    [python ?? "", "examples/agents/guess.py"],
    needs(python !== undefined, NEEDED.python),
  ],
];

for (const [what, agent, ignore] of EXAMPLES) {
  Deno.test({
    name: `the example of an agent for ${what} asks until the number is found`,
    ignore,
    async fn() {
      const environment = { agent, max_prompt_length: 600 };
      const says = ["is it 4?", "12", "8"].map((text) => `${text}<|im_end|>`);
      const game = { environment, tokenizer, limits: { tool_timeout_s: 60 } };
      const { dialogues: [dialogue] } = await playScripts([says], game);
      const { about, reward, rows, messages } = dialogue!;
      const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
      assert.deepEqual([about.stop, about.metrics, rows], ["done", { found: 1 }, undefined]);
      assert.deepEqual([said, reward], [["higher", "lower"], 1 / 3]);
    },
  });
}
