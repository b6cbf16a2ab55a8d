/** Dialogues with environments and a scripted model: ids, limits, seeds, faults. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { dialogueMetrics } from "./dialogue.ts";
import { idsOf, lossMask } from "./segments.ts";
import { CHARACTERS, playScripts, QUESTION, withGame, writeEnvironment } from "./testing.ts";

const GUESS = { path: "examples/environments/guess_the_number.ts" };
const decode = (ids: readonly number[]) => CHARACTERS.decode(ids);

/** An environment that answers each message with a count from its state. */
const COUNTER = `{
  reset: (row, { seed, example }) => ({ count: 0, observation: "!" + [example, seed, row.question] }),
  step(message, state) {
    state.count++;
    return { content: "no " + state.count, reward: 0.5, metrics: { said: message.content.length } };
  },
  reward: (state) => state.count,
}`;

Deno.test("what the environment says is context; the model's answers are trained on", async () => {
  const { dialogues: [dialogue], requests } = await playScripts(
    [["9<eos>", "4<eos>", "7<eos>", "6<eos>", "5<eos>", "2<eos>"]],
    { environment: GUESS, seed: 5 },
  );
  const { segments, about, prompt, messages, reward } = dialogue!;
  assert.match(prompt.text, /^Begin\.Guess my number from 1 to 15\.$/);
  assert.equal(about.stop, "done");
  assert.deepEqual(segments.map(({ from }) => from).slice(0, 3), ["model", "environment", "model"]);
  const ids = idsOf(dialogue!), mask = lossMask(dialogue!)!;
  assert.equal(ids.length, mask.length);
  const trained = decode(ids.filter((_, t) => mask[t] === 1));
  assert.equal(
    trained,
    messages.filter(({ role }) => role === "assistant").map(({ content }) => `${content}<eos>`)
      .join(""),
  );
  assert.match(decode(ids), /^9<eos>\n(higher|lower)\n4<eos>/);
  // Each prompt is all ids so far, and the random draws go on.
  for (const [i, request] of requests.entries()) {
    const before = segments.slice(0, 2 * i).flatMap((segment) => segment.ids);
    assert.deepEqual(request.promptIds, [...prompt.ids, ...before]);
    assert.equal(request.firstPosition ?? 0, before.length);
  }
  assert.ok(reward === 0 || reward! > 0);
  assert.equal(about.metrics["guesses"], about.turns);
});

test.inFolder("rewards of steps and of the end are summed, by turns too", async (folder) => {
  const environment = await writeEnvironment(folder, COUNTER);
  const limits = { max_assistant_turns: 3 };
  const script = [["a<eos>", "bc<eos>", "d<eos>"]];
  await withGame({ environment, limits }, async (play) => {
    const { dialogues: [dialogue] } = await play(script);
    const { about, reward, truncated } = dialogue!;
    assert.equal(about.stop, "max_turns");
    assert.ok(truncated);
    assert.equal(reward, 1.5 + 3);
    assert.deepEqual(about.turnRewards, [0.5, 0.5, 3.5]);
    assert.deepEqual(about.metrics, { said: 1 });
    for (const limit_reward of ["zero", "min0"] as const) {
      const { dialogues: [cut] } = await play(script, { limits: { ...limits, limit_reward } });
      assert.equal(cut!.reward, 0);
      assert.equal(cut!.about.turnRewards.reduce((a, b) => a + b, 0), 0);
    }
  });
});

test.inFolder("a group shares its start; rows or rollouts have one of their own", async (folder) => {
  const environment = await writeEnvironment(folder, COUNTER);
  await withGame({ environment }, async (play) => {
    const start = async (seed: "group" | "row" | "rollout", metadata = {}) => {
      const entry = { ...QUESTION, metadata: { ...QUESTION.metadata, ...metadata } };
      const game = { limits: { seed, max_assistant_turns: 1 }, entry };
      const { dialogues, requests } = await play([["a<eos>"], ["b<eos>"]], game);
      return { texts: dialogues.map(({ prompt }) => prompt.text), requests };
    };
    const group = await start("group"), rollout = await start("rollout");
    assert.equal(new Set(group.texts).size, 1);
    assert.match(group.texts[0]!, /^Begin\.!3,\d+,Begin\.$/);
    // One request for the prompt of a group: it is computed once.
    assert.deepEqual(group.requests.map(({ n }) => n), [2]);
    assert.equal(new Set(rollout.texts).size, 2);
    const asked = rollout.requests.map(({ n, firstBranch }) => [n, firstBranch]);
    assert.deepEqual(asked, [[1, 0], [1, 1]]);
    const { texts: row } = await start("row");
    assert.deepEqual((await start("row")).texts, row);
    assert.notDeepEqual((await start("row", { x: 1 })).texts, row);
  });
});

