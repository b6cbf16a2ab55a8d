/**
 * Types of configuration objects. The compiler checks the `@ts-expect-error` lines: each must hold
 * an error.
 */
import assert from "node:assert/strict";
import { loadConfig } from "../load_config.ts";
import { overrideArguments } from "../reading/override_arguments.ts";
import { SECTIONS } from "../schema/schema.ts";
import type { ConfigObject, ConfigOverrides } from "./config_object.ts";
import { typeFiles } from "./write_types.ts";

Deno.test("the types of configuration objects are what the schema makes (deno task docs:config)", async () => {
  for (const [name, text] of typeFiles()) {
    const file = await Deno.readTextFile(new URL(name, import.meta.url));
    assert.ok(file === text, `${name} is not current: run deno task docs:config`);
  }
});

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

Deno.test("overrides of a program merge sections, and replace maps and lists", async () => {
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

Deno.test("every section and every key of the schema has a type", async () => {
  const text = [...typeFiles().values()].join("") +
    await Deno.readTextFile(new URL("config_object.ts", import.meta.url));
  for (const { path, keys } of SECTIONS.slice(0, -1)) {
    const last = path.split(".").at(-1)!;
    if (last !== "") assert.match(text, new RegExp(`\\b${last}\\?: `), path);
    for (const key of Object.keys(keys)) {
      assert.match(text, new RegExp(`\\b${key.split(".").at(-1)}\\?: `), `${path}.${key}`);
    }
  }
});
