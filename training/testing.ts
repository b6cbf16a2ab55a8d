/**
 * Helpers for tests of training: a tiny configuration, and runs in temporary folders. Not part of
 * the program.
 */
import { withFolder } from "../core/testing.ts";
import { defaultsOf } from "../configs/types/key_spec.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { GENERATION } from "../configs/schema/sampling_keys.ts";
import { ENVIRONMENTS, MULTI_TURN } from "../configs/schema/multi_turn_keys.ts";
import { TRAINING } from "../configs/schema/schema.ts";
import { LORA } from "../configs/schema/model_keys.ts";
import type { Device } from "../kernels/device.ts";
import { createDevice } from "../kernels/mod.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import type { Rubric } from "../rewards/rubric.ts";
import { assemble } from "./assemble.ts";
import type { TrainEvent, TrainSummary } from "./run/events.ts";
import { GrpoTrainer, type TrainerOptions } from "./trainer.ts";

/** Changes of a configuration; sections may be partial. */
export type ConfigChanges = {
  [K in keyof RunConfig]?: RunConfig[K] extends infer S | null
    ? (S extends readonly unknown[] ? S : Partial<S>) | null
    : never;
};

/**
 * A tiny model of two layers that learns to spell words backwards: a few milliseconds for each
 * step.
 */
export function tinyRunConfig(outputDir: string, changes: ConfigChanges = {}): RunConfig {
  const base: RunConfig = {
    model: {
      model_name_or_path: null,
      adapter_name_or_path: null,
      tokenizer_name_or_path: null,
      chat_template: null,
      rope_scaling: null,
      shape: null,
      dtype: "auto",
      load_in_4bit: false,
      load_in_8bit: false,
      init: {
        architecture: "llama",
        hidden_size: 16,
        intermediate_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        max_position_embeddings: 128,
        rope_theta: 10000,
        rms_norm_eps: 1e-5,
        tie_word_embeddings: true,
        initializer_range: 0.2,
        tokenizer: {
          type: "characters",
          alphabet: Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("") +
            "\n",
          special_tokens: ["<pad>", "<unk>", "<eos>", "<answer>", "</answer>"],
        },
      },
    },
    lora: null,
    data: {
      task_name: "spell_backward",
      task_config: { min_word_len: 3, max_word_len: 4 },
      tasks: null,
      task_files: [],
      dataset_name: null,
      dataset_train_split: "train",
      dataset_test_split: "test",
      eval_dataset_name: null,
      num_examples: 50,
      dataset_prompt_column: null,
      max_examples: null,
      train_ratio: null,
      validation_examples: null,
      test_examples: null,
      seed: 7,
      add_instructions: false,
      prompt_format: "chat",
      system_prompt: null,
      developer_role: "system",
    },
    curriculum: null,
    rewards: [
      { name: "correctness", weight: 1, params: {} },
      { name: "format_answer", weight: 0.5, params: {} },
    ],
    dpo: null,
    teacher: null,
    sft: {
      max_steps: 6,
      per_device_train_batch_size: 4,
      gradient_accumulation_steps: 1,
      learning_rate: 1e-2,
      lr_scheduler_type: "cosine",
      lr_scheduler_kwargs: {},
      warmup_steps: 2,
      weight_decay: 0.01,
      max_grad_norm: 1,
      assistant_only_loss: false,
    },
    eval: { num_examples: 6, temperature: null, batch_size: 4 },
    generation: defaultsOf(GENERATION),
    ...defaultsOf(ENVIRONMENTS),
    multi_turn: defaultsOf(MULTI_TURN),
    training: {
      ...defaultsOf(TRAINING),
      output_dir: outputDir,
      learning_rate: 1e-3,
      per_device_train_batch_size: 4,
      gradient_accumulation_steps: 2,
      num_train_epochs: 1,
      max_steps: 6,
      lr_scheduler_type: "linear",
      warmup_steps: 0,
      weight_decay: 0.01,
      adam_beta1: 0.9,
      adam_beta2: 0.999,
      adam_epsilon: 1e-8,
      max_grad_norm: 1,
      seed: 3,
      logging_steps: 2,
      save_steps: 2,
      save_total_limit: null,
      shuffle_dataset: true,
      num_generations: 4,
      max_completion_length: 10,
      max_prompt_length: null,
      temperature: 1,
      top_p: 1,
      top_k: 0,
      min_p: null,
      beta: 0,
      use_bias_correction_kl: true,
      disable_dropout: false,
      epsilon: 0.2,
      epsilon_high: null,
      loss_type: "dapo",
      scale_rewards: "group",
      log_completions: true,
      num_completions_to_print: 2,
    },
    logging: { run_name: "tiny", project: "test", report_to: [] },
    hf_upload: null,
    slurm: null,
  };
  const merged: Record<string, unknown> = { ...base };
  for (const [section, value] of Object.entries(changes)) {
    const under = section === "lora" ? defaultsOf(LORA) : base[section as keyof RunConfig];
    merged[section] = value === null || Array.isArray(value) ? value : { ...under, ...value };
  }
  return merged as unknown as RunConfig;
}