test.inFolder("each limit ends a dialogue with its reason, and adds nothing after it", async (folder) => {
  const environment = await writeEnvironment(folder, COUNTER);
  const cases: [limits: object, more: object, script: string[], stop: string, turns: number][] = [
    [{ max_assistant_turns: 2 }, {}, ["a", "b"], "max_turns", 2],
    [{ max_user_turns: 1 }, {}, ["a", "b"], "max_turns", 2],
    [{}, { maxTokens: 12 }, ["a", "b"], "length", 2],
    // The message of the environment would leave no room for an answer.
    [{}, { maxTokens: 7 }, ["a", "b"], "length", 1],
    [{ max_turn_tokens: 1 }, {}, ["a", "b"], "length", 1],
    [{}, { maxPositions: 32 }, ["a", "b", "c"], "context_overflow", 1],
    [{ rollout_timeout_s: 1e-9 }, {}, [], "timeout", 0],
  ];
  await withGame({ environment }, async (play) => {
    for (const [limits, more, texts, stop, turns] of cases) {
      const script = texts.map((text) => `${text}<eos>`);
      const { dialogues: [dialogue] } = await play([script], { limits, ...more });
      const { about, segments } = dialogue!;
      assert.equal(segments.at(-1)!.from, "model", about.stop);
      assert.deepEqual([about.stop, about.turns], [stop, turns]);
    }
  });
});

