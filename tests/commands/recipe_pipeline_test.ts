/**
 * The pipeline of reasoning-gym's recipes with a tiny model: train on several tasks with a
 * curriculum from a configuration of its form, consolidate a checkpoint into one model, evaluate it
 * by a YAML file, and share it on the Hub, by itself after training and by hand.
 */
import assert from "node:assert/strict";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { test } from "../../core/testing.ts";
import { type FakeHub, withHub } from "../../hub/testing.ts";
import { acceptUploads } from "../../hub/upload/testing.ts";
import { argv } from "../command_line.ts";
import { jsonLines, type Line, lines, rgx, succeeds } from "../support.ts";

/** Stands for a model of the Hub: it answers in the tags, and rarely right. */
const BASE = `model:
  init:
    architecture: llama
    hidden_size: 24
    intermediate_size: 48
    num_hidden_layers: 1
    num_attention_heads: 2
    num_key_value_heads: 1
    max_position_embeddings: 1024
    initializer_range: 0.2
    tokenizer:
      type: characters
      alphabet: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \\n.,:;!?'\\"()<>/=+*-_"
      special_tokens: ["<pad>", "<unk>", "<eos>", "<answer>", "</answer>"]
data:
  num_examples: 64
  add_instructions: false
  system_prompt: DeepSeekZero
  tasks: { letter_counting: { weight: 1 }, count_bits: { weight: 1, config: { max_n: 10 } } }
sft: { max_steps: 40, per_device_train_batch_size: 8, learning_rate: 2.0e-2, warmup_steps: 2 }
eval: { num_examples: 0 }
`;

/** A recipe with the sections and keys that reasoning-gym's have. */
const RECIPE = `hydra:
  searchpath: [file:///home/ubuntu/verl/verl/trainer/config]
defaults: [ppo_trainer, _self_]
reasoning_gym:
  dataset_size: 64
  developer_prompt: DeepSeekZero
  datasets:
    letter_counting: { weight: 2 }
    count_bits: { weight: 1, config: { max_n: 10 } }
curriculum:
  enabled: True
  schedule: { automatic: False, update_steps: 30 }
  last_k: 8
  success_threshold: 0.05
  failure_threshold: 0.0
  curricula:
    letter_counting: { attribute_levels: { words: 0 } }
reward:
  use_accuracy: True
  secondary_rewards:
    - { name: cosine, scaling_factor: 0.3 }
    - { name: format, scaling_factor: 0.2, kwargs: { preappend_thinking_token: False } }
data: { max_prompt_length: 960, max_response_length: 24, train_batch_size: 4 }
actor_rollout_ref:
  model: { path: BASE, lora_rank: 4, lora_alpha: 8, target_modules: all-linear }
  actor:
    strategy: fsdp
    ppo_mini_batch_size: 4
    ppo_micro_batch_size_per_gpu: 16
    use_kl_loss: True
    kl_loss_coef: 0.001
    optim: { lr: 1.0e-3 }
  rollout: { name: vllm, n: 4, temperature: 1.0, tensor_model_parallel_size: 2 }
algorithm: { adv_estimator: grpo }
trainer:
  critic_warmup: 0
  logger: [console]
  project_name: rg-test
  experiment_name: tiny
  n_gpus_per_node: 8
  nnodes: 1
  save_freq: 2
  test_freq: -1
  total_epochs: 1
  total_training_steps: 4
  default_local_dir: RUN
hf_upload: { enabled: true, repo_id: org/by-itself, optimizer_save_mode: full }
`;

const EVALUATION = `model_path: MODEL
max_tokens: 24
temperature: 0.0
developer_prompt: DeepSeekZero
developer_role: system
output_dir: RESULTS
save_metadata: true
save_full_results: true
eval_repeats: 1
categories:
  - category: algorithmic
    datasets:
      - { dataset: letter_counting, size: 6, seed: 42 }
      - { dataset: count_bits, size: 6, seed: 42, params: { max_n: 10 } }
`;

/** The text of the answers of an evaluation, by problem. */
async function evaluated(folder: string, model: string): Promise<unknown[]> {
  const results = await Deno.makeTempDir({ dir: folder });
  await Deno.writeTextFile(
    `${folder}/eval.yaml`,
    EVALUATION.replace("MODEL", model).replace("RESULTS", results),
  );
  const { out } = await succeeds(["eval", "--config", `${folder}/eval.yaml`, "--no-charts"]);
  assert.match(out, /^letter_counting +6 /m);
  const summary = out.match(/^\/.*\/summary\.json$/m)?.[0];
  const { categories } = JSON.parse(await Deno.readTextFile(summary!));
  assert.deepEqual(Object.keys(categories.algorithmic), ["letter_counting", "count_bits"]);
  const [samples] = [...Deno.readDirSync(results)].filter(({ name }) => /^samples_/.test(name));
  return jsonLines(await Deno.readTextFile(`${results}/${samples!.name}`))
    .map(({ task, index, result }) => `${task} ${index} ${result.completion}`).sort();
}

