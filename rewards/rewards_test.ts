import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { int } from "../tasks/define.ts";
import { getReward, registerReward, rewardNames, validateRewardParams } from "./registry.ts";
import { createRubric } from "./rubric.ts";
import { entry, input, valueOf } from "./testing.ts";
import type { RewardInput, RewardSample } from "./types.ts";

Deno.test("correctness is the task's score; binary counts only what is fully right", () => {
  const right = input(`<answer>${entry.answer}</answer>`);
  const partial = input(`<answer>${entry.answer!.replaceAll(" ", "")}</answer>`);
  assert.equal(valueOf("correctness", right), 1);
  assert.equal(valueOf("accuracy", right, { binary: true }), 1);
  assert.equal(valueOf("correctness", partial), 0.9);
  assert.equal(valueOf("correctness", partial, { binary: true }), 0);
  assert.equal(valueOf("correctness", input("no answer")), 0);
});

Deno.test("format_answer is 1 for any answer in tags", () => {
  assert.equal(valueOf("format_answer", input("<answer></answer>")), 1);
  assert.equal(valueOf("format", input("x <answer>7</answer> y")), 1);
  assert.equal(valueOf("format_answer", input("<answer>7")), 0);
});

Deno.test("brevity falls with the number of tokens; 0 if cut off or without an answer", () => {
  const done = "<answer>1</answer>";
  assert.equal(valueOf("brevity", input(done)), 0.75);
  assert.equal(valueOf("brevity", input(done, { maxCompletionLength: 5 })), 0);
  assert.equal(valueOf("brevity", input(done, { maxCompletionLength: 3 })), 0);
  assert.equal(valueOf("brevity", input(done, { truncated: true })), 0);
  assert.equal(valueOf("brevity", input("1")), 0);
});

Deno.test("rewards are found by name or alias; unknown ones name the nearest", () => {
  for (const name of ["brevity", "correctness", "format_answer"]) {
    assert.ok(rewardNames().includes(name));
  }
  assert.equal(getReward("accuracy").name, "correctness");
  assert.equal(getReward("format").name, "format_answer");
  assert.throws(
    () => getReward("corectness"),
    (error) => error instanceof UsageError && error.message.includes("did you mean correctness?"),
  );
  assert.match(
    validateRewardParams("accuracy", { binry: true })[0]!,
    /^binry: .*did you mean binary\?/,
  );
  assert.match(
    validateRewardParams("correctness", { binary: 1 })[0]!,
    /^binary: must be true or false/,
  );
  assert.match(validateRewardParams("brevity", { x: 1 })[0]!, /^x: unknown field .*it has none/);
  assert.equal(getReward("cosine").name, "cosine_scaled");
  assert.throws(() => getReward("length"), /two meanings: write rg_length .* or brevity/);
});

Deno.test("a registered reward gets its parameters and may not apply", async () => {
  const reward = {
    name: "toy_length",
    description: "characters over a limit",
    params: { limit: int(10, "characters", { min: 1 }) },
    compute: (sample: RewardInput, params: Record<string, unknown>) =>
      sample.completion === ""
        ? null
        : Promise.resolve(sample.completion.length / Number(params["limit"])),
  };
  registerReward(reward);
  registerReward(reward); // the same one again
  assert.throws(() => registerReward({ ...reward }), /the name is taken/);
  assert.throws(() => registerReward({ ...reward, name: "format" }), /the name is taken/);
  assert.throws(() => registerReward({ ...reward, name: "length" }), /the name is taken/);
  const both = { ...reward, name: "toy_both", computeBatch: () => [] };
  assert.throws(() => registerReward(both), /either compute or computeBatch/);
  const params = { weight: int(1, "clashes") };
  assert.throws(
    () => registerReward({ ...reward, name: "toy_clash", params }),
    /"weight" is a field/,
  );
  const rubric = createRubric([
    { name: "toy_length", weight: 2, params: { limit: 4 } },
    { name: "format", weight: 0.5, params: {} },
  ]);
  assert.deepEqual(rubric.names, ["toy_length", "format_answer"]);
  assert.deepEqual(rubric.weights, [2, 0.5]);
  assert.deepEqual(await rubric.score([input("ab"), input("")]), {
    values: [[0.5, 0], [null, 0]],
    errors: [],
    logged: new Map(),
    extras: new Map(),
    sums: new Map(),
    warnings: [],
  });
});

