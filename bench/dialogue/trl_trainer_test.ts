/**
 * TRL's tests of tools and environments in its trainer (`tests/test_grpo_trainer.py`,
 * `test_train_with_tools` and those after it), with its numbers, and its scripts of a model.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { familyTokenizer } from "../../models/tokenizers/dialects/dialect_testing.ts";
import { type Dialogue, dialogueMetrics } from "./dialogue.ts";
import { playScripts, QUESTION, type ScriptedGame, withGame, writeEnvironment } from "./testing.ts";

const tokenizer = familyTokenizer("qwen3"), END = "<|im_end|>";
const call = (name: string, args: object) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>${END}`;

const integer = (name: string) =>
  `{ type: "object", properties: { ${name}: { type: "integer" } }, required: ["${name}"] }`;
/** TRL's environment of a counter; its reward is the number that the model has reached. */
const COUNTER = `{
  reset: (row) => ({ counter: 0, start: row.start ?? 0 }),
  tools: { increment: {
    description: "Increments the counter.",
    parameters: ${integer("step")},
    run({ step }, state) {
      state.counter += step;
      return String(state.counter);
    },
  } },
  reward: (state) => state.counter,
}`;
const MULTIPLY = `{ tools: { multiply_tool: {
  description: "Multiplies two integers.",
  parameters: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } },
    required: ["a", "b"] },
  run: ({ a, b }) => a * b,
} } }`;

async function play(scripts: string[][], game: ScriptedGame): Promise<Dialogue[]> {
  return (await playScripts(scripts, { tokenizer, ...game })).dialogues;
}

function frequencies(dialogues: readonly Dialogue[]): [calls: number, failures: number] {
  const metrics = dialogueMetrics(dialogues.map(({ about }) => about));
  return [metrics["tools/call_frequency"]!, metrics["tools/failure_frequency"]!];
}

test.inFolder("several environments: the column chooses, and only its tools are shown", async (folder) => {
  const decrement = COUNTER.replaceAll("ncrement", "ecrement").replaceAll("iecrement", "decrement");
  const environments = {
    up: await writeEnvironment(folder, COUNTER, "up.ts"),
    down: await writeEnvironment(folder, decrement, "down.ts"),
  };
  await withGame({ environments, tokenizer }, async (play) => {
    const of = async (environment: string, scripts: string[][]) => {
      const entry = { ...QUESTION, metadata: { ...QUESTION.metadata, environment } };
      return (await play(scripts, { entry })).dialogues;
    };
    const up = await of("up", [[call("increment", { step: 1 }), `1${END}`], [`no${END}`]]);
    const down = await of("down", [[call("decrement", { step: 2 }), `2${END}`], [`no${END}`]]);
    assert.deepEqual(frequencies([...up, ...down]), [2 / 4, 0]);
    assert.match(up[0]!.prompt.text, /"increment"/);
    assert.doesNotMatch(up[0]!.prompt.text, /decrement/);
    assert.match(down[0]!.prompt.text, /"decrement"/);
    assert.deepEqual([...up, ...down].map(({ reward }) => reward), [1, 0, 2, 0]);
    await assert.rejects(of("side", [[]]), /column environment: expected one of up, down, found/);
  });
});

test.inFolder("an environment with a tool: its state is that of one dialogue", async (folder) => {
  const environment = await writeEnvironment(folder, COUNTER);
  const dialogues = await play([
    [call("increment", { step: 2 }), call("increment", { step: 3 }), `5${END}`],
    [`no${END}`],
    [`no${END}`],
  ], { environment });
  assert.deepEqual(frequencies(dialogues), [2 / 3, 0]);
  assert.deepEqual(dialogues.map(({ reward }) => reward), [5, 0, 0]);
  assert.deepEqual(
    dialogues[0]!.messages.filter(({ role }) => role === "tool").map(({ content }) => content),
    ["2", "5"],
  );
});

test.inFolder("an environment and tools for all problems stand side by side", async (folder) => {
  const dialogues = await play([
    [call("increment", { step: 2 }), call("multiply_tool", { a: 2, b: 3 }), `6${END}`],
    [`no${END}`],
  ], {
    environment: await writeEnvironment(folder, COUNTER),
    tools: [await writeEnvironment(folder, MULTIPLY, "multiply.ts")],
  });
  assert.deepEqual(frequencies(dialogues), [1, 0]);
  assert.deepEqual(dialogues.map(({ reward }) => reward), [2, 0]);
});

test.inFolder("calls that are malformed are no calls that run, and do no harm", async (folder) => {
  const tools = [await writeEnvironment(folder, MULTIPLY)];
  const malformed = [
    `<tool_call>\n{"name": "multiply_tool", "arguments": {"a": 3,\n</tool_call>${END}`,
    `<tool_call>\nnot JSON\n</tool_call>${END}`,
    `<tool_call>\n{"arguments": {"a": 3, "b": 4}}\n</tool_call>${END}`,
  ];
  const dialogues = await play(malformed.map((text) => [text]), { tools });
  for (const { about, messages } of dialogues) {
    assert.equal(about.stop, "parse_error");
    assert.deepEqual(messages.map(({ role }) => role), ["assistant"]);
  }
  assert.deepEqual(frequencies(dialogues), [1, 1]);
  const [again] = await play([[malformed[1]!, call("multiply_tool", { a: 3, b: 4 }), `12${END}`]], {
    tools,
    limits: { on_parse_error: { retry: { message: "Again: {error}", max: 1 } } },
  });
  assert.equal(again!.about.stop, "completed");
  assert.match(again!.messages[1]!.content, /^Again: ./);
});