const filesOf = (hub: FakeHub, name: string) =>
  new Map(hub.repositories.get(`models/${name}`)!.files.map((file) => [file.name, file.bytes]));

/** Every file of a folder is in the repository, with the same bytes. */
async function isShared(hub: FakeHub, name: string, folder: string, names: string[], at = "") {
  const files = filesOf(hub, name);
  for (const file of names) {
    const bytes = files.get(`${at}${file}`);
    assert.ok(bytes !== undefined, `${at}${file} of ${[...files.keys()].join()}`);
    assert.deepEqual(new Uint8Array(bytes), await Deno.readFile(`${folder}/${file}`), file);
  }
}

test.inFolder("a recipe of reasoning-gym: trained, consolidated, evaluated, shared", (folder) =>
  withHub(async (hub) => {
    const received = acceptUploads(hub), run = `${folder}/run`, merged = `${folder}/merged`;
    await Deno.writeTextFile(`${folder}/base.yaml`, BASE);
    await succeeds(["sft", `${folder}/base.yaml`, "--output-dir", `${folder}/base`]);
    await Deno.mkdir(`${folder}/configs`);
    await Deno.writeTextFile(
      `${folder}/configs/tiny.yaml`,
      RECIPE.replace("BASE", `${folder}/base`).replace("RUN", run),
    );

    // The command of the recipe's README, with another name on the command line.
    const trained = await succeeds(
      argv`train --config-path ${folder}/configs --config-name tiny
            trainer.experiment_name=renamed`,
      { env: hub.env },
    );
    assert.match(trained.err, /^task +letter_counting × 2, count_bits × 1, with a curriculum$/m);
    const metrics = lines(await Deno.readTextFile(`${run}/metrics.jsonl`))
      .map((line) => JSON.parse(line) as Line);
    const moves = metrics.filter(({ event }) => event === "curriculum");
    assert.ok(moves.length > 0, "no level was raised");
    for (const [i, move] of moves.entries()) {
      assert.deepEqual([move["task"], move["direction"]], ["letter_counting", "up"]);
      assert.deepEqual(move["levels"], { words: i + 1 });
      assert.ok(Number(move["mean"]) > 0.05, "above success_threshold");
    }
    for (const line of metrics.filter(({ split }) => split === "train")) {
      for (const reward of ["correctness", "rg_cosine", "rg_format"]) {
        assert.equal(typeof line[`rewards/${reward}/mean`], "number", reward);
      }
    }
    const table = await asyncBufferFromFile(`${run}/completions/completions_00004.parquet`);
    const rows = await parquetReadObjects({ file: table });
    const problems = rows.map(({ entry }) => JSON.parse(entry));
    const sources = new Set(problems.map(({ metadata }) => metadata.source_dataset));
    assert.deepEqual([...sources].sort(), ["count_bits", "letter_counting"]);
    // Prompts are the system prompt and the question, as the recipe's own program writes them.
    for (const [i, { question }] of problems.entries()) {
      assert.ok(rows[i]!["prompt"].endsWith(question), rows[i]!["prompt"]);
      assert.ok(!rows[i]!["prompt"].includes("Think step by step and solve the problem"));
    }

    // Uploaded by itself: the model, and what a resume needs.
    const model = ["adapter_model.safetensors", "adapter_config.json", "tokenizer.json"];
    await isShared(hub, "org/by-itself", run, model);
    const checkpoint = `${run}/checkpoint-4`;
    await isShared(hub, "org/by-itself", checkpoint, ["optimizer.safetensors"], "checkpoint-4/");

    // Consolidated: one model without an adapter, which answers like the checkpoint.
    await succeeds(["export", checkpoint, "--to", "hf", "--output", merged]);
    const answers = await evaluated(folder, merged);
    assert.equal(answers.length, 12);
    assert.deepEqual(answers, await evaluated(folder, run));
    const twice = await rgx(["convert", merged, "--output", `${folder}/again`]);
    assert.match(twice.err, /has one model\.safetensors already\nhelp: It can be used as it is/);

    // Uploaded by hand, with the flags of the recipe's script.
    await succeeds(
      argv`upload --checkpoint-dir ${checkpoint} --model-name org/base --repo-id org/by-hand
            --step 4 --optimizer-save-mode full`,
      { env: hub.env },
    );
    await isShared(hub, "org/by-hand", checkpoint, model);
    const card = new TextDecoder().decode(filesOf(hub, "org/by-hand").get("README.md"));
    assert.match(card, /base_model: org\/base/);
    assert.equal(received.commits.length, 2);
  }));
