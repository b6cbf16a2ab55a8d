/** `rgx train`: whole runs as a user starts them, and everything that they leave. */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import { readSafetensors } from "../../models/formats/safetensors/safetensors.ts";
import { argv } from "../command_line.ts";
import {
  assertClean,
  assertSameRun,
  comparableMetrics,
  jsonLines,
  type Line,
  lines,
  namesIn,
  readMetrics,
  rgx,
  runs,
  succeeds,
  tinyConfig,
} from "../support.ts";
import { goldenPath } from "../golden.ts";

const MODEL = goldenPath("models/tinystories-656k");

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** Trains, asserts success, and returns the summary that --json prints. */
async function train(args: string[], cwd?: string): Promise<Line & { err: string }> {
  const { out, err } = await succeeds(["train", ...args, "--json"], { cwd });
  assert.equal(lines(out).length, 1, "--json prints one line on stdout");
  return { ...JSON.parse(out), err };
}

Deno.test("a run prints its summary and writes all its files", async (t) => {
  await withFolder(async (folder) => {
    const run = `${folder}/run`;
    const { err, ...summary } = await train([await tinyConfig(folder), "--output-dir", run]);

    await t.step("the summary has all its fields", () => {
      assert.equal(summary["output_dir"], run);
      assert.equal(summary["checkpoint"], `${run}/checkpoint-4`);
      assert.equal(summary["status"], "completed");
      assert.equal(summary["steps"], 4);
      assert.equal(summary["item_overlap"], 0);
      const names = ["seconds", "tokens_generated", "tokens_trained", "peak_memory_bytes"];
      for (const name of names) assert.ok((summary[name] as number) > 0, name);
      const phases = summary["seconds_by_phase"] as Record<string, number>;
      for (const name of ["generate", "score", "forward_backward", "optimizer"]) {
        assert.ok(phases[name]! >= 0, name);
      }
      for (const name of ["eval_before", "eval_after"]) {
        const result = summary[name] as Record<string, unknown>;
        assert.equal(result["total"], 8);
        assert.equal(result["accuracy"], (result["correct"] as number) / 8);
        const [low, high] = result["ci95"] as [number, number];
        assert.ok(low >= 0 && low <= (result["accuracy"] as number) && high <= 1);
        assert.ok((result["format_rate"] as number) >= 0);
      }
    });

    await t.step("metrics.jsonl holds every step once, under TRL's names", async () => {
      const metrics = await readMetrics(run);
      const linesOf = (split: string) => metrics.filter((line) => line["split"] === split);
      assert.deepEqual(
        linesOf("sft").map((line) => line["step"]),
        Array.from({ length: 8 }, (_, i) => i + 1),
      );
      assert.deepEqual(linesOf("train").map((line) => line["step"]), [1, 2, 3, 4]);
      assert.deepEqual(linesOf("eval").map((line) => line["step"]), [0, 4]);
      assert.deepEqual(linesOf("final").map((line) => line["step"]), [4]);
      for (const line of metrics) {
        assert.equal(typeof line["epoch"], "number");
        assert.match(String(line["time"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
      }
      for (const line of linesOf("train")) {
        const names = argv`loss grad_norm learning_rate num_tokens reward reward_std
          frac_reward_zero_std entropy completions/mean_length completions/min_length
          completions/max_length completions/clipped_ratio completions/mean_terminated_length
          rewards/correctness/mean rewards/correctness/std rewards/format_answer/mean
          clip_ratio/region_mean`;
        for (const name of names) assert.equal(typeof line[name], "number", name);
      }
      assert.equal(typeof linesOf("final")[0]!["train_loss"], "number");
    });

    await t.step(
      "trainer_state.json has transformers' keys, and run.json the facts of the run",
      async () => {
        for (const path of [run, `${run}/checkpoint-4`]) {
          const text = await Deno.readTextFile(`${path}/trainer_state.json`);
          const state = JSON.parse(text);
          const keys = "best_global_step best_metric best_model_checkpoint epoch eval_steps " +
            "global_step is_hyper_param_search is_local_process_zero is_world_process_zero " +
            "log_history logging_steps max_steps num_input_tokens_seen num_train_epochs save_steps " +
            "stateful_callbacks total_flos train_batch_size trial_name trial_params";
          assert.deepEqual(Object.keys(state), keys.split(" "));
          assert.equal(text, JSON.stringify(state, null, 2) + "\n");
          assert.equal(state.global_step, 4);
          assert.equal(state.max_steps, 4);
          const logged = state.log_history.filter((entry: Line) => "reward" in entry);
          assert.deepEqual(logged.map((entry: Line) => entry["step"]), [1, 2, 3, 4]);
          for (const entry of state.log_history) assert.equal(typeof entry.epoch, "number");
        }
        const record = JSON.parse(await Deno.readTextFile(`${run}/run.json`));
        assert.equal(record.status, "completed");
        assert.equal(record.seed, 42);
        for (const name of ["version", "host", "device", "start", "end"]) {
          assert.equal(typeof record[name], "string", name);
        }
      },
    );

    await t.step("checkpoints agree with sha256sum, and latest points to the newest", async () => {
      assert.equal(await Deno.readLink(`${run}/latest`), "checkpoint-4");
      for (const name of ["checkpoint-2", "checkpoint-4", "warm-start/checkpoint-8"]) {
        const cwd = `${run}/${name}`;
        const { out } = await runs(argv`sha256sum --check --strict SHA256SUMS`, { cwd });
        const files = namesIn(cwd), checked = lines(out).length;
        assert.equal(checked, files.length - 1, "all files but the sums themselves");
        assert.ok(files.includes("model.safetensors") && files.includes("config.json"));
      }
      const [last, final] = await Promise.all(
        [`${run}/checkpoint-4`, run].map((path) => Deno.readFile(`${path}/model.safetensors`)),
      );
      assert.deepEqual(last, final);
    });

    await t.step("config.yaml is enough to repeat it, on any number of threads", async () => {
      const again = `${folder}/again`;
      await train([`${run}/config.yaml`, "--output-dir", again, "--threads", "3"]);
      await assertSameRun(again, run);
    });

    await t.step("the suggested commands work as they are printed", async () => {
      const suggested = lines(err.slice(err.indexOf("Next:"))).map((line) => line.trim())
        .filter((line) => line.startsWith("rgx train ")).map((line) => line.split(" ").slice(2));
      assert.equal(suggested.length, 2);
      for (const args of suggested) await train(args);
      assert.ok(await isThere(`${run}/checkpoint-8`));
      const other = `${folder}/run-seed43`;
      assert.ok(await isThere(`${other}/checkpoint-4`));
      assert.notDeepEqual(await comparableMetrics(other), await comparableMetrics(run));
    });
  });
});

test.inFolder("output is plain text when piped, nothing with --quiet, and JSON on request", async (folder) => {
  const config = await tinyConfig(folder);
  const base = ["train", config, "--output-dir", `${folder}/run`, "--force"];
  const text = await succeeds(base);
  assert.equal(text.out, "", "results on stdout only");
  assert.ok(!text.err.includes("\r") && !text.err.includes("\x1b"));
  assert.match(
    text.err,
    /^ +step +loss +entropy +grad_norm +left\n +1\/8 +\d\.\d{4} +\d\.\d{3} +[\d.]+ +\d+ s$/m,
  );
  assert.match(
    text.err,
    /^ *step +reward +correctness +format +length +entropy +KL +cut off +left\n +1\/4 +[01]\./m,
  );
  assert.match(text.err, /^ {2}prompt: Reverse the letters: (\w+) {2}expected: \w+$/m);
  assert.match(text.err, /accuracy, sampled at T 1 .*\[\d/);
  assert.match(text.err, /answer format/);
  assert.match(text.err, /^ {2}step 4\/4 {2}reward .* tokens\/s .* left( {2}.*)?$/m);
  const long = lines(text.err).filter((line) =>
    [...line].length > 80 && !/^(\{'|[A-Za-z]+:? )/.test(line) && !line.includes(folder)
  );
  assert.deepEqual(long, [], "everything but the plan, paths and advice fits 80 columns");

  const short = [...base, "sft.max_steps=0", "training.max_steps=1", "eval.num_examples=0"];
  const coloured = await rgx(short, { env: { NO_COLOR: "", FORCE_COLOR: "1" } });
  assert.ok(coloured.err.includes("\x1b[") && !coloured.err.includes("\r"));

  const quiet = await rgx([...short, "--quiet"]);
  assert.deepEqual([quiet.code, quiet.out, quiet.err], [0, "", ""]);

  const json = await succeeds([...short, "--log-format", "json", "--json"]);
  const events = jsonLines(json.err);
  assert.deepEqual(
    events.filter((event) => "reward" in event).map((event) => event.step),
    [1],
  );
  assert.equal(JSON.parse(json.out).status, "completed");
});

test.inFolder("--max-time stops in time with 75, and --resume completes to the same bits", async (folder) => {
  const config = await tinyConfig(folder);
  const steps = argv`training.max_steps=300 training.save_steps=10000 training.logging_steps=100
      training.log_completions=false`;
  const whole = `${folder}/whole`, run = `${folder}/run`;
  await train([config, ...steps, "--output-dir", whole]);
  const args = ["train", config, ...steps, "--output-dir", run];
  const stopped = await rgx([...args, "--max-time", "00:00:01", "--json"]);
  assert.equal(stopped.code, 75, stopped.err);
  assertClean(stopped);
  const summary = JSON.parse(stopped.out);
  assert.equal(summary.status, "stopped");
  assert.ok(summary.steps < 300);
  await succeeds([...args, "--resume"]);
  await assertSameRun(run, whole);
});

const LORA = `
model: { model_name_or_path: MODEL }
lora: { r: 4, lora_alpha: 8, target_modules: [q_proj, v_proj] }
data: { task_name: chain_sum, task_config: { min_terms: 2, max_terms: 2 }, num_examples: 32 }
rewards: [{ name: brevity }]
eval: { num_examples: 4 }
sft: { max_steps: 3, per_device_train_batch_size: 4, learning_rate: 1.0e-3 }
training:
  { max_steps: 2, per_device_train_batch_size: 8, num_generations: 4, max_completion_length: 12,
    gradient_accumulation_steps: 1, learning_rate: 1.0e-3 }
`;

test.inFolder("LoRA on a real model writes an adapter in PEFT's format, which can be trained further", async (folder) => {
  const config = `${folder}/lora.yaml`, run = `${folder}/run`;
  await Deno.writeTextFile(config, LORA.replace("MODEL", MODEL));
  await train([config, "--output-dir", run]);
  // peft_test.ts compares what PEFT computes with such an adapter.
  for (const path of [run, `${run}/checkpoint-2`]) {
    const adapter = JSON.parse(await Deno.readTextFile(`${path}/adapter_config.json`));
    assert.deepEqual([adapter.base_model_name_or_path, adapter.r], [MODEL, 4]);
    assert.ok(!await isThere(`${path}/model.safetensors`));
    const { tensors, ...file } = await readSafetensors(`${path}/adapter_model.safetensors`);
    assert.deepEqual([file.metadata, tensors.size], [{ format: "pt" }, 2 * 2 * 2]);
  }
  // A new run starts with this adapter. The reference of its KL term is the adapter, too.
  const more = await train(argv`${config} model.model_name_or_path=${run}/checkpoint-2
        training.beta=0.1 --output-dir ${folder}/more`);
  assert.equal(more["status"], "completed");
  const kl = (await readMetrics(`${folder}/more`)).filter((line) => line["split"] === "train")
    .map((line) => line["kl"] as number);
  assert.equal(kl.length, 2);
  assert.ok(Math.abs(kl[0]!) < 1e-6, "nothing has changed before the first step");
  const adapter = JSON.parse(await Deno.readTextFile(`${folder}/more/adapter_config.json`));
  assert.equal(adapter.base_model_name_or_path, MODEL);
});
