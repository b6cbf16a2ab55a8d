/**
 * Types of configuration objects. The compiler checks the `@ts-expect-error` lines: each must hold
 * an error.
 */
import assert from "node:assert/strict";
import { loadConfig } from "./load_config.ts";
import { overrideArguments } from "./reading/overrides.ts";
import { withFiles } from "./testing.ts";
import type { ConfigObject, ConfigOverrides } from "./config_object.ts";

Deno.test("a misspelt key, a wrong type and a wrong value do not compile, and are refused", async () => {
  const base = "rgx:experiments/quickstart";
  // @ts-expect-error: learning_rate
  const misspelt: ConfigObject = { _base_: base, training: { learnig_rate: 1e-6 } };
  // @ts-expect-error: a number
  const quoted: ConfigObject = { _base_: base, training: { learning_rate: "1e-6" } };
  // @ts-expect-error: grpo, dapo, …
  const unknown: ConfigObject = { _base_: base, training: { loss_type: "gropo" } };
  // @ts-expect-error: a section
  const section: ConfigObject = { _base_: base, trainin: {} };
  for (
    const [config, message] of [
      [misspelt, /learnig_rate: unknown key, did you mean learning_rate/],
      [quoted, /learning_rate: expected a number/],
      [unknown, /loss_type: expected .*grpo/],
      [section, /trainin: unknown key/],
    ] as const
  ) await assert.rejects(loadConfig(config), message);
});

Deno.test("overrides of a program merge sections, and replace lists", async () => {
  const overrides: ConfigOverrides = {
    data: { task_name: "chain_sum", task_config: { max_terms: 3 } },
    training: { max_steps: 5, stop: "\n" },
    lora: null,
    rewards: ["correctness", { name: "format_answer", weight: 0.1 }],
  };
  const { config } = await loadConfig("smollm2_arithmetic", { overrides });
  assert.equal(config.data.task_config["max_terms"], 3);
  assert.deepEqual([config.training.max_steps, config.training.stop], [5, ["\n"]]);
  assert.equal(config.lora, null);
  assert.deepEqual(config.rewards.map(({ name, weight }) => [name, weight]), [
    ["correctness", 1],
    ["format_answer", 0.1],
  ]);
  const absent = { training: { seed: undefined, max_steps: 1 } } as object;
  assert.deepEqual(overrideArguments(absent), ["training.max_steps=1"]);
  assert.throws(() => overrideArguments({ sft: (() => 1) as never }), /sft is a function/);
});

Deno.test("a configuration that was read can be changed and used as one", async () => {
  for (const name of ["gsm8k", "quickstart", "smollm2_curriculum"]) {
    const first = await loadConfig(name), again = await loadConfig(first.config);
    assert.equal(again.yaml, first.yaml);
    assert.deepEqual(again.config, first.config);
  }
  const { config } = await loadConfig("quickstart", {
    overrides: { data: { system_prompt: "\\${x}", add_instructions: true } },
  });
  assert.equal(config.data.system_prompt, "${x}");
  const mine: ConfigObject = { ...config, training: { ...config.training, max_steps: 7 } };
  const { config: changed } = await loadConfig(mine);
  assert.deepEqual([changed.training.max_steps, changed.data.system_prompt], [7, "${x}"]);

  // Its sections can be overrides of another.
  const { config: other } = await loadConfig("gsm8k", { overrides: { rewards: config.rewards } });
  assert.deepEqual(other.rewards, config.rewards);

  const env = { JUDGE_API_KEY: "sk-123456789" };
  const secret: ConfigObject = {
    ...mine,
    data: { task_name: "chain_sum" },
    rewards: [{ path: "a.ts", key: "${oc.env:JUDGE_API_KEY}" }],
  };
  await withFiles({ "a.ts": "export default () => 1;" }, async (cwd) => {
    const read = await loadConfig(secret, { env, cwd });
    assert.equal(read.config.rewards[0]!.params["key"], env.JUDGE_API_KEY);
    const { yaml } = await loadConfig(structuredClone(read.config), { cwd });
    assert.match(yaml, /key: \$\{oc\.env:JUDGE_API_KEY\}/);
    assert.doesNotMatch(yaml, /sk-123/);
  });
});

Deno.test("environments and tools are keys of programs too", async () => {
  const environment = "examples/environments/wordle.ts";
  const { config } = await loadConfig({
    model: { model_name_or_path: "m" },
    environment,
    multi_turn: { max_assistant_turns: 6 },
  });
  assert.equal(config.environment!.path, environment);
  assert.deepEqual(config.rewards, [{ name: "environment", weight: 1, params: {} }]);
  assert.equal(config.multi_turn.max_assistant_turns, 6);
});

Deno.test("tasks that a program names take the place of the problems of its recipe", async () => {
  const data = async (recipe: string, data: ConfigOverrides["data"]) =>
    (await loadConfig(recipe, { overrides: { data: data! } })).config.data;
  const one = await data("quickstart", { task_name: "chain_sum", task_config: { max_terms: 3 } });
  assert.deepEqual([one.task_name, one.task_config], ["chain_sum", { max_terms: 3 }]);
  assert.deepEqual((await data("quickstart", { task_name: "chain_sum" })).task_config, {});
  const parts = { chain_sum: { weight: 2 }, leg_counting: {} };
  const several = await data("quickstart", { tasks: parts });
  assert.deepEqual(several.tasks?.map(({ task_name }) => task_name), Object.keys(parts));
  assert.equal(several.task_name, null);
  const back = await data("algorithmic_qwen_3b", { task_name: "chain_sum" });
  assert.deepEqual([back.tasks, back.task_name], [null, "chain_sum"]);
  // Without a task's name, parameters are merged with those of the recipe.
  const same = await data("quickstart", { task_config: { max_word_len: 5 } });
  assert.deepEqual(same.task_config, { min_word_len: 3, max_word_len: 5 });
});
