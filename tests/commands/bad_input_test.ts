/**
 * Mistakes that people make, in real processes. Each gives one clear message that says what failed,
 * where, what was found and what to do. The exit code is right, there is no stack trace, and
 * nothing is written.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import {
  assertSameRun,
  copyFiles,
  namesIn,
  type Refusal,
  refuses,
  succeeds,
  tinyConfig,
} from "../support.ts";
import { goldenPath } from "../golden.ts";

const MODEL = goldenPath("models/tinystories-656k");

test.inFolder("arguments that mean nothing are refused, with a suggestion", async (cwd) => {
  const cases: Refusal[] = [
    [["train", "quikstart"], '"quikstart"', "did you mean", "quickstart"],
    [["train", "no/such.yaml"], '"no/such.yaml"', "neither a file nor an embedded"],
    [["train", "."], "is a folder, expected a YAML file"],
    [["train", "quickstart", "training.max_step=3"], "training.max_step", "max_steps?"],
    [["tasks", "sample", "gcd", "--num-examples", "3"], "did you mean --size?"],
    [["bench", "--size", "3"], "did you mean --num-examples?"],
    [["tasks", "smaple"], "unknown command", "did you mean sample?"],
    [["_tune"], "unknown command '_tune' (--help"],
    [["train", "quickstart", "--steps", "3"], "did you mean --max-steps?"],
    [["train", "quickstart", "--max-step", "3"], "--max-step", "--max-steps"],
    [["train", "quickstart", "--resum"], "--resum", "--resume"],
    [["train", "quickstart", "training.max_steps"], '"training.max_steps"', "key.path=value"],
    [["train", "quickstart", "--output-dir", ""], "output_dir", "empty"],
    [["train", "quickstart", "--threads", "0"], "--threads", "'0'", "from 1 to 1024"],
    [
      ["train", "quickstart", "--device", "gpu"],
      "--device gpu",
      "auto, webgpu, vulkan, wasm, reference",
      "a graphics card is called webgpu",
    ],
    [["doctor", "quickstart", "--device", "cpu"], "--device cpu", "is called wasm"],
    [["doctor", "--device", "wasm"], "--device: it is for a config"],
    [["train", "quickstart", "--max-time", "5m"], "--max-time 5m", "HH:MM:SS"],
    [["train", "quickstart", "--log-format", "xml"], "--log-format", "'xml'", "text, json"],
    [["tasks", "show", "chain_som"], "chain_som", "chain_sum"],
    [["tasks", "sample", "chain_sum", "--set", "seed=3"], "--set seed=3", "--seed 3"],
    [["tasks", "sample", "chain_sum", "--set", "min_terms"], "key=value"],
    [["tasks", "sample", "chain_sum", "--split", "dev"], '"dev"', "validation"],
    [["score", "nothing.jsonl"], "nothing.jsonl: no such file"],
    [["score", "nothing.jsonl", "--task", "none.ts"], "nothing.jsonl: no such file"],
    [["score", "."], "is a folder, expected a JSONL file"],
    [["config", "show", "quickstart", "trainig.max_steps=3"], "training.max_steps"],
  ];
  await refuses(cases, { cwd });
  // Vulkan finds no card if the file of its driver does not exist.
  const noDriver = { VK_DRIVER_FILES: `${cwd}/none`, VK_ICD_FILENAMES: `${cwd}/none` };
  const noLoader = { RGX_VULKAN_LIB: `${cwd}/none.so` };
  for (
    const [flags, env, ...says] of [
      ["--device webgpu", noDriver, "no GPU adapter was found", "--device wasm"],
      ["--device vulkan", noDriver, "Vulkan cannot be used", "--device wasm"],
      ["--device vulkan", noLoader, "RGX_VULKAN_LIB", "libvulkan.so.1"],
      ["--device webgpu:99", {}, "no graphics card 99"],
      ["--device vulkan:99", {}, "no graphics card 99"],
      ["", { RGX_DEVICE: "gpu" }, "RGX_DEVICE", "gpu"],
      ["", { RGX_NUM_THREADS: "many" }, "RGX_NUM_THREADS", "many"],
    ] as const
  ) {
    const words = flags === "" ? [] : flags.split(" ");
    await refuses([[["train", "quickstart", ...words], ...says]], { cwd, env });
  }
  assert.deepEqual(namesIn(cwd), [], "a refusal leaves nothing behind");
});

test.inFolder("output folders that cannot be used are refused; --force and --resume overrule some", async (cwd) => {
  const config = await tinyConfig(cwd), run = `${cwd}/run`, other = `${cwd}/other`;
  const train = (path: string, ...more: string[]) =>
    argv`train ${config} --output-dir ${path} ${more}`;
  await succeeds(train(run));
  const before = await Deno.readTextFile(`${run}/metrics.jsonl`);

  const dry = await succeeds(train(run, "--dry-run"));
  assert.match(dry.err, /warning: the run would be refused: .* holds another run/);
  await refuses([
    [train(run), "holds another run", "--resume", "--force", "another output_dir"],
    [train(run, "--resume=2"), "gives up", "checkpoint-4", "--force"],
    [train(run, "--resume=9"), "--resume=9", "no such checkpoint", "step 2, 4"],
    [train(run, "--resume", "training.max_steps=3"), "step 4 is beyond", "3 steps"],
    [
      train(run, "--resume", "model.init.hidden_size=32"),
      /checkpoint-4[^]*has shape \[86,16\][^]*another model/,
    ],
    [train(`${run}/config.yaml`), "config.yaml", "a file of that name"],
    [train("/proc/rgx"), "cannot create /proc/rgx"],
  ]);
  assert.equal(await Deno.readTextFile(`${run}/metrics.jsonl`), before);

  // Other files: a run is added to them with --force only, and never overwrites them.
  await Deno.mkdir(other);
  await Deno.writeTextFile(`${other}/notes.txt`, "mine");
  await refuses([
    [train(other), "holds other files (notes.txt)", "--force"],
    [train(other, "--resume"), "no run to resume", "notes.txt"],
  ]);
  await Deno.writeTextFile(`${other}/model.safetensors`, "mine");
  await refuses([[train(other, "--force"), "would overwrite (model.safetensors)"]]);
  assert.deepEqual(namesIn(other), ["model.safetensors", "notes.txt"]);
  await Deno.remove(`${other}/model.safetensors`);
  await succeeds(train(other, "--force"));
  assert.equal(await Deno.readTextFile(`${other}/notes.txt`), "mine");
  await assertSameRun(other, run);

  const more = await succeeds(train(run, "--resume", "training.max_steps=5"));
  assert.match(more.err, /warning: the configuration differs .*: training\.max_steps/);
  await succeeds(train(run, "--force"));
  assert.ok(!namesIn(run).includes("checkpoint-5"));
  await assertSameRun(run, other);
});

test.inFolder("folders without a model, and damaged or contradictory models, are refused", async (cwd) => {
  const model = `${cwd}/model`;
  await Deno.writeTextFile(
    `${cwd}/c.yaml`,
    `model: { model_name_or_path: model }
data: { task_name: chain_sum, num_examples: 32 }
rewards: [correctness]
eval: { num_examples: 2 }
training: { output_dir: run, max_steps: 1, per_device_train_batch_size: 4, num_generations: 2,
  gradient_accumulation_steps: 1, max_completion_length: 8 }
`,
  );
  const train = ["train", "c.yaml"];
  const setting = (name: string, value: string) => async () => {
    const text = await Deno.readTextFile(`${MODEL}/config.json`);
    const changed = text.replace(new RegExp(`("${name}": *)[^,\\n]*`), `$1${value}`);
    await Deno.writeTextFile(`${model}/config.json`, changed);
  };
  const cases: [damage: () => Promise<void>, code: number, ...says: (string | RegExp)[]][] = [
    [
      async () => {
        await Deno.remove(`${model}/tokenizer.json`);
        await Deno.mkdir(`${model}/tokenizer.json`);
      },
      1,
      "model/tokenizer.json",
      /is a directory/i,
    ],
    [
      setting("hidden_size", "256"),
      1,
      /model\.safetensors[^]*\[2048, 128\][^]*\[2048, 256\]/,
      "config.json",
    ],
    [setting("vocab_size", "100"), 1, "2048 ids", "100"],
  ];
  for (const [damage, code, ...says] of cases) {
    await copyFiles(MODEL, model);
    await damage();
    await refuses([[train, ...says]], { cwd, code });
    await Deno.remove(model, { recursive: true });
  }
  await Deno.writeTextFile(model, "");
  await refuses([[train, "model: it is a file", "folder"]], { cwd });
  assert.deepEqual(namesIn(cwd), ["c.yaml", "model"]);
});