/** The same with one supervised and two GRPO steps, unless changed. */
export function shortRunConfig(outputDir: string, changes: ConfigChanges = {}): RunConfig {
  return tinyRunConfig(outputDir, {
    sft: { max_steps: 1, warmup_steps: 0 },
    eval: { num_examples: 3 },
    ...changes,
    training: { max_steps: 2, ...changes.training },
  });
}

export interface FinishedRun {
  summary: TrainSummary;
  events: TrainEvent[];
}

/** Runs a configuration on a device, with the parts that `assemble` makes. */
export async function trainOn(
  device: Device,
  config: RunConfig,
  options: Partial<TrainerOptions> = {},
): Promise<FinishedRun> {
  const { model, ...parts } = await assemble(config, device, {
    resumes: (options.resume ?? false) !== false,
  });
  const events: TrainEvent[] = [];
  try {
    const trainer = new GrpoTrainer({
      config,
      configText: JSON.stringify(config, null, 2) + "\n",
      device,
      model,
      ...parts,
      listeners: [(event) => events.push(event)],
      ...options,
    });
    return { summary: await trainer.run(), events };
  } finally {
    model.dispose();
  }
}

/** Rewards that differ between the completions of a group, so that every step has a gradient. */
export const VARYING_RUBRIC: Rubric = {
  names: ["letters", "ending"],
  weights: [1, 0.5],
  score: (inputs) =>
    Promise.resolve({
      values: inputs.map(({ completionIds, truncated }) => [
        completionIds.filter((id) => id % 3 === 0).length / completionIds.length,
        truncated ? null : 1,
      ]),
      errors: [],
      logged: new Map(),
      extras: new Map(),
      sums: new Map(),
      warnings: [],
    }),
  open: () => Promise.resolve(),
  async close() {},
};

export const varying: Partial<TrainerOptions> = { rubric: VARYING_RUBRIC };

/** Metrics that depend on the clock or the machine (see the documentation of metrics.jsonl). */
const CLOCK = /^(time|step_time|time\/.*|memory\/.*|throughput\/.*|.*_runtime|.*_per_second)$/;

/** The lines of metrics.jsonl without metrics that depend on the clock. */
export async function metricsWithoutClock(outputDir: string): Promise<Record<string, unknown>[]> {
  const text = await Deno.readTextFile(`${outputDir}/metrics.jsonl`);
  return text.trimEnd().split("\n").map((line) =>
    Object.fromEntries(Object.entries(JSON.parse(line)).filter(([name]) => !CLOCK.test(name)))
  );
}

/** Calls `work` with the reference device and a temporary folder. */
export function withReference<T>(work: (device: Device, dir: string) => Promise<T>): Promise<T> {
  return withDevice(createReferenceDevice(), work);
}

/** Calls `work` with one thread of the CPU and a temporary folder. */
export async function withWasm<T>(work: (device: Device, dir: string) => Promise<T>): Promise<T> {
  return await withDevice(await createDevice("wasm", { threads: 1 }), work);
}

async function withDevice<T>(
  device: Device,
  work: (device: Device, dir: string) => Promise<T>,
): Promise<T> {
  try {
    return await withFolder((dir) => work(device, dir));
  } finally {
    device.close();
  }
}

/** Copies a folder with all that is in it. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else if (isFile) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}
