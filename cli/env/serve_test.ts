/** An environment that is served as OpenEnv, and played through the client of OpenEnv's servers. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import type { Outcome, Reply, State } from "../../rewards/environments/environment.ts";
import { environmentOf } from "../../rewards/environments/open_environments.ts";
import { actionIn } from "../../rewards/environments/wire/openenv.ts";
import { served } from "./serving_testing.ts";

const GUESS = `{
  reset: (row, { seed }) => ({ observation: "Begin.", secret: seed % 9, add: row.add ?? 0 }),
  step({ content }, state) {
    const guess = Number(content) + state.add;
    return guess === state.secret
      ? { content: "right", reward: 1, done: true }
      : guess < state.secret ? "higher" : "lower";
  },
  reward: () => 0.5,
}`;
const TOOLS = `{ tools: { double: {
  description: "Doubles.", parameters: { type: "object", properties: { n: { type: "number" } } },
  run({ n }) { if (n < 0) throw new Error("negative"); return 2 * n; },
} } }`;

/** Sends messages one after the other, and returns the answers. */
async function exchange(port: number, messages: readonly unknown[]): Promise<unknown[]> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`), answers: unknown[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const send = () => {
    const next = messages[answers.length];
    socket.send(typeof next === "string" ? next : JSON.stringify(next));
  };
  socket.onopen = send;
  socket.onmessage = ({ data }) => {
    answers.push(JSON.parse(data));
    if (answers.length < messages.length) send();
    else socket.close();
  };
  socket.onclose = () => resolve();
  await promise;
  return answers;
}

const observation = (data: object) => ({ type: "observation", data });

test.inFolder("the messages of OpenEnv's client have the answers of its servers", async (folder) => {
  await served(folder, GUESS, 5, async (port) => {
    const step = (message: string) => ({ type: "step", data: { message } });
    const answers = await exchange(port, [
      { type: "reset", data: { seed: 4, add: 1 } },
      step("1"),
      step("3"),
      step("3"),
      { type: "step", data: { other: 1 } },
      { type: "what" },
      "{",
    ]) as { type: string; data: { code: string; message: string } }[];
    assert.deepEqual(answers.slice(0, 3), [
      observation({ observation: { message: "Begin." }, reward: null, done: false }),
      observation({ observation: { message: "higher" }, reward: null, done: false }),
      observation({ observation: { message: "right" }, reward: 1.5, done: true }),
    ]);
    assert.deepEqual(answers.slice(3).map(({ type, data }) => [type, data.code]), [
      ["error", "EXECUTION_ERROR"],
      ["error", "VALIDATION_ERROR"],
      ["error", "UNKNOWN_TYPE"],
      ["error", "INVALID_JSON"],
    ]);
    const get = async (path: string) =>
      await (await fetch(`http://127.0.0.1:${port}${path}`)).json();
    assert.deepEqual(await get("/health"), { status: "healthy" });
    assert.deepEqual((await get("/schema")).action.required, ["message"]);
    const headers = { origin: "http://elsewhere.example" };
    const foreign = await fetch(`http://127.0.0.1:${port}/health`, { headers });
    assert.equal((await foreign.text(), foreign.status), 403);
  });
  await served(folder, TOOLS, 5, async (port) => {
    const call = (n: number) => ({
      type: "step",
      data: { type: "call_tool", tool_name: "double", arguments: { n } },
    });
    const rpc = { jsonrpc: "2.0", id: 3, method: "tools/call" };
    const answers = await exchange(port, [
      { type: "step", data: { type: "list_tools" } },
      call(4),
      call(-1),
      { type: "mcp", data: { ...rpc, params: { name: "double", arguments: { n: 5 } } } },
      // deno-lint-ignore no-explicit-any
    ]) as { data: Record<string, any> }[];
    const [list, doubled, failed, byRpc] = answers.map(({ data }) => data);
    assert.equal(list!["observation"].tools[0].input_schema.properties.n.type, "number");
    assert.equal(doubled!["observation"].result.data, "8");
    assert.equal(failed!["observation"].error.error_type, "execution_error");
    assert.equal(byRpc!["result"].data, "10");
  });
});

test.inFolder("more dialogues than places on a server are played, one after the other", async (folder) => {
  await served(folder, GUESS, 2, async (port) => {
    const environment = environmentOf({ url: `ws://127.0.0.1:${port}` });
    assert.deepEqual(await environment.open(), { step: true, reward: true, tools: [] });
    const seeds = [0, 1, 2, 3, 4];
    const starts = await environment.answer(
      seeds.map((seed) => ({ call: "reset", row: {}, seed, example: 0 })),
      10,
    );
    const say = (outcome: Outcome, content: string) => ({
      call: "step" as const,
      message: { role: "assistant", content },
      state: (outcome as { state: State }).state,
    });
    assert.match(
      (starts[0] as Reply).content,
      /^Begin\.\n\nAnswer with JSON of this schema: .*"message"/,
    );
    const first = await environment.answer(starts.map((start) => say(start, "2")), 10);
    assert.deepEqual(
      first.map((one) => (one as Reply).content),
      ["lower", "lower", "right", "higher", "higher"],
    );
    const [last] = await environment.answer([say(first[4]!, '```json\n{"message": "4"}\n```')], 10);
    assert.deepEqual([(last as Reply).reward, (last as Reply).done], [1.5, true]);
    await environment.close();
  });
  await assert.rejects(
    environmentOf({ url: "ws://127.0.0.1:9" }).open(),
    /cannot be used: no connection/,
  );
});

Deno.test("an action is JSON, fenced JSON, or the text of the only field that is required", () => {
  const schema = (type: string) => ({ properties: { guess: { type } }, required: ["guess"] });
  const cases: [text: string, schema: object, action: unknown][] = [
    ['{"guess": 3}', schema("integer"), { guess: 3 }],
    ['I say\n```json\n{"guess": 3}\n```', schema("integer"), { guess: 3 }],
    ['so {"guess": 3} it is', schema("integer"), { guess: 3 }],
    [" 3 ", schema("integer"), { guess: 3 }],
    ["three", schema("integer"), null],
    ["three", schema("string"), { guess: "three" }],
    ["three", { properties: {}, required: ["a", "b"] }, null],
  ];
  for (const [text, given, action] of cases) {
    assert.deepEqual(actionIn(text, given as Record<string, unknown>), action, text);
  }
});
