/**
 * `rgx export` and `rgx convert`: a tiny run in each format, what is printed, and what is refused.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { lines, refuses, rgx, succeeds, TINY } from "../support.ts";

const LORA = `
model: { model_name_or_path: base }
lora: { r: 4, lora_alpha: 8, target_modules: [q_proj, v_proj] }
data:
  { task_name: spell_backward, task_config: { min_word_len: 3, max_word_len: 7 }, num_examples: 32,
    add_instructions: false }
rewards: [{ name: brevity }]
eval: { num_examples: 4 }
sft: { max_steps: 3, per_device_train_batch_size: 4, learning_rate: 1.0e-2 }
training:
  { max_steps: 1, per_device_train_batch_size: 8, num_generations: 4, max_completion_length: 12,
    gradient_accumulation_steps: 1, learning_rate: 1.0e-2 }
`;

test.inFolder("a trained adapter is exported in every format, and generates the same", async (cwd) => {
  await Deno.writeTextFile(`${cwd}/base.yaml`, TINY);
  await Deno.writeTextFile(`${cwd}/lora.yaml`, LORA);
  await succeeds(["sft", "base.yaml", "--output-dir", "base"], { cwd });
  await succeeds(["train", "lora.yaml", "--output-dir", "run"], { cwd });
  const say = async (model: string) => {
    const args = ["--model", model, "--prompt", "Spell deno", "--temperature", "0", "--json"];
    const { out } = await succeeds(argv`generate ${args} --max-new-tokens 12 --device reference`, {
      cwd,
    });
    return JSON.parse(out).completions[0].ids;
  };
  const wanted = await say("run");
  const forms: [to: string, output: string, path: string][] = [
    ["adapter", "adapter", "adapter"],
    ["hf", "merged", "merged"],
    ["gguf", "m.gguf", "m.gguf"],
    ["gguf", "folder", "folder/model-f32.gguf"],
  ];
  for (const [to, output, path] of forms) {
    const { out } = await succeeds(["export", "run", "--to", to, "--output", output], { cwd });
    assert.deepEqual(lines(out), [path], "the path alone is on stdout");
    assert.deepEqual(await say(path), wanted, to);
  }
  const json = await rgx(argv`export run --to gguf --dtype q8_0 --output q.gguf --json`, { cwd });
  const report = JSON.parse(json.out);
  assert.deepEqual([report.path, report.format, report.dtype], ["q.gguf", "gguf", "q8_0"]);
  assert.equal(report.bytes, (await Deno.stat(`${cwd}/q.gguf`)).size);
  await succeeds(["convert", "m.gguf", "--output", "back"], { cwd });
  assert.deepEqual(await say("back"), wanted);

  const again = ["convert", "m.gguf", "--output", "back"];
  await refuses([[again, /back: it is there already\n.*--force/]], { cwd });
  await succeeds([...again, "--force"], { cwd });
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
