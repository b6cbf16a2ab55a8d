/**
 * Helpers for tests of training: a tiny configuration, and runs in temporary folders. Not part of
 * the program.
 */
import assert from "node:assert/strict";
import { parquetReadObjects } from "hyparquet";
import { test as folderTest, withFolder } from "../core/testing.ts";
import { defaultsOf } from "../configs/types/key_spec.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import {
  DATA,
  ENVIRONMENTS,
  EVAL,
  GENERATION,
  INIT,
  LOGGING,
  LORA,
  MODEL,
  MULTI_TURN,
  SFT,
  TOKENIZER,
  TRAINING,
} from "../configs/schema/schema.ts";
import type { Device } from "../kernels/device.ts";
import { createDevice } from "../kernels/mod.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import type { Rubric } from "../rewards/rubric.ts";
import type { RewardSample } from "../rewards/types.ts";
import { assemble } from "./assemble.ts";
import type { Line } from "./metrics/testing.ts";
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
      ...defaultsOf(MODEL),
      init: {
        ...defaultsOf(INIT),
        hidden_size: 16,
        intermediate_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        max_position_embeddings: 128,
        rms_norm_eps: 1e-5,
        initializer_range: 0.2,
        tokenizer: {
          ...defaultsOf(TOKENIZER),
          alphabet: Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("") +
            "\n",
          special_tokens: ["<pad>", "<unk>", "<eos>", "<answer>", "</answer>"],
        },
      },
    },
    lora: null,
    data: {
      ...defaultsOf(DATA),
      task_name: "spell_backward",
      task_config: { min_word_len: 3, max_word_len: 4 },
      num_examples: 50,
      seed: 7,
      add_instructions: false,
      prompt_format: "chat",
    },
    curriculum: null,
    rewards: [
      { name: "correctness", weight: 1, params: {} },
      { name: "format_answer", weight: 0.5, params: {} },
    ],
    dpo: null,
    teacher: null,
    sft: {
      ...defaultsOf(SFT),
      max_steps: 6,
      per_device_train_batch_size: 4,
      learning_rate: 1e-2,
      lr_scheduler_type: "cosine",
      warmup_steps: 2,
      weight_decay: 0.01,
      max_grad_norm: 1,
    },
    eval: { ...defaultsOf(EVAL), num_examples: 6, batch_size: 4 },
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
      weight_decay: 0.01,
      seed: 3,
      logging_steps: 2,
      save_steps: 2,
      num_generations: 4,
      max_completion_length: 10,
      num_completions_to_print: 2,
    },
    logging: { ...defaultsOf(LOGGING), run_name: "tiny", project: "test", report_to: [] },
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

/** Rewards by a function of a batch's completions. [rows][names] */
export function rubricOf(
  names: readonly string[],
  values: (samples: readonly RewardSample[]) => (number | null)[][],
  more: Partial<Rubric> = {},
): Rubric {
  const nothing = () => ({ errors: [], logged: new Map(), extras: new Map(), sums: new Map() });
  return {
    names,
    weights: names.map(() => 1),
    score: (samples) => Promise.resolve({ values: values(samples), ...nothing(), warnings: [] }),
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
    ...more,
  };
}

/** Rewards that differ between the completions of a group, so that every step has a gradient. */
export const VARYING_RUBRIC: Rubric = rubricOf(
  ["letters", "ending"],
  (samples) =>
    samples.map(({ completionIds, truncated }) => [
      completionIds.filter((id) => id % 3 === 0).length / completionIds.length,
      truncated ? null : 1,
    ]),
  { weights: [1, 0.5] },
);

export const varying: Partial<TrainerOptions> = { rubric: VARYING_RUBRIC };

/** Options with which a run stops after so many steps of its session. */
export function stopsAfter(steps: number): Pick<TrainerOptions, "control" | "listeners"> {
  let done = 0;
  return {
    control: { stopRequested: () => done >= steps ? "save" : "no", reason: "the test" },
    listeners: [({ type }) => {
      if (type === "step") done++;
    }],
  };
}

/**
 * Trains in sessions until the run is complete: each is stopped after so many operations of the
 * device, by its number. @returns how many there were
 */
export async function inSessions(
  operations: (session: number) => number,
  train: (options: Pick<TrainerOptions, "resume" | "control">) => Promise<FinishedRun>,
): Promise<number> {
  for (let session = 1;; session++) {
    assert.ok(session < 100, "the run makes no progress");
    let asked = 0;
    const { summary } = await train({
      resume: session > 1,
      control: { stopRequested: () => ++asked > operations(session) ? "save" : "no" },
    });
    if (summary.status === "completed") return session;
    assert.equal(summary.status, "stopped");
  }
}

export function warningsOf({ events }: Pick<FinishedRun, "events">): string[] {
  return events.flatMap((event) => event.type === "warning" ? [event.message] : []);
}

export { metricsOf, metricsWithoutClock } from "./metrics/testing.ts";
export type { Line };

export async function weightsOf(outputDir: string): Promise<Uint8Array> {
  return await Deno.readFile(`${outputDir}/model.safetensors`);
}

/** The table of the completions of a step. */
export async function completionsOf(outputDir: string, step: number): Promise<Line[]> {
  const name = `completions_${String(step).padStart(5, "0")}.parquet`;
  const { buffer } = await Deno.readFile(`${outputDir}/completions/${name}`);
  return await parquetReadObjects({ file: buffer });
}

type Work = (parts: { device: Device; dir: string }) => Promise<void>;

/** Tests with a folder, and with a device and a folder. */
export const test = {
  ...folderTest,
  onReference(name: string, work: Work): void {
    Deno.test(name, () => withReference((device, dir) => work({ device, dir })));
  },
  /** On one thread of the CPU. */
  onWasm(name: string, work: Work): void {
    Deno.test(name, () => withWasm((device, dir) => work({ device, dir })));
  },
};

/** Calls `work` with the reference device and a temporary folder. */
export async function withReference<T>(work: (device: Device, dir: string) => Promise<T>) {
  using device = createReferenceDevice();
  return await withFolder((dir) => work(device, dir));
}

/** Calls `work` with one thread of the CPU and a temporary folder. */
export async function withWasm<T>(work: (device: Device, dir: string) => Promise<T>) {
  using device = await createDevice("wasm", { threads: 1 });
  return await withFolder((dir) => work(device, dir));
}

/** Copies a folder with all that is in it. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else if (isFile) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}
