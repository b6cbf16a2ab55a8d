/** A run that was stopped before its end is a model for every command that takes one. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { exists } from "../../core/paths.ts";
import { argv } from "../command_line.ts";
import { lines, refuses, startRgx, succeeds, TINY } from "../support.ts";

const LORA = `
model: { model_name_or_path: base }
lora: { r: 4, lora_alpha: 8, target_modules: [q_proj, v_proj] }
data: { task_name: spell_backward, num_examples: 32, add_instructions: false }
rewards: [{ name: brevity }]
eval: { num_examples: 4 }
training:
  { max_steps: 100000, per_device_train_batch_size: 8, num_generations: 4, save_steps: 2,
    max_completion_length: 12, gradient_accumulation_steps: 1, save_total_limit: 2 }
`;

test.inFolder("a stopped LoRA run stands for its newest checkpoint, and each command says so", async (cwd) => {
  await Deno.writeTextFile(`${cwd}/base.yaml`, TINY);
  await Deno.writeTextFile(`${cwd}/lora.yaml`, LORA);
  await succeeds(["sft", "base.yaml", "--output-dir", "base"], { cwd });
  const session = startRgx(["train", "lora.yaml", "--output-dir", "run", "--quiet"], { cwd });
  // Checkpoints go quickly: only two are kept.
  await session.reaches("a checkpoint", () => exists(`${cwd}/run/latest`));
  const { code, err } = await session.ends("SIGINT");
  assert.equal(code, 75, err);
  const steps = [...Deno.readDirSync(`${cwd}/run`)]
    .flatMap(({ name }) => name.startsWith("checkpoint-") ? [Number(name.slice(11))] : []);
  const newest = `run/checkpoint-${Math.max(...steps)}`;

  const said = async (...args: string[]) => {
    const { out, err } = await succeeds(args, { cwd });
    return { out, isNoted: err.includes(`run has no final model yet: ${newest} is used`) };
  };
  const flags = ["--max-new-tokens", "8", "--temperature", "0", "--device", "reference"];
  const say = async (...model: string[]) => {
    const { out, isNoted } = await said(
      "generate",
      ...model,
      "--prompt",
      "abc",
      "--json",
      ...flags,
    );
    return { ids: JSON.parse(out).completions[0].ids, isNoted };
  };
  const { ids } = await say("--model", newest);
  assert.deepEqual(await say("--model", "run"), { ids, isNoted: true });
  assert.deepEqual(await say("--model", "base", "--adapter", "run"), { ids, isNoted: true });

  const scored = await said("logprobs", "--model", "run", "--prompt", "ab", "--completion", "ba");
  assert.equal(lines(scored.out).length, 5);
  assert.ok(scored.isNoted);
  for (const [to, output] of [["adapter", "a"], ["hf", "merged"], ["gguf", "m.gguf"]]) {
    const exported = await said("export", "run", "--to", to!, "--output", output!);
    assert.ok(exported.isNoted, to);
    assert.deepEqual((await say("--model", output!)).ids, ids, to);
  }
  const args = argv`--models run --tasks spell_backward --limit 2 --no-base`;
  assert.ok((await said("bench", ...args)).isNoted);
});

test.inFolder("a run without a checkpoint and a folder of something else are told apart", async (cwd) => {
  await Deno.mkdir(`${cwd}/young`);
  await Deno.writeTextFile(`${cwd}/young/run.json`, "{}");
  await Deno.mkdir(`${cwd}/photos`);
  for (
    const [model, says] of [
      ["young", /young: the run has no checkpoint yet\n.*rgx train young\/config\.yaml --resume/],
      ["photos", /photos: not a model folder/],
    ] as const
  ) {
    await refuses([
      [["generate", "--model", model, "--prompt", "a"], says],
      [["logprobs", "--model", model, "--prompt", "a", "--completion", "b"], says],
      [["export", model, "--to", "adapter", "--output", "x"], says],
    ], { cwd });
  }
});
