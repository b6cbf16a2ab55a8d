/** `--dry-run`: shows a run's plan, on this machine or on a card, and the missing parts. */
import type { LoadedConfig, RunKind } from "../../configs/load.ts";
import { deviceOfConfig } from "../../configs/rank_layout.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { EXIT, RgxError } from "../../core/errors.ts";
import { freeBytes } from "../../core/machine/disk_space.ts";
import type { Device } from "../../kernels/device.ts";
import { planOnCard } from "../../training/card/card_plan.ts";
import type { PlanCard } from "../../training/card/plan_card.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import { planFromShape, type ShapePlan } from "../../training/memory/shape_plan.ts";
import type { TrainPlan } from "../../training/run/events.ts";
import type { GrpoTrainer } from "../../training/trainer.ts";
import {
  cardMemoryText,
  cardPlanJson,
  cardVerdictText,
  shapePlanText,
} from "../plans/plan_text.ts";
import {
  missingAdvice,
  missingError,
  missingForRun,
  missingLines,
} from "../plans/missing_parts.ts";
import { log, print } from "../terminal/terminal.ts";
import { withRanks } from "../ranks/join_ranks.ts";
import { loadRun, type TrainOptions } from "./load_run.ts";
import type { TrainProgress } from "./train_progress.ts";

/** Shows what a run would do, with its warnings; nothing is written. */
export async function showDryRun(
  trainer: GrpoTrainer,
  memory: MemoryPlan,
  progress: TrainProgress,
  config: RunConfig,
  json: boolean,
): Promise<void> {
  for (const message of await trainer.check()) progress.on({ type: "warning", message });
  const plan = trainer.plan(), free = await freeBytes(config.training.output_dir);
  progress.showDryRun(plan, trainer.samplePrompt(), free);
  if (!json) return;
  print(JSON.stringify({ ...plannedSummary(config, memory, plan), disk_free_bytes: free }));
}

/**
 * Ends a dry run whose model or data set is not on this machine: the memory is planned from the
 * model's sizes where they are known, then an error says what to fetch.
 */
export async function refuseMissing(
  config: RunConfig,
  device: Device,
  { json = false }: TrainOptions,
  phases: "all" | "sft",
): Promise<void> {
  const missing = await missingForRun(config);
  if (missing.length === 0) return;
  let isPlanned = false;
  const onPlan = (plan: ShapePlan) => {
    isPlanned = true;
    log(shapePlanText(plan, config));
  };
  try {
    const planned = await planFromShape(config, device, { phases, onPlan });
    if (json && planned !== null) print(JSON.stringify(plannedSummary(config, planned.memory)));
  } catch (error) {
    // Without the data set, or the sizes of the model, there is no plan.
    if (!(error instanceof RgxError)) throw error;
    if (isPlanned) {
      for (const line of missingLines(missing)) log(`warning: ${line}`);
      throw error;
    }
  }
  throw missingError(missing);
}

/** `--dry-run` for a card that need not be on this machine. Of several ranks, the first plans. */
export async function dryRunOnCard(
  card: PlanCard,
  name: string,
  overrides: string[],
  options: TrainOptions,
  commandOptions: readonly string[],
  kind: RunKind,
): Promise<number> {
  const phases = kind === "all" ? "all" : "sft";
  return await withRanks(options.verbose ?? false, async ({ ranks }) => {
    let loaded!: LoadedConfig;
    await ranks.each(async () => {
      loaded = await loadRun(name, overrides, options, commandOptions, kind);
    });
    if (!ranks.isFirst) return EXIT.ok;
    for (const note of options.quiet ? [] : loaded.notes) log(`note: ${note}`);
    const flag = options.gpu === undefined ? "--device-memory" : "--gpu";
    deviceOfConfig(loaded.config.training, "webgpu", `${flag} plans for`);
    await showCardPlan(loaded.config, card, phases, options.json ?? false);
    return EXIT.ok;
  });
}

async function showCardPlan(
  config: RunConfig,
  card: PlanCard,
  phases: "all" | "sft",
  json: boolean,
): Promise<void> {
  const plan = await planOnCard(config, card, {
    phases,
    onMemory: (plan) => log(cardMemoryText(plan, config)),
  });
  log(`${await cardVerdictText(plan)}\n\ndry run: nothing was written`);
  const missing = await missingForRun(config);
  for (const line of missingLines(missing)) log(`note: ${line}`);
  if (missing.length > 0) log(`before the run, ${missingAdvice(missing)}`);
  if (!json) return;
  const { output_dir } = config.training;
  print(JSON.stringify({ output_dir, status: "planned", ...await cardPlanJson(plan) }));
}

/** The JSON object of a dry run: the part of a run's summary that is known before the run. */
function plannedSummary({ training }: RunConfig, memory: MemoryPlan, plan?: TrainPlan) {
  return {
    output_dir: training.output_dir,
    status: "planned",
    ...(plan && {
      steps: plan.warmStartSteps + (plan.phases === "all" ? plan.steps : 0),
      parameters: plan.parameters,
      trainable_parameters: plan.trainable,
      train_problems: plan.trainProblems,
      held_out_problems: plan.heldOut,
      validation_problems: plan.validation,
      disk_planned_bytes: plan.disk.total,
    }),
    memory_planned_bytes: memory.peak,
    memory_available_bytes: Number.isFinite(memory.available) ? memory.available : null,
  };
}
