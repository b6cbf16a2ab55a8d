/**
 * Training: in one call, in parts, or only its plan. docs/library.md has examples. A run with its
 * events in a loop, which saves a checkpoint when it is left early:
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { trainEvents } from "@rgx/rgx";
 * const folder = await Deno.makeTempDir(), seen: string[] = [];
 * const overrides = {
 *   training: { output_dir: folder, max_steps: 2 },
 *   sft: { max_steps: 2 },
 *   eval: { num_examples: 2 },
 * };
 * const events = trainEvents({ config: "quickstart", overrides, device: "wasm" });
 * for await (const event of events) seen.push(event.type);
 * assert.equal(seen.at(-1), "done");
 * await Deno.remove(folder, { recursive: true });
 * ```
 *
 * `planOnCard` plans a run on a graphics card that this machine need not have, by a known card's
 * name or by its memory: `rgx train --dry-run --gpu`. It throws when the run does not fit.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { findCard, KNOWN_CARDS, loadConfig, planCard, planOnCard } from "@rgx/rgx";
 * const { config } = await loadConfig("leg_counting_qwen7b");
 * const { memory, time } = await planOnCard(config, planCard({ gpu: "h100-80gb" }));
 * assert.ok(memory.peak < memory.available && time !== null && time.step < 60);
 * await assert.rejects(planOnCard(config, planCard({ deviceMemory: "8GB" })), /the run needs/);
 * assert.ok(KNOWN_CARDS.includes(findCard("RTX 4090")));
 * ```
 * @module
 */
export { train, trainEvents, type TrainHandlers, type TrainOptions } from "../training/train.ts";
export * from "../training/single_turn_env.ts";
export type * from "../training/run/events.ts";
export type { Advice, Finding } from "../training/diagnosis/diagnosis.ts";
export type { TaskAccuracy } from "../bench/evaluation/accuracy.ts";
export type {
  EvalItem,
  EvalResult,
  MixedAccuracy,
  RewardMean,
} from "../training/evaluation/before_and_after.ts";
export {
  type ClockPhase,
  PHASES as CLOCK_PHASES,
  type SecondsByPhase,
} from "../training/metrics/phase_clock.ts";
export type { Metrics } from "../training/metrics/metrics.ts";
export { readRun, type Run, type RunCompletion } from "../reports/run_report/read_run.ts";
export type { Point } from "../reports/charts/run_metrics.ts";
export { type Report, writeReport } from "../reports/run_report/write_report.ts";
export { RewardFailure } from "../training/run/step_records.ts";
// Training in parts, for programs that keep the model. docs/library.md has an example.
export { assemble, type AssembleOptions, type TrainingParts } from "../training/assemble.ts";
export { GrpoTrainer } from "../training/trainer.ts";
export type { TrainerOptions } from "../training/run/trainer_options.ts";
export type { TrainControl } from "../training/run/trainer_options.ts";
export type { MemoryParts } from "../training/memory/run_memory.ts";
export type { DiskPlan } from "../training/run/disk_plan.ts";
export type { LevelChange } from "../tasks/curriculum/coach.ts";
export type { PlannedRunOptions } from "../training/memory/planned_run.ts";
export type { OpenRunOptions } from "../training/open_run.ts";
export type { LargestBatch } from "../training/memory/fitting_settings.ts";
export type { LargestBuffer } from "../training/memory/counted_step.ts";
export type { OptimizerKind } from "../training/step/state_tensors.ts";
export type { SlurmJob } from "../core/machine/job.ts";
export type { MemoryPlan } from "../training/memory/run_memory.ts";
// Plans.
export {
  type CardMemory,
  type CardPlan,
  type CardPlanOptions,
  type CardTime,
  planOnCard,
} from "../training/card/card_plan.ts";
export { type PlanCard, planCard } from "../training/card/plan_card.ts";
export { findCard, KNOWN_CARDS, type KnownCard } from "../core/machine/known_cards.ts";
