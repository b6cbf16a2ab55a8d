/**
 * How much a run will write: its checkpoints, the model at its end, the tables of its completions.
 * The sizes of tensors are known, those of tables are estimated, so the sum is "about".
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { counted } from "../../core/counted.ts";
import { freeBytes } from "../../core/machine/disk_space.ts";
import { IntervalStrategy } from "./interval_strategy.ts";
import type { RunSizes } from "./run_sizes.ts";
import { optimizerKind } from "../step/state_tensors.ts";

/** Bytes. */
export interface DiskPlan {
  /** Of one checkpoint. */
  checkpoint: number;
  /** Maximum number of checkpoints that the run adds; one more while it is written. */
  checkpoints: number;
  /** Weights and tokenizer at the end of the run. */
  model: number;
  /** The tables of completions, and what else grows with the steps. */
  tables: number;
  /** checkpoints × checkpoint + model + tables. */
  total: number;
}

export interface DiskPlanInput {
  config: RunConfig;
  sizes: Pick<RunSizes, "warmStartSteps" | "rowsPerGeneration" | "schedule" | "totalSteps">;
  /** Number of the parameters that are stored: of the model, or of its adapter. */
  stored: number;
  /** Bytes of the tokenizer's files, which every checkpoint has; default: not known, 0. */
  tokenizer?: number;
  phases: "all" | "sft";
  /** The steps of earlier sessions. */
  done?: { warmStart: number; steps: number };
}

const FLOAT = 4;
/** Bytes of a token of a completion in a table, which is compressed; measured: 0.5 to 4. */
const TOKEN = 4;
/** Bytes of a step in metrics.jsonl, run.log and the report. */
const STEP = 4096;

/** The maximum of what a run, or the rest of it, writes. */
export function planDisk(
  { config, sizes, stored, tokenizer = 0, phases, done = { warmStart: 0, steps: 0 } }:
    DiskPlanInput,
): DiskPlan {
  const { training } = config, weights = FLOAT * stored, model = weights + tokenizer;
  const moments = optimizerKind(training).moments === "8bit" ? 2 * stored : 2 * weights;
  // A fresh adapter needs no copy: its reference is the base.
  const isCopied = training.beta !== 0 && phases === "all" &&
    (config.lora === null || sizes.warmStartSteps > 0);
  const stale = config.generation.max_staleness * weights;
  const checkpoint = training.save_only_model
    ? model
    : model + moments + (isCopied ? weights : 0) + stale;
  const warmStart = warmStartSaves(config, sizes.warmStartSteps, done.warmStart);
  const grpo = phases === "sft" ? 0 : saves(config, sizes, done.steps);
  const isBegun = done.warmStart + done.steps > 0;
  const checkpoints = atOnce(config, warmStart, isBegun) + atOnce(config, grpo, isBegun);
  const steps = phases === "sft" ? 0 : sizes.totalSteps - done.steps;
  const perGeneration = sizes.schedule.perGeneration / training.gradient_accumulation_steps;
  const rows = training.log_completions
    ? Math.ceil(steps / perGeneration) * sizes.rowsPerGeneration
    : 0;
  const tables = rows * training.max_completion_length * TOKEN +
    (steps + sizes.warmStartSteps - done.warmStart) * STEP;
  const total = checkpoints * checkpoint + model + tables;
  return { checkpoint, checkpoints, model, tables, total };
}

/** Checkpoints of the steps that are left, if every evaluation is better than those before it. */
function saves(
  { training }: RunConfig,
  { schedule, totalSteps }: DiskPlanInput["sizes"],
  done: number,
): number {
  const intervals = new IntervalStrategy(training, totalSteps, schedule.stepsPerEpoch);
  let count = 0;
  for (let step = done + 1; step <= totalSteps; step++) {
    if (intervals.savesAt(step, intervals.evaluatesAt(step))) count++;
  }
  return count;
}

/** Of the supervised steps that are left: at their interval, and after the last one. */
function warmStartSaves({ training }: RunConfig, total: number, done: number): number {
  if (done >= total) return 0;
  const { saveSteps } = new IntervalStrategy(training, total, total);
  const before = (step: number) => Math.floor(step / saveSteps);
  return training.save_strategy === "no" ? 1 : before(total - 1) - before(done) + 1;
}

/** How many of them are in the folder at the same time, besides those of earlier sessions. */
function atOnce({ training }: RunConfig, count: number, isBegun: boolean): number {
  const { save_total_limit: limit, save_strategy, load_best_model_at_end } = training;
  if (limit === null) return count;
  const best = save_strategy === "best" || load_best_model_at_end ? 1 : 0;
  // The oldest one is deleted after the newest one is complete.
  const most = isBegun ? 1 : Math.max(1, limit) + best + 1;
  return Math.min(count, most);
}

/** "at most about 1.2 GB: 3 checkpoints of 380 MB, the model, tables". */
export function diskText({ checkpoint, checkpoints, tables, model, total }: DiskPlan): string {
  return `at most about ${bytesText(total)}: ${counted(checkpoints, "checkpoint")} of ` +
    `${bytesText(checkpoint)}, the model ${bytesText(model)}, tables up to ${bytesText(tables)}`;
}

/**
 * A warning where the file system of the run's folder has less space than the plan. It is no
 * error: others may make room meanwhile, and a full disk ends a run at its last checkpoint.
 */
export async function diskWarnings(
  { training: { output_dir, save_total_limit: limit } }: RunConfig,
  plan: DiskPlan,
): Promise<string[]> {
  const free = await freeBytes(output_dir);
  if (free === null || free >= plan.total) return [];
  const fewer = limit === null && plan.checkpoints > 2
    ? "; training.save_total_limit=2 keeps the newest two"
    : "; another training.output_dir may have more";
  return [`the run writes ${diskText(plan)}; ${output_dir} has ${bytesText(free)} free${fewer}`];
}