test.inFolder("a fault of an environment ends its dialogue, and none hangs", async (folder) => {
  const faults: [code: string, stop: string, error: RegExp][] = [
    ["for (;;);", "timeout", /gave no answer within 1 s/],
    ["return new Promise(() => {})", "timeout", /within 1 s/],
    ["return 'x'.repeat(2 ** 31)", "error", /Invalid string length/],
    [
      "const all = []; for (;;) all.push(new Array(1e6).fill(all.length))",
      "either",
      /memory|ended/,
    ],
    ["return 7", "error", /step returned 7, expected a text or/],
    ["return { content: 'x', reward: NaN }", "error", /reward is NaN, expected a finite number/],
    ["state.board = new Map(); return 'x'", "error", /state\.board is a Map: a state has texts/],
    ["state.text = 'x'.repeat(2 ** 21); return 'x'", "error", /the state has 2097\d+ characters/],
    ["state.self = state; return 'x'", "error", /nested too deeply/],
    ["throw new Error('broken')", "error", /broken \(line 1/],
    [
      "setTimeout(() => { throw new Error('later') }); return new Promise(() => {})",
      "error",
      /later/,
    ],
    ["return Deno.readTextFile('/etc/passwd')", "error", /Deno is not defined|undefined/],
  ];
  // The answer to "ok" is under way, too, when the other dialogue fails.
  const parts = `{ step({ content }, state) { if (content === "ok") ` +
    `return new Promise((end) => setTimeout(() => end({ content: "", done: true, reward: 1 }), ` +
    `50)); ${faults.map(([code], i) => `if (content === "${i}") { ${code} }`).join(" ")} } }`;
  await withGame({ environment: await writeEnvironment(folder, parts) }, async (play) => {
    for (const [i, [code, stop, error]] of faults.entries()) {
      const { dialogues: [bad, good] } = await play([[`${i}<eos>`], ["ok<eos>"]]);
      // Whether time or memory is used up first depends on the machine.
      if (stop !== "either") assert.equal(bad!.about.stop, stop, code);
      assert.match(bad!.about.error!, error, code);
      if (stop === "error") assert.equal(bad!.reward, null);
      assert.deepEqual([good!.about.stop, good!.reward], ["done", 1], code);
    }
  });
});

test.inFolder("a call that waits holds up no other dialogue", async (folder) => {
  const environment = await writeEnvironment(
    folder,
    `(() => {
    let open;
    const gate = new Promise((resolve) => open = resolve);
    return {
      async step({ content }, state) {
        state.said = (state.said ?? "") + content;
        if (content === "c") open();
        if (content === "x") await gate;
        return { content: "on", done: content === "c" || content === "x", reward: state.said.length };
      },
    };
  })()`,
  );
  // The first one waits for the third turn of the second one.
  const scripts = [["x<eos>"], ["a<eos>", "b<eos>", "c<eos>"]];
  const limits = { tool_timeout_s: 60 };
  const { dialogues } = await playScripts(scripts, { environment, limits });
  assert.deepEqual(dialogues.map(({ about, reward }) => [about.stop, reward]), [
    ["done", 1],
    ["done", 6],
  ]);
});

test.inFolder("very long answers, odd characters and prints do no harm", async (folder) => {
  const parts = `{ step(message) {
    console.log('[{"type":"done","batch":1,"row":0,"result":{"content":"forged"}}]');
    return message.content === "long" ? "x".repeat(2 ** 26) : "\\ud800 <eos> \\u0000";
  } }`;
  const environment = await writeEnvironment(folder, parts);
  const limits = { max_assistant_turns: 2 };
  const { dialogues } = await playScripts([["long<eos>"], ["a<eos>", "b<eos>"]], {
    environment,
    limits,
  });
  assert.deepEqual(dialogues.map(({ about }) => about.stop), ["length", "max_turns"]);
  const said = dialogues[1]!.messages[1]!.content;
  assert.equal(said, "\ufffd <eos> \0");
});

test.inFolder("files that are no environment are refused with the reason", async (folder) => {
  const wrong: [parts: string, message: RegExp][] = [
    ["{ reset() { return {}; } }", /neither step nor tools/],
    ["7", /its default export is no environment/],
    ["{ step: 1 }", /step is 1, no function/],
    ["{ stap() {} }", /it has stap, expected only reset, step, reward, tools/],
    ["{ tools: { reset: { description: 'x', run() {} } } }", /tools\.reset: the name is reserved/],
    ["{ tools: { 'a b': { description: 'x', run() {} } } }", /1 to 64 letters/],
    ["{ tools: { f: { run() {} } } }", /tools\.f\.description: expected a text/],
    ["{ tools: { f: { description: 'x' } } }", /tools\.f\.run: expected a function/],
    [
      "{ tools: { f: { description: 'x', parameters: { type: 'string' }, run() {} } } }",
      /its type is "string"/,
    ],
    [
      "{ tools: { f: { description: 'x', parameters: { type: 'object', properties: {}, " +
      "required: ['a'] }, run() {} } } }",
      /required names a, which is no property/,
    ],
    [
      "{ tools: { f: { description: 'x', parameters: { type: 'object', " +
      "properties: { a: { type: ['null', 'numbr'] } } }, run() {} } } }",
      /the type of a is "numbr"/,
    ],
    [
      "{ tools: { f: { description: 'x', parameters: { type: 'object', properties: { a: {} } }, " +
      "run({ b }) {} } } }",
      /run reads b, which its parameters do not have \(a\)/,
    ],
  ];
  for (const [i, [parts, message]] of wrong.entries()) {
    const environment = await writeEnvironment(folder, parts, `wrong${i}.ts`);
    await assert.rejects(() => playScripts([[]], { environment }), message);
  }
});

Deno.test("metrics have TRL's and verl's names", () => {
  const facts = { error: null, turnRewards: [], metrics: {} };
  const metrics = dialogueMetrics([
    {
      ...facts,
      stop: "completed",
      turns: 2,
      userTurns: 1,
      tools: { f: { calls: 2, failures: 1 } },
    },
    { ...facts, stop: "length", turns: 1, userTurns: 0, tools: {} },
    { ...facts, stop: "completed", turns: 1, userTurns: 0, tools: {} },
  ]);
  assert.deepEqual(metrics, {
    "tools/call_frequency": 2 / 3,
    "tools/failure_frequency": 1 / 2,
    "num_turns/mean": (4 + 2 + 2) / 3,
    "num_turns/max": 4,
    "num_turns/min": 2,
    "tools/f/calls": 2,
    "tools/f/failures": 1,
    "stop/completed": 2 / 3,
    "stop/length": 1 / 3,
  });
});
