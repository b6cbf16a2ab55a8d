/** Settings with which a run that is too large would fit, and the largest batch that fits. */
import { batchSizes, type SizeKeys } from "../../configs/batch_sizes.ts";
import { largestThat } from "../../models/generation/memory/largest_that.ts";
import type { StepSize } from "./step_size.ts";
import { UsageError } from "../../core/errors.ts";
import { embeddedShapes } from "../../configs/model_shapes.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import { modelTensors } from "../../models/architectures/mod.ts";
import type { LoraOptions } from "../../models/network/adapters/lora.ts";
import {
  type DeviceSizes,
  type ModelSizes,
  modelSizes,
} from "../../models/network/weights/model_sizes.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { WeightStorage } from "../../models/formats/stored_weight.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import {
  configType,
  planStorage,
  type StorageOptions,
} from "../../models/network/weights/weight_storage.ts";

/** The share of the memory that a step of this size leaves; negative if it does not fit. */
export type LeftBy = (size: StepSize) => Promise<number>;

/** Shorter completions, of less than half the length, hold no answer any more. */
const USEFUL_TOKENS = 64;
/** Whether completions of so many tokens are worth advising in place of `asked`. */
export const isUseful = (tokens: number, asked: number): boolean =>
  tokens > 0 && tokens >= Math.min(USEFUL_TOKENS, asked / 2);

export interface FittingSettings {
  /** Smaller batches; the same step in parts comes first. */
  batches: string[];
  /** What changes the run more. */
  others: string[];
}

export async function fittingSettings(size: StepSize, left: LeftBy): Promise<FittingSettings> {
  const fits = async (size: StepSize) => await left(size) >= 0;
  const { batch, accumulation, group, completion, items, itemAccumulation, perItem } = size;
  // The two loops: what a pass takes, in which units it may shrink, and the passes of a step.
  const loops = [
    {
      section: "training",
      whole: batch,
      unit: group,
      count: accumulation,
      with: (batch: number, count = accumulation) => ({ ...size, batch, accumulation: count }),
    },
    {
      section: supervisedSection(size),
      whole: items / perItem,
      unit: 1,
      count: itemAccumulation,
      with: (each: number, count = itemAccumulation) => {
        return { ...size, items: each * perItem, itemAccumulation: count };
      },
    },
  ];
  const inParts: string[] = [], smaller: string[] = [];
  for (const { section, whole, unit, count, with: resized } of loops) {
    const key = `${section}.per_device_train_batch_size`;
    const fitting = async (parts: number) =>
      whole % parts === 0 && await fits(resized(whole / parts, count * parts));
    let parts = 2;
    while (parts <= whole && !await fitting(parts)) parts++;
    if (parts <= whole) {
      inParts.push(
        `${key}=${whole / parts} ${section}.gradient_accumulation_steps=${count * parts} (the ` +
          `same step in ${parts} parts)`,
      );
      continue;
    }
    const units = await below(Math.floor(whole / unit), (n) => left(resized(n * unit)));
    if (units > 0) smaller.push(`${key}=${units * unit}`);
  }
  const others: string[] = [];
  const bytes = { ...size.optimizer, moments: "8bit" } as const;
  if (size.optimizer.moments === "float" && await fits({ ...size, optimizer: bytes })) {
    others.push("training.optim=adamw_8bit");
  }
  const tokens = await below(completion, (n) => left({ ...size, completion: n }));
  if (isUseful(tokens, completion)) {
    others.push(`training.max_completion_length=${tokens}`);
  }
  return { batches: [...inParts, ...smaller], others };
}

/** The section with the loop of supervised steps; that of preferences is in `training`. */
function supervisedSection({ perItem }: StepSize): string {
  return perItem === 1 ? "sft" : "training";
}

