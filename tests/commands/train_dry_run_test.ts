/**
 * `rgx train … --dry-run`: what is planned, also for models that are not on this machine. Then the
 * plan is made from the configuration alone.
 */
import assert from "node:assert/strict";
import { rgx, tinyConfig, withFolder } from "../support.ts";

const PARTS = ["weights", "trained values", "optimizer", "KV cache", "activations", "head"];

Deno.test("the plan for a missing 7B model is printed, with exit code 2 as it does not fit", async () => {
  await withFolder(async (cwd) => {
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
    assert.deepEqual([...Deno.readDirSync(cwd)], []);
  });
});

Deno.test("the plan for a missing model that fits has exit code 0", async () => {
  await withFolder(async (cwd) => {
    const config = `${cwd}/small.yaml`;
    await Deno.writeTextFile(
      config,
      "model: distilbert/distilgpt2\nlora: {target_modules: [c_attn]}\ntask: chain_sum\n" +
        "rewards: [correctness]\ntraining: {max_completion_length: 16}\neval: {num_examples: 4}\n",
    );
    const dry = await rgx(["train", config, "--device", "wasm", "--dry-run", "--json"]);
    assert.equal(dry.code, 0, dry.err);
    const planned = JSON.parse(dry.out);
    assert.equal(planned.status, "planned");
    assert.ok(planned.memory_planned_bytes > 3e8, dry.out);
    assert.match(dry.err, /81\.9 M parameters/);
    assert.match(dry.err, /about \d+ tokens \(estimated: no tokenizer\)/);
  });
});

Deno.test("a dry run with --json prints the plan as one document, and writes nothing", async () => {
  await withFolder(async (folder) => {
    const config = await tinyConfig(folder), run = `${folder}/run`;
    const dry = await rgx(["train", config, "--dry-run", "--json", "--output-dir", run]);
    assert.equal(dry.code, 0, dry.err);
    const { memory_planned_bytes, memory_available_bytes, parameters, ...planned } = JSON.parse(
      dry.out,
    );
    assert.deepEqual(planned, {
      output_dir: run,
      status: "planned",
      steps: 34,
      trainable_parameters: parameters,
      train_problems: 64,
      held_out_problems: 8,
    });
    assert.ok(parameters > 1000 && memory_planned_bytes < memory_available_bytes);
    await assert.rejects(() => Deno.stat(run), Deno.errors.NotFound);
  });
});
