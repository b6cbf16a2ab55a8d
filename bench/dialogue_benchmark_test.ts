/** Benchmarks with environments and tools: results, errors, limits, resuming, refusals. */
import assert from "node:assert/strict";
import { textReport } from "../cli/bench/bench_table.ts";
import { Interrupted, UsageError } from "../core/errors.ts";
import { codeHash } from "../core/sandbox/code_file.ts";
import { writeEnvironment } from "./dialogue/testing.ts";
import { readResultFile } from "./results/result_file.ts";
import { modelTest } from "./testing.ts";

/** Ends after two messages; each third start fails. */
const GAME = `{
  reset(row, { seed, example }) {
    if (example % 3 === 2) throw new Error("the board is broken");
    return { count: 0, observation: " " + seed % 10 };
  },
  step({ content }, state) {
    const done = ++state.count === 2;
    return { content: "on", done, reward: state.count / 3, metrics: { count: state.count } };
  },
}`;

modelTest(
  "an environment's own problems are measured by its reward, and resumed",
  async (folder, model, _, bench) => {
    const { path } = await writeEnvironment(folder, GAME);
    const environment = { path, sha256: await codeHash(path, "environment") };
    const common = {
      tasks: [],
      dialogues: { environment, limits: { max_turn_tokens: 2 } },
      sampling: { max_new_tokens: 12, temperature: 1, stop: [..."abcdefghijklm "] },
      numExamples: 9,
      batchSize: 4,
    };
    const whole = await bench({ ...common, outputDir: `${folder}/whole` });
    assert.equal(whole.exitCode, 1);
    assert.equal(whole.unanswered, 3);
    const file = await readResultFile(whole.files[0]!);
    assert.ok(file.kind === "task" && file.task === "game");
    const result = file.models[model]!, { dialogues, examples } = result;
    assert.deepEqual([result.total, result.errors, result.num_examples], [6, 3, 9]);
    assert.deepEqual(dialogues!.with, ["game"]);
    const ended = examples.filter(({ error }) => error === undefined);
    for (const { dialogue, score, completion } of ended) {
      const { reward, stop, turns, messages } = dialogue!;
      assert.equal(reward, stop === "done" ? 1 : [0, 1 / 3][turns - 1]);
      assert.equal(score, reward);
      assert.equal(messages.findLast(({ role }) => role === "assistant")!.content, completion);
    }
    assert.ok(ended.some(({ dialogue }) => dialogue!.stop === "done"));
    assert.ok(ended.some(({ dialogue }) => dialogue!.stop === "length"));
    const failed = examples.filter(({ error }) => error !== undefined);
    assert.deepEqual(failed.map(({ index }) => index % 3), [2, 2, 2]);
    assert.match(failed[0]!.error!, /the environment failed: .*the board is broken/);
    const { metrics } = dialogues!;
    assert.ok(Math.abs(metrics["stop/done"]! + metrics["stop/length"]! - 1) < 1e-12);
    const report = textReport(whole.result, Infinity);
    assert.match(report, /with +answers +reward +ended by +environment\n.*game.*done \d/);

    // Each batch is stored when it has ended; the other answers are the same after a stop.
    let seen = 0;
    const stopped = bench({
      ...common,
      onEvent: ({ type }) => void (type === "progress" && seen++),
      shouldStop: () => seen > 0,
    });
    await assert.rejects(stopped, Interrupted);
    assert.equal(seen, 4);
    const resumed = await bench({ ...common, resume: true });
    assert.equal(resumed.resumed, 3, "the one that failed is asked again");
    assert.deepEqual(resumed.result.tasks["game"]!.models[model]!.examples, examples);

    // The same file at another place is the same measurement, with another content it is not.
    await Deno.mkdir(`${folder}/other`);
    const copy = await writeEnvironment(`${folder}/other`, GAME);
    const asked = async (place: string) => {
      const environment = { path: place, sha256: await codeHash(place, "environment") };
      const dialogues = { ...common.dialogues, environment };
      return (await bench({ ...common, dialogues, resume: true })).evaluated;
    };
    assert.equal(await asked(copy.path), 3);
    await writeEnvironment(`${folder}/other`, GAME.replace("/ 3", "/ 4"));
    assert.equal(await asked(copy.path), 9);
  },
);

modelTest(
  "second tries: the last answer counts, several samples of a problem share it",
  async (_folder, model, _device, bench) => {
    const environment = { name: "second_tries", tries: 3 };
    const done = await bench({
      dialogues: { environment, limits: { max_turn_tokens: 3 } },
      sampling: { samples: 2, max_new_tokens: 60, stop: ["a", "e", "o", "t", " "] },
    });
    const { examples, dialogues } = done.result.tasks["chain_sum"]!.models[model]!;
    const all = examples.flatMap(({ samples }) => samples!);
    assert.equal(all.length, 10);
    assert.ok(all.some(({ dialogue }) => dialogue!.turns > 1));
    for (const { dialogue } of all) {
      const { messages, turns } = dialogue!;
      const asked = messages.filter(({ role }) => role === "user");
      assert.ok(asked.length <= turns);
      for (const { content } of asked) assert.match(content, /^That is not right\..* Try again\.$/);
    }
    assert.ok(dialogues!.answers > 1);
  },
);

modelTest(
  "what cannot be measured with environments is refused before any work",
  async (folder, _model, _device, bench) => {
    const refused = async (options: object, message: RegExp) => {
      await assert.rejects(bench(options), (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return true;
      });
    };
    const environment = { name: "second_tries" };
    const file = "{ tools: { f: { description: 'f', run: () => 1 } } }";
    const tools = [await writeEnvironment(folder, file)];
    await refused({ dialogues: { tools } }, /tools cannot be shown to this model: .*plain text/);
    await refused({ dialogues: { limits: { max_user_turns: 1 } } }, /max_user_turns has no effect/);
    await refused(
      {
        models: ["openai:m"],
        remote: { baseUrl: "http://localhost:1" },
        dialogues: { environment },
      },
      /openai:m: environments and tools need a model on this machine/,
    );
    await refused({ tasks: [], dialogues: { environment } }, /no task is named/);
    await refused({ dialogues: { environment: { path: `${folder}/none.ts` } } }, /none\.ts/);
  },
);
