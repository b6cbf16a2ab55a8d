import assert from "node:assert/strict";
import type { RunKind } from "./load.ts";
import { load } from "./testing.ts";

const MODEL = `
model_name_or_path: ./model
task_name: chain_sum
rewards: [{ name: correctness }]
`;

const read = (text: string, overrides: string[], phases: RunKind) =>
  load(`_base_: rgx:base.yaml${MODEL}${text}`, { overrides, phases });

Deno.test("rgx sft reads a flag without a section as a key of sft", async () => {
  const text = "sft: { max_steps: 7, learning_rate: 1.0e-3 }";
  const { config, origins } = await read(text, ["--max-steps", "3", "learning_rate=0.5"], "sft");
  assert.equal(config.sft?.max_steps, 3);
  assert.equal(config.sft?.learning_rate, 0.5);
  assert.equal(origins.get("sft.max_steps"), "command line");
  const grpo = await read(text, ["--max-steps", "3", "training.learning_rate=0.5"], "all");
  assert.equal(grpo.config.sft?.max_steps, 7);
  assert.equal(grpo.config.training.max_steps, 3);
  const dotted = await read(text, ["training.learning_rate=0.5"], "sft");
  assert.equal(dotted.config.sft?.learning_rate, 1e-3);
  assert.equal(dotted.config.training.learning_rate, 0.5);
});

Deno.test("a file of TRL's supervised trainer has its keys at the top, with a note", async () => {
  const text = "max_steps: 4\nlearning_rate: 2.0e-5\nwarmup_ratio: 0.1";
  const { config, notes } = await read(text, ["learning_rate=1e-4"], "sft");
  assert.deepEqual(
    [config.sft?.max_steps, config.sft?.learning_rate, config.sft?.warmup_steps],
    [4, 1e-4, 0.1],
  );
  assert.match(notes.join("\n"), /f\.yaml:5:1: read as keys of sft, .*: max_steps, /);
  assert.equal((await read(text, [], "all")).config.sft, null);
});

Deno.test("keys in the section training stay those of GRPO", async () => {
  const section = "training: { max_steps: 9, learning_rate: 0.25 }";
  const dotted = "training.max_steps: 9\ntraining.learning_rate: 0.25";
  for (const text of [section, dotted]) {
    const { config } = await read(text, ["sft.max_steps=2"], "sft");
    assert.equal(config.sft?.max_steps, 2);
    assert.equal(config.sft?.learning_rate, 2e-5);
    assert.equal(config.training.max_steps, 9);
  }
});

Deno.test("keys of a JSON file stand in no section wherever its lines begin", async () => {
  const keys = { model_name_or_path: "./model", task_name: "chain_sum", rewards: ["correctness"] };
  for (const indent of [0, 2]) {
    const text = JSON.stringify({ ...keys, max_steps: 4, learning_rate: 1e-4 }, null, indent);
    const { config } = await load(text, { phases: "sft" });
    assert.deepEqual([config.sft?.max_steps, config.sft?.learning_rate], [4, 1e-4]);
  }
});
