/**
 * Mistakes that people make, in real processes. Each gives one clear message that says what failed,
 * where, what was found and what to do. The exit code is right, there is no stack trace, and
 * nothing is written.
 */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import { assertClean, assertSameRun, type Result, rgx, tinyConfig } from "../support.ts";
import { goldenPath } from "../golden.ts";

const MODEL = goldenPath("models/tinystories-656k");

function names(folder: string): string[] {
  return Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
}

/**
 * Asserts that `rgx` refuses the arguments with a message of a few lines that has all of `says`.
 */
async function refused(
  args: string[],
  says: readonly (string | RegExp)[],
  options: { code?: number; cwd?: string; env?: Record<string, string> } = {},
): Promise<Result> {
  const result = await rgx(args, "", options.env ?? {}, options.cwd);
  const shown = `rgx ${args.join(" ")}\n${result.err}`;
  assert.equal(result.code, options.code ?? 2, shown);
  assertClean(result);
  assert.equal(result.out, "", shown);
  // Without line breaks, which depend on the width of the terminal.
  const text = result.err.replace(/\s+/g, " ");
  for (const expected of says) {
    const found = typeof expected === "string" ? text.includes(expected) : expected.test(text);
    assert.ok(found, `expected ${expected} in: ${shown}`);
  }
  assert.ok(result.err.trimEnd().split("\n").length <= 8, `too long: ${shown}`);
  return result;
}

test.inFolder("arguments that mean nothing are refused, with a suggestion", async (cwd) => {
  const cases: [string[], (string | RegExp)[]][] = [
    [["train"], ["missing required argument 'config'"]],
    [["train", "quikstart"], ['"quikstart"', "did you mean", "quickstart"]],
    [["train", "no/such.yaml"], ['"no/such.yaml"', "neither a file nor an embedded"]],
    [["train", "."], ["is a folder, expected a YAML file"]],
    [["train", "quickstart", "training.max_step=3"], ["training.max_step", "max_steps?"]],
    [["tasks", "sample", "gcd", "--num-examples", "3"], ["did you mean --size?"]],
    [["bench", "--size", "3"], ["did you mean --num-examples?"]],
    [["tasks", "smaple"], ["unknown command", "did you mean sample?"]],
    [["_tune"], ["unknown command '_tune' (--help"]],
    [["train", "quickstart", "--steps", "3"], ["did you mean --max-steps?"]],
    [["train", "quickstart", "trainig.max_steps=3"], ["did you mean training.max_steps?"]],
    [["train", "quickstart", "--max-step", "3"], ["--max-step", "--max-steps"]],
    [["train", "quickstart", "--resum"], ["--resum", "--resume"]],
    [["train", "quickstart", "training.max_steps"], ['"training.max_steps"', "key.path=value"]],
    [["train", "quickstart", "checkpoint-3"], ['"checkpoint-3"', "no override"]],
    [["train", "quickstart", "lr=1e-4,2e-4"], ["learning_rate", '"1e-4,2e-4"', "rgx sweep"]],
    [["train", "quickstart", "training.temperature=0"], ["temperature", "> 0, found 0"]],
    [["train", "quickstart", "--output-dir", ""], ["output_dir", "empty"]],
    [["train", "quickstart", "--threads", "0"], ["--threads", "'0'", "from 1 to 1024"]],
    [["train", "quickstart", "--threads", "many"], ["--threads", "'many'"]],
    [["train", "quickstart", "--threads", "5000"], ["--threads", "'5000'"]],
    [["train", "quickstart", "--device", "gpu"], [
      "--device gpu",
      "auto, webgpu, vulkan, wasm, reference",
      "a graphics card is called webgpu",
    ]],
    [["doctor", "quickstart", "--device", "cpu"], ["--device cpu", "is called wasm"]],
    [["doctor", "--device", "wasm"], ["--device: it is for a config"]],
    [["train", "quickstart", "--max-time", "5m"], ["--max-time 5m", "HH:MM:SS"]],
    [["train", "quickstart", "--max-time", "00:99:00"], ["00:99:00", "HH:MM:SS"]],
    [["train", "quickstart", "--log-format", "xml"], ["--log-format", "'xml'", "text, json"]],
    [["tasks", "show", "chain_som"], ["chain_som", "chain_sum"]],
    [["tasks", "sample", "chain_sum", "--set", "seed=3"], ["--set seed=3", "--seed 3"]],
    [["tasks", "sample", "chain_sum", "--set", "min_terms"], ["key=value"]],
    [["tasks", "sample", "chain_sum", "--split", "dev"], ['"dev"', "validation"]],
    [["score", "nothing.jsonl"], ["nothing.jsonl: no such file"]],
    [["score", "nothing.jsonl", "--task", "none.ts"], ["nothing.jsonl: no such file"]],
    [["score", "."], ["is a folder, expected a JSONL file"]],
    [["config", "show", "quickstart", "trainig.max_steps=3"], ["training.max_steps"]],
  ];
  for (const [args, says] of cases) await refused(args, says, { cwd });
  // Vulkan finds no card if the file of its driver does not exist.
  const noDriver = { VK_DRIVER_FILES: `${cwd}/none`, VK_ICD_FILENAMES: `${cwd}/none` };
  const gpu = ["train", "quickstart", "--device", "webgpu"];
  await refused(gpu, ["no GPU adapter was found", "--device wasm"], { cwd, env: noDriver });
  const vulkan = ["train", "quickstart", "--device", "vulkan"];
  await refused(vulkan, ["Vulkan cannot be used", "--device wasm"], { cwd, env: noDriver });
  const noLoader = { RGX_VULKAN_LIB: `${cwd}/none.so` };
  await refused(vulkan, ["RGX_VULKAN_LIB", "libvulkan.so.1"], { cwd, env: noLoader });
  for (const device of ["webgpu:99", "vulkan:99"]) {
    await refused(["train", "quickstart", "--device", device], ["no graphics card 99"], { cwd });
  }
  for (const [name, value] of [["RGX_DEVICE", "gpu"], ["RGX_NUM_THREADS", "many"]] as const) {
    await refused(["train", "quickstart"], [name, value], { cwd, env: { [name]: value } });
  }
  assert.deepEqual(names(cwd), [], "a refusal leaves nothing behind");
});