Deno.test("exceptions, late answers and non-finite values count 0 and are reported", async () => {
  const bad = (name: string, compute: () => number | Promise<number>) =>
    registerReward({ name, description: "fails", params: {}, compute });
  const never = Promise.withResolvers<number>();
  bad("toy_throws", () => {
    throw new Error("boom");
  });
  bad("toy_rejects", () => Promise.reject(new Error("later boom")));
  bad("toy_nan", () => NaN);
  bad("toy_late", () => never.promise);
  const names = ["toy_throws", "toy_rejects", "toy_nan", "toy_late", "format_answer"];
  const rubric = createRubric(names.map((name) => ({ name, weight: 1, params: {} })), {
    rewardTimeout: 0.02,
  });
  const { values, errors } = await rubric.score([input("<answer>1</answer>")]);
  assert.deepEqual(values, [[0, 0, 0, 0, 1]]);
  assert.deepEqual(
    errors.map(({ name, message }) => `${name}: ${message}`).sort(),
    [
      "toy_late: gave no value within 0.02 s",
      "toy_nan: returned NaN, a finite number or null is expected",
      "toy_rejects: later boom",
      "toy_throws: boom",
    ],
  );
  assert.ok(errors.every(({ completion }) => completion === "<answer>1</answer>"));
  never.resolve(0);
});

Deno.test("a value that overflows with its weight counts 0 and is reported", async () => {
  registerReward({
    name: "toy_huge",
    description: "A number of any size.",
    params: {},
    compute: ({ completion }) => Number(completion),
  });
  const rubric = createRubric([{ name: "toy_huge", weight: 10, params: {} }]);
  const { values, errors } = await rubric.score(
    ["1e308", "-1e38", "3e37"].map((completion) => input(completion)),
  );
  assert.deepEqual(values, [[0], [0], [3e37]]);
  assert.deepEqual(errors.map(({ message }) => message), [
    "returned 1e+308, which with its weight 10 is beyond the numbers of float32 (3.4e38)",
    "returned -1e+38, which with its weight 10 is beyond the numbers of float32 (3.4e38)",
  ]);
});

Deno.test("an answer that can not be scored is an error of correctness, worth 0", async () => {
  const rubric = createRubric([{ name: "correctness", weight: 1, params: {} }]);
  const sample = input("<answer>1</answer>", { entry: { metadata: { source_dataset: "gone" } } });
  const { values, errors } = await rubric.score([sample]);
  assert.deepEqual(values, [[0]]);
  assert.match(errors[0]!.message, /unknown task "gone"/);
});

Deno.test("an impossible rubric is refused", () => {
  const section = { name: "brevity", weight: 1, params: {} };
  assert.throws(() => createRubric([]), /at least one reward/);
  assert.throws(() => createRubric([section, section]), /brevity is listed twice/);
  assert.throws(() => createRubric([{ ...section, weight: NaN }]), /weight: .*found NaN/);
  assert.throws(() => createRubric([{ ...section, params: { a: 1 } }]), /a: unknown field/);
});

Deno.test("a batch reward sees all samples; a wrong number of values fails all of them", async () => {
  registerReward({
    name: "toy_rank",
    metric: "toy_rank_reward",
    description: "rank by length",
    params: {},
    computeBatch(items) {
      if (items[0]!.completion === "short") return [1];
      const longest = Math.max(...items.map(({ completion }) => completion.length));
      return items.map(({ completion }) => completion === "" ? null : completion.length / longest);
    },
  });
  const rubric = createRubric([{ name: "toy_rank", weight: 1, params: {} }]);
  assert.deepEqual(rubric.names, ["toy_rank_reward"]);
  const { values } = await rubric.score([input("ab"), input("abcd"), input("")]);
  assert.deepEqual(values, [[0.5], [1], [null]]);
  const wrong = await rubric.score([input("short"), input("x")]);
  assert.deepEqual(wrong.values, [[0], [0]]);
  assert.deepEqual(wrong.errors.map(({ name, message }) => [name, message]), [
    ["toy_rank_reward", "returned a list of 1, a list of 2 is expected"],
    ["toy_rank_reward", "returned a list of 1, a list of 2 is expected"],
  ]);
});

Deno.test("what rewards log becomes means and columns; reserved names are refused", async () => {
  registerReward({
    name: "toy_logs",
    description: "logs",
    params: { wrong: int(0, "which mistake to make") },
    compute({ completion, log, logExtra }, { wrong }) {
      if (wrong === 1) log("step", 1);
      if (wrong === 2) log("x", NaN);
      if (wrong === 3) logExtra("prompt", "p");
      if (wrong === 4) logExtra("cell", {} as never);
      log("characters", completion.length);
      if (completion !== "") logExtra("first", completion[0]!);
      return 1;
    },
  });
  const score = (wrong: number, samples: RewardSample[]) =>
    createRubric([{ name: "toy_logs", weight: 1, params: { wrong } }]).score(samples);
  const { logged, extras } = await score(0, [input("abc"), input(""), input("z")]);
  assert.deepEqual([...logged], [["characters", [3, 0, 1]]]);
  assert.deepEqual([...extras], [["first", ["a", null, "z"]]]);
  const messages = [
    /"step" cannot be the name of a metric/,
    /log: x: expected a finite number, found NaN/,
    /"prompt" cannot be the name of an extra column/,
    /logExtra: cell: expected text, .* found an object/,
  ];
  for (const [i, message] of messages.entries()) {
    const { errors } = await score(i + 1, [input("a")]);
    assert.match(errors[0]!.message, message);
  }
});
