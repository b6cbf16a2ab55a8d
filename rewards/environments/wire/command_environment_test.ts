/** Environments that a program answers for, and programs that answer badly. */
import assert from "node:assert/strict";
import { UsageError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import type { Environment, EnvironmentCall, Outcome, Reply, State } from "../environment.ts";
import { environmentOf } from "../open_environments.ts";

/** Counts the messages of a dialogue. A mode says how it fails, when a message is "fail". */
const PROGRAM = `
const [mode, folder] = Deno.args, counts = {}, bytes = new TextEncoder();
const out = (text) => Deno.stdout.writeSync(bytes.encode(text + "\\n"));
let pending = "";
for await (const piece of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (pending + piece).split("\\n");
  pending = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    const send = (answer, to = id) => out(JSON.stringify({ jsonrpc: "2.0", id: to, ...answer }));
    const { session = params._meta?.["rgx/session"], message, row } = params;
    if (method === "env/reset" && mode !== "plain") {
      if (row.fail) send({ error: { code: -32000, message: "KeyError: 'question'" } });
      else {
        counts[session] = 0;
        send({ result: { observation: "from " + params.seed } });
      }
    } else if (method === "env/step") {
      counts[session]++;
      const bad = message.content === "fail" ? mode : "";
      if (bad === "dies") { console.error("Traceback: a mistake"); Deno.exit(3); }
      if (bad === "dies once") {
        try { Deno.mkdirSync(folder + "/died"); Deno.exit(1); } catch { /* the second time */ }
      }
      if (bad === "prints") out("hello");
      if (bad === "prints alone") { out("hello"); continue; }
      if (bad === "wrong id") { send({ result: {} }, 99); continue; }
      if (bad === "huge") { out("x".repeat(2 ** 25)); continue; }
      if (bad === "no UTF-8") { Deno.stdout.writeSync(new Uint8Array([0xff, 0xfe, 10])); continue; }
      if (bad === "no result") { send({}); continue; }
      const observation = mode === "differs" ? String(Deno.pid) : String(counts[session]);
      const result = { observation, reward: 0.5, done: bad === "done" };
      if (bad === "other session") result.session = "elsewhere";
      if (bad === "no text") result.observation = 3;
      if (bad === "differs") Deno.exit(0);
      send({ result });
      if (bad === "twice") send({ result: { observation: "second" } });
    } else if (method === "env/close") send({ result: { reward: counts[session] } });
    else if (method === "initialize" && mode === "plain") {
      send({ result: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} } });
    } else if (method === "tools/list" && mode !== "steps") {
      const inputSchema = { type: "object", properties: { by: { type: "number" } } };
      send({ result: { tools: [{ name: "add", description: "adds", inputSchema }] } });
    } else if (method === "tools/call") {
      const { by } = params.arguments;
      counts[session] += by;
      const text = by < 0 ? "negative" : String(counts[session]);
      const result = { content: [{ type: "text", text }], isError: by < 0 };
      send({ result: { ...result, _meta: { "rgx/reward": 0.25, "rgx/done": by > 5 } } });
    } else if (id !== undefined) send({ error: { code: -32601, message: "no " + method } });
  }
}`;

async function withProgram(
  mode: string,
  test: (
    ask: (...calls: EnvironmentCall[]) => Promise<Outcome[]>,
    has: unknown,
    environment: Environment,
  ) => Promise<void>,
  workers = 1,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/counts.js`, PROGRAM);
  const command = [
    Deno.execPath(),
    "run",
    "-A",
    "--no-config",
    `${folder}/counts.js`,
    mode,
    folder,
  ];
  const environment = environmentOf({ command, workers });
  try {
    await test((...calls) => environment.answer(calls, 3), await environment.open(), environment);
  } finally {
    await environment.close();
    await Deno.remove(folder, { recursive: true });
  }
}

const RESET: EnvironmentCall = { call: "reset", row: {}, seed: 7, example: 0 };
const say = (content: string, state: State): EnvironmentCall => ({
  call: "step",
  message: { role: "assistant", content },
  state,
});
const stateOf = (outcome: Outcome | undefined) => (outcome as Reply).state;

/** The answers after "a" and a message that makes the program fail, and after "b" then. */
const BAD: Record<string, { fails?: RegExp; late?: true; then?: string }> = {
  "dies": { fails: /its process ended \(exit code 3\): Traceback: a mistake/ },
  "dies once": { then: "3" },
  "prints": { then: "3" },
  "prints alone": {
    fails: /no answer .* within 0.5 s; it wrote "hello" to its stdout/,
    late: true,
  },
  "wrong id": { fails: /it answered request 99, which was not sent/, late: true },
  "huge": { fails: /a line of more than \d+ characters/ },
  "no UTF-8": { fails: /bytes that are no UTF-8/ },
  "no result": { fails: /neither result nor error/ },
  "other session": { fails: /for session elsewhere, expected s\d+/ },
  "no text": { fails: /env\/step: observation is 3, expected a text/ },
  "twice": { then: "3" },
  "differs": { fails: /answers differently .*exchange 2, step "a", gives "\d+" now/ },
};

for (const [mode, { fails, late, then }] of Object.entries(BAD)) {
  Deno.test(`a program that fails, ${mode}, gives an error or the right answer`, async () => {
    await withProgram(mode, async (ask, _, environment) => {
      const [start] = await ask(RESET);
      assert.equal((start as Reply).content, "from 7");
      const [first] = await ask(say("a", stateOf(start)));
      const [bad] = await environment.answer([say("fail", stateOf(first))], late ? 0.5 : 3);
      if (fails !== undefined) {
        assert.match((bad as { error: string }).error, fails);
        assert.equal(bad!.late, late);
        if (mode === "differs") return;
        // The dialogue can go on from where it was.
        const [after] = await ask(say("b", stateOf(first)));
        return assert.equal((after as Reply).content, "2");
      }
      assert.equal((bad as Reply).content, "2");
      const [after] = await ask(say("b", stateOf(bad)));
      assert.equal((after as Reply).content, then);
    });
  });
}

Deno.test("dialogues that share a start go on by themselves, with any number of workers", async () => {
  const played: unknown[] = [];
  for (const workers of [1, 3]) {
    await withProgram("counts", async (ask, has) => {
      assert.deepEqual(has, {
        step: true,
        reward: true,
        tools: [{
          name: "add",
          description: "adds",
          parameters: { type: "object", properties: { by: { type: "number" } } },
        }],
      });
      const [start] = await ask(RESET), state = stateOf(start);
      const add = (by: number): EnvironmentCall => ({
        call: "run",
        tool: "add",
        args: { by },
        state,
      });
      const turns = await ask(say("a", state), say("b", state), add(3), add(9), add(-1));
      const states = turns.map((turn) => (turn as { state: State }).state);
      const ends = await ask(...states.map((state) => ({ call: "reward" as const, state })));
      const shown = (outcome: Outcome) =>
        "error" in outcome ? outcome.error : [outcome.content, outcome.reward, outcome.done];
      played.push([...turns.map(shown), ...ends.map(shown)]);
    }, workers);
  }
  assert.deepEqual(played[0], [
    ["1", 0.5, false],
    ["1", 0.5, false],
    ["3", 0.25, false],
    ["9", 0.25, true],
    "negative",
    ...[1, 1, 3, 9, -1].map((reward) => ["", reward, false]),
  ]);
  assert.deepEqual(played[1], played[0]);
});

Deno.test("a program without env/reset is a server of tools, and a row may be refused", async () => {
  await withProgram("plain", async (ask, has) => {
    assert.equal((has as { step: boolean }).step, false);
    const [sum] = await ask({ call: "run", tool: "add", args: { by: 2 }, state: {} });
    assert.equal((sum as Reply).done, false);
  });
  await withProgram("steps", async (ask, has) => {
    assert.deepEqual(has, { step: true, reward: true, tools: [] });
    const [refused] = await ask({ ...RESET, row: { fail: true } } as EnvironmentCall);
    assert.match((refused as { error: string }).error, /KeyError: 'question'/);
  });
  const missing = environmentOf({ command: ["no-such-program-here"] });
  await assert.rejects(
    missing.open(),
    refusal(/cannot be started: no such program/, UsageError),
  );
});