test.inFolder("output folders that cannot be used are refused; --force and --resume overrule some", async (cwd) => {
  const config = await tinyConfig(cwd), run = `${cwd}/run`;
  const train = (path: string, ...more: string[]) => [
    "train",
    config,
    "--output-dir",
    path,
    ...more,
  ];
  assert.equal((await rgx(train(run))).code, 0);
  const before = await Deno.readTextFile(`${run}/metrics.jsonl`);

  await refused(train(run), ["holds another run", "--resume", "--force", "another output_dir"]);
  const dry = await rgx(train(run, "--dry-run"));
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.err, /warning: the run would be refused: .* holds another run/);
  await refused(train(run, "--resume=2"), ["gives up", "checkpoint-4", "--force"]);
  await refused(train(run, "--resume=9"), ["--resume=9", "no such checkpoint", "step 2, 4"]);
  await refused(train(run, "--resume", "training.max_steps=3"), ["step 4 is beyond", "3 steps"]);
  await refused(train(run, "--resume", "model.init.hidden_size=32"), [
    "checkpoint-4",
    "has shape [86,16]",
    "another model",
  ]);
  await refused(train(`${run}/config.yaml`), ["config.yaml", "a file of that name"]);
  await refused(train("/proc/rgx"), ["cannot create /proc/rgx"]);
  assert.equal(await Deno.readTextFile(`${run}/metrics.jsonl`), before);

  // Other files: a run is added to them with --force only, and never overwrites them.
  const other = `${cwd}/other`;
  await Deno.mkdir(other);
  await Deno.writeTextFile(`${other}/notes.txt`, "mine");
  await refused(train(other), ["holds other files (notes.txt)", "--force"]);
  await refused(train(other, "--resume"), ["no run to resume", "notes.txt"]);
  await Deno.writeTextFile(`${other}/model.safetensors`, "mine");
  await refused(train(other, "--force"), ["would overwrite (model.safetensors)"]);
  assert.deepEqual(names(other), ["model.safetensors", "notes.txt"]);
  await Deno.remove(`${other}/model.safetensors`);
  assert.equal((await rgx(train(other, "--force"))).code, 0);
  assert.equal(await Deno.readTextFile(`${other}/notes.txt`), "mine");
  await assertSameRun(other, run);

  const more = await rgx(train(run, "--resume", "training.max_steps=5"));
  assert.equal(more.code, 0, more.err);
  assert.match(more.err, /warning: the configuration differs .*: training\.max_steps/);
  const replaced = await rgx(train(run, "--force"));
  assert.equal(replaced.code, 0, replaced.err);
  assert.ok(!names(run).includes("checkpoint-5"));
  await assertSameRun(run, other);
});

Deno.test({
  name: "folders without a model, and damaged or contradictory models, are refused",
  fn: async () => {
    await withFolder(async (cwd) => {
      const config = `${cwd}/c.yaml`, model = `${cwd}/model`;
      await Deno.writeTextFile(
        config,
        `model: { model_name_or_path: model }
data: { task_name: chain_sum, num_examples: 32 }
rewards: [correctness]
eval: { num_examples: 2 }
training: { output_dir: run, max_steps: 1, per_device_train_batch_size: 4, num_generations: 2,
  gradient_accumulation_steps: 1, max_completion_length: 8 }
`,
      );
      const read = (name: string) => Deno.readTextFileSync(`${MODEL}/${name}`);
      const setting = (name: string, value: string) =>
        Deno.writeTextFileSync(
          `${model}/config.json`,
          read("config.json").replace(new RegExp(`("${name}": *)[^,\\n]*`), `$1${value}`),
        );
      const cases: [string, () => void, number, (string | RegExp)[]][] = [
        [
          "an empty folder",
          () => {
            for (const name of names(model)) Deno.removeSync(`${model}/${name}`);
          },
          2,
          ["model: not a model folder", "config.json"],
        ],
        [
          "a folder for a tokenizer",
          () => {
            Deno.removeSync(`${model}/tokenizer.json`);
            Deno.mkdirSync(`${model}/tokenizer.json`);
          },
          1,
          ["model/tokenizer.json", /is a directory/i],
        ],
        ["other shapes", () => setting("hidden_size", "256"), 1, [
          "model.safetensors",
          "[2048, 128]",
          "[2048, 256]",
          "config.json",
        ]],
        ["another tokenizer", () => setting("vocab_size", "100"), 1, ["2048 ids", "100"]],
      ];
      for (const [what, damage, code, says] of cases) {
        await Deno.mkdir(model);
        for (const name of names(MODEL)) {
          await Deno.copyFile(`${MODEL}/${name}`, `${model}/${name}`);
        }
        for (const name of names(model)) await Deno.chmod(`${model}/${name}`, 0o644);
        damage();
        const { err } = await refused(["train", "c.yaml"], says, { cwd, code });
        assert.ok(err !== "", what);
        await Deno.remove(model, { recursive: true });
      }
      await refused(["train", "c.yaml"], ["model: no such model folder", "config.json"], { cwd });
      await Deno.writeTextFile(model, "");
      await refused(["train", "c.yaml"], ["model: it is a file", "folder"], { cwd });
      assert.deepEqual(names(cwd), ["c.yaml", "model"]);
    });
  },
});
