/** Settings with which a run that is too large would fit, and the largest batch that fits. */
import { batchSizes, type SizeKeys } from "../../configs/batch_sizes.ts";
import type { StepSize } from "./step_memory.ts";

/** Shorter completions, of less than half the length, hold no answer any more. */
const USEFUL_TOKENS = 64;

/** Settings that would fit, each of them alone. */
export interface FittingSettings {
  /** Smaller batches; the same step in parts comes first. */
  batches: string[];
  /** What changes the run more. */
  others: string[];
}

export function fittingSettings(
  size: StepSize,
  fits: (size: StepSize) => boolean,
): FittingSettings {
  const { batch, accumulation, group, completion, items, itemAccumulation } = size;
  const parts = (
    section: string,
    whole: number,
    count: number,
    smaller: (batch: number, count: number) => StepSize,
  ) => {
    for (let parts = 2; parts <= whole; parts++) {
      const [each, all] = [whole / parts, count * parts];
      if (whole % parts !== 0 || !fits(smaller(each, all))) continue;
      return [
        `${section}.per_device_train_batch_size=${each} ` +
        `${section}.gradient_accumulation_steps=${all} (the same step in ${parts} parts)`,
      ];
    }
    return [];
  };
  const training = parts("training", batch, accumulation, (batch, accumulation) => ({
    ...size,
    batch,
    accumulation,
  }));
  const sft = parts("sft", items, itemAccumulation, (items, itemAccumulation) => ({
    ...size,
    items,
    itemAccumulation,
  }));
  const batches = [...training, ...sft];
  const prompts = largest(Math.floor(batch / group), (n) => fits({ ...size, batch: n * group }));
  if (training.length === 0 && prompts > 0) {
    batches.push(`training.per_device_train_batch_size=${prompts * group}`);
  }
  const problems = largest(items, (n) => fits({ ...size, items: n }));
  if (sft.length === 0 && problems > 0) {
    batches.push(`sft.per_device_train_batch_size=${problems}`);
  }
  const others: string[] = [];
  const bytes = { ...size.optimizer, moments: "8bit" } as const;
  if (size.optimizer.moments === "float" && fits({ ...size, optimizer: bytes })) {
    others.push("training.optim=adamw_8bit");
  }
  const tokens = largest(completion, (n) => fits({ ...size, completion: n }));
  if (tokens > 0 && tokens >= Math.min(USEFUL_TOKENS, completion / 2)) {
    others.push(`training.max_completion_length=${tokens}`);
  }
  return { batches, others };
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

/** No pass of a run has this many completions. */
const MAX_BATCH = 2 ** 16;

/** The largest batch that fits with all other keys as they are. */
export function largestBatch(
  size: StepSize,
  keys: SizeKeys,
  fits: (size: StepSize) => boolean,
): LargestBatch {
  if (size.batch === 0) {
    const items = largest(MAX_BATCH, (n) => fits({ ...size, items: n }));
    return { key: "sft.per_device_train_batch_size", now: size.items, largest: items };
  }
  const key = "training.per_device_train_batch_size", now = size.batch;
  const works = (n: number) => {
    const { generationBatchSize } = batchSizes({ ...keys, per_device_train_batch_size: n });
    return fits({ ...size, batch: n, generated: generationBatchSize });
  };
  const whole = keys.generation_batch_size;
  if (whole !== null) {
    const divisors = Array.from({ length: whole }, (_, i) => whole - i)
      .filter((n) => whole % n === 0);
    return { key, now, largest: divisors.find(works) ?? 0 };
  }
  // Groups are not split between generations.
  const { stepsPerGeneration } = batchSizes(keys);
  const unit = size.group / commonDivisor(size.group, stepsPerGeneration);
  return {
    key,
    now,
    largest: unit * largest(Math.floor(MAX_BATCH / unit), (n) => works(n * unit)),
  };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/**
 * The largest integer in [1, below) for which `works`, or 0. If it works for n, it works for all
 * below n.
 */
function largest(below: number, works: (n: number) => boolean): number {
  let low = 0, high = below;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (works(middle)) low = middle;
    else high = middle;
  }
  return low;
}