/** The smallest steps that one of the settings gives, each alone. */
export function smallestSizes(size: StepSize): StepSize[] {
  const { batch, accumulation, items, itemAccumulation, completion } = size;
  return [
    { ...size, batch: Math.min(1, batch), accumulation: accumulation * batch },
    { ...size, items: Math.min(1, items), itemAccumulation: itemAccumulation * items },
    { ...size, optimizer: { ...size.optimizer, moments: "8bit" } },
    { ...size, completion: Math.min(completion, USEFUL_TOKENS) },
  ];
}

/** The largest batch of a training pass that fits, and the key that sets it. */
export interface LargestBatch {
  /** The key of the configuration. */
  key: string;
  /** What it is now, and the largest value that fits; 0 = none does. */
  now: number;
  /** The largest value that fits; 0 = none does. */
  largest: number;
}

const MAX_BATCH = 2 ** 16;

export async function largestBatch(
  size: StepSize,
  keys: SizeKeys,
  left: LeftBy,
): Promise<LargestBatch> {
  if (size.batch === 0) {
    const { perItem } = size, now = size.items / perItem;
    const leftBy = (n: number) => left({ ...size, items: n * perItem });
    const largest = await largestThat(MAX_BATCH, leftBy, now);
    return { key: `${supervisedSection(size)}.per_device_train_batch_size`, now, largest };
  }
  const key = "training.per_device_train_batch_size", now = size.batch;
  const leftBy = (n: number) => {
    const { generationBatchSize } = batchSizes({ ...keys, per_device_train_batch_size: n });
    return left({ ...size, batch: n, generated: generationBatchSize });
  };
  const whole = keys.generation_batch_size;
  if (whole !== null) {
    const divisors = Array.from({ length: whole }, (_, i) => i + 1).filter((n) => whole % n === 0);
    const place = await largestThat(divisors.length, (n) => leftBy(divisors[n - 1]!));
    return { key, now, largest: divisors[place - 1] ?? 0 };
  }
  // Groups are not split between generations.
  const { stepsPerGeneration } = batchSizes(keys);
  const unit = size.group / commonDivisor(size.group, stepsPerGeneration);
  const units = Math.floor(MAX_BATCH / unit);
  const found = await largestThat(units, (n) => leftBy(n * unit), Math.floor(now / unit));
  return { key, now, largest: unit * found };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

const below = (limit: number, left: (n: number) => Promise<number>) =>
  limit < 2 ? 0 : largestThat(limit - 1, left);

export function parameterCount(config: ModelConfig): number {
  return modelTensors(config).reduce((sum, { shape }) => sum + elementCount(shape), 0);
}

/** The largest smaller model of the same architecture that fits, trained the same way; or null. */
export async function smallerModel(
  config: ModelConfig,
  options: { lora?: LoraOptions; trainable: "lora" | "full"; recompute: boolean },
  numbers: DeviceSizes,
  weights: StorageOptions,
  fits: (sizes: ModelSizes) => Promise<boolean>,
): Promise<string | null> {
  const models = [...embeddedShapes()].map(([name, shape]) => {
    const { modelConfig } = readHfConfig(shape, name);
    return { name, modelConfig, count: parameterCount(modelConfig), type: configType(shape) };
  });
  const below = parameterCount(config);
  const smaller = models
    .filter(({ modelConfig, count }) =>
      modelConfig.architecture === config.architecture && count < below
    )
    .sort((a, b) => b.count - a.count);
  for (const { name, modelConfig, type } of smaller) {
    const storage = planStorage(modelConfig, options.trainable, weights, () => type);
    if (await fits(modelSizes(modelConfig, { ...options, storage }, numbers))) return name;
  }
  return null;
}

/** The storage of the same model in 4 bits; null where its weights are trained or quantised. */
export function fourBitStorage(
  config: ModelConfig,
  trainable: "lora" | "full",
  weights: StorageOptions,
  fileType: Parameters<typeof planStorage>[3],
): WeightStorage | null {
  if (trainable === "full" || (weights.quantize ?? null) !== null) return null;
  try {
    return planStorage(config, trainable, { ...weights, quantize: "nf4" }, fileType);
  } catch (error) {
    if (error instanceof UsageError) return null; // the file is quantised already
    throw error;
  }
}
