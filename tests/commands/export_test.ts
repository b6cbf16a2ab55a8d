/**
 * A run that was stopped before its end is a model for every command that takes one. `rgx export`
 * and `rgx convert` write it in each format; what they print, and what they refuse.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { exists } from "../../core/paths.ts";
import { argv } from "../command_line.ts";
import { lines, refuses, rgx, startRgx, succeeds, TINY } from "../support.ts";

const LORA = `
model: { model_name_or_path: base }
lora: { r: 4, lora_alpha: 8, target_modules: [q_proj, v_proj] }
data: { task_name: spell_backward, num_examples: 32, add_instructions: false }
rewards: [{ name: brevity }]
eval: { num_examples: 4 }
sft: { max_steps: 8, per_device_train_batch_size: 4, learning_rate: 0.1 }
training:
  { max_steps: 100000, per_device_train_batch_size: 8, num_generations: 4, save_steps: 2,
    max_completion_length: 12, gradient_accumulation_steps: 1, save_total_limit: 2,
    learning_rate: 1.0e-2 }
`;

test.inFolder("a stopped LoRA run stands for its newest checkpoint, in every format", async (cwd) => {
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

  const said = async (args: string[]) => {
    const { out, err } = await succeeds(args, { cwd });
    return { out, isNoted: err.includes(`run has no final model yet: ${newest} is used`) };
  };
  const say = async (...model: string[]) => {
    const { out, isNoted } = await said(argv`generate ${model} --prompt abc --json
      --max-new-tokens 8 --temperature 0 --device reference`);
    return { ids: JSON.parse(out).completions[0].ids, isNoted };
  };
  const { ids } = await say("--model", newest);
  assert.notDeepEqual((await say("--model", "base")).ids, ids, "the adapter changes the text");
  assert.deepEqual(await say("--model", "run"), { ids, isNoted: true });
  assert.deepEqual(await say("--model", "base", "--adapter", "run"), { ids, isNoted: true });

  const scored = await said(argv`logprobs --model run --prompt ab --completion ba`);
  assert.equal(lines(scored.out).length, 5);
  assert.ok(scored.isNoted);
  const forms: [to: string, output: string, path: string][] = [
    ["adapter", "adapter", "adapter"],
    ["hf", "merged", "merged"],
    ["gguf", "m.gguf", "m.gguf"],
    ["gguf", "folder", "folder/model-f32.gguf"],
  ];
  for (const [to, output, path] of forms) {
    const exported = await said(argv`export run --to ${to} --output ${output}`);
    assert.ok(exported.isNoted, to);
    assert.deepEqual(lines(exported.out), [path], "the path alone is on stdout");
    assert.deepEqual((await say("--model", path)).ids, ids, to);
  }
  const json = await rgx(argv`export run --to gguf --dtype q8_0 --output q.gguf --json`, { cwd });
  const report = JSON.parse(json.out);
  assert.deepEqual([report.path, report.format, report.dtype], ["q.gguf", "gguf", "q8_0"]);
  assert.equal(report.bytes, (await Deno.stat(`${cwd}/q.gguf`)).size);
  const convert = argv`convert m.gguf --output back`;
  await succeeds(convert, { cwd });
  assert.deepEqual((await say("--model", "back")).ids, ids);
  await refuses([[convert, /back: it is there already\n.*--force/]], { cwd });
  await succeeds([...convert, "--force"], { cwd });

  const bench = argv`bench --models run --tasks spell_backward --limit 2 --no-base --no-charts`;
  assert.ok((await said(bench)).isNoted);
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

Deno.test("wrong flags are usage errors that name the right ones", async () => {
  await refuses([
    [["export", "x", "--to", "onnx", "--output", "y"], /onnx.*adapter, hf, gguf/],
    [["export", "no-such", "--output", "y"], /no-such: no such model/],
    [["export", "x", "--dtype", "f16", "--output", "y"], /--dtype f16: it needs --to/],
    [["export", "x", "--to", "hf"], /--output <path>.* not specified/],
    [["export", "x", "--to", "hf", "--dtype", "q8_0", "--output", "y"], /GGUF files only/],
    [["export", "no-such", "--to", "hf", "--output", "y"], /no-such: no such model/],
    [["convert", "x", "--output", "y.gguf"], /writes Hugging Face folders/],
  ]);
});
