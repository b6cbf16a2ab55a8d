/**
 * `rgx train … --dry-run`: what is planned, also for models that are not on this machine. Then the
 * plan is made from the configuration alone.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { namesIn, refuses, rgx, succeeds, tinyConfig } from "../support.ts";

const PARTS = ["weights", "trained values", "optimizer", "KV cache", "activations", "head"];

test.inFolder("the plan for a missing 7B model is printed, with exit code 2 as it does not fit", async (cwd) => {
  const args = ["train", "leg_counting_qwen7b", "--device", "wasm", "--output-dir", `${cwd}/run`];
  const dry = await rgx([...args, "--dry-run"]);
  assert.equal(dry.code, 2, dry.err);
  assert.match(dry.err, /Qwen2\.5-7B-Instruct: not on this machine; .*7615\.6 M parameters/);
  for (const part of PARTS) assert.match(dry.err, new RegExp(`^ +${part} +[\\d.]+ [MG]B`, "m"));
  assert.match(dry.err, /all kept: [\d.]+ GB/);
  assert.match(dry.err, /error: the run .*needs 2\d\.\d GB, [\d.]+ GB available/);
  assert.match(dry.err, /help: set /);
  assert.match(dry.err, /--gpu NAME plans for a graphics card/);

  const real = await rgx(args);
  assert.equal(real.code, 2);
  assert.match(real.err, /looked for .* and for .*models--Qwen--Qwen2\.5-7B-Instruct/);
  assert.deepEqual(namesIn(cwd), []);
});

test.inFolder("a missing model whose plan fits is planned, and an error says how to fetch it", async (cwd) => {
  const config = `${cwd}/small.yaml`;
  await Deno.writeTextFile(
    config,
    "model: distilbert/distilgpt2\nlora: {target_modules: [c_attn]}\ntask: chain_sum\n" +
      "rewards: [correctness]\ntraining: {max_completion_length: 16}\neval: {num_examples: 4}\n",
  );
  const dry = await rgx(["train", config, "--device", "wasm", "--dry-run", "--json"]);
  assert.equal(dry.code, 2, dry.err);
  assert.ok(dry.err.endsWith("\n  rgx pull distilbert/distilgpt2\n"), dry.err);
  const planned = JSON.parse(dry.out);
  assert.equal(planned.status, "planned");
  assert.ok(planned.memory_planned_bytes > 3e8, dry.out);
  assert.match(dry.err, /81\.9 M parameters/);
  assert.match(dry.err, /about \d+ tokens \(estimated: no tokenizer\)/);
});

test.inFolder("a dry run with --json prints the plan as one document, and writes nothing", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const dry = await succeeds(["train", config, "--dry-run", "--json", "--output-dir", run]);
  const { memory_planned_bytes, memory_available_bytes, parameters, ...others } = JSON.parse(
    dry.out,
  );
  const { disk_planned_bytes, disk_free_bytes, ...planned } = others;
  assert.ok(disk_planned_bytes > 4 * parameters && disk_free_bytes > disk_planned_bytes);
  assert.match(dry.err, /^disk +at most about .* checkpoints of .*; \S+ \wB free$/m);
  assert.match(dry.err, /^time +roughly .* on this machine; --measure takes real\s+steps$/m);
  const measured = await rgx(["train", config, "--dry-run", "--measure", "--output-dir", run]);
  assert.match(measured.err, /^time +about /m);
  await refuses([[["train", config, "--measure"], /--measure: .*\nhelp: Add --dry-run/]]);
  assert.deepEqual(planned, {
    output_dir: run,
    status: "planned",
    steps: 12,
    trainable_parameters: parameters,
    train_problems: 64,
    held_out_problems: 8,
    validation_problems: 0,
  });
  assert.ok(parameters > 1000 && memory_planned_bytes < memory_available_bytes);
  await assert.rejects(() => Deno.stat(run), Deno.errors.NotFound);
});

test.inFolder("a dry run prints the warnings with which the run would begin", async (folder) => {
  const config = await tinyConfig(folder, ""), run = `${folder}/run`;
  const args = ["train", config, "--output-dir", run, "--resume", "--device", "reference"];
  const warning = `warning: ${run} holds no run: starting from the beginning`;
  const dry = await rgx([...args, "--dry-run"]);
  assert.ok(dry.err.includes(warning), dry.err);
  const real = await rgx([...args, "training.max_steps=1"]);
  assert.ok(real.err.includes(warning), real.err);
  // A changed configuration, and where the run would go on from.
  const changed = await succeeds([...args, "--dry-run", "training.learning_rate=1e-3"]);
  assert.match(changed.err, /warning: the configuration differs .*: training\.learning_rate/);
  assert.match(changed.err, /resuming +.*checkpoint-1 \(step 1 of 4\)/);
  await Deno.writeTextFile(`${run}/checkpoint-1/model.safetensors`, "damaged");
  const damaged = await rgx([...args, "--dry-run"]);
  assert.match(damaged.err, /warning: .*checkpoint-1 is damaged and was skipped/);
});
