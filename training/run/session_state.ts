/** The state with which a session of a run begins: a fresh one, or that of a checkpoint. */
import { type PromptEncoder, runPrompts } from "../../bench/evaluation/prompt_encoder.ts";
import {
  freshState,
  heldApart,
  heldOutRecord,
  reviseHeldOut,
  type RunState,
} from "../checkpoint/run_state.ts";
import { restoreTaskWeights, type TrainingCurriculum } from "../curriculum/curriculum.ts";
import { firstScale } from "../step/loss_scale.ts";
import type { RunReport } from "./run_report.ts";
import type { TrainerOptions } from "./trainer_options.ts";
import { UsageError } from "../../core/errors.ts";
import { CUT_PROMPTS } from "../memory/run_memory.ts";
import type { Entry } from "../../tasks/types.ts";

/** The prompts of a run. @param time what the chat template writes; default: now */
export function promptsOf(
  { config, tokenizer, eosIds }: TrainerOptions,
  time?: RunState["promptTime"],
): PromptEncoder {
  const ends = eosIds ?? (tokenizer.eosId === null ? [] : [tokenizer.eosId]);
  return runPrompts(tokenizer, config, ends, time);
}

/** When the chat template says that it is; null: it does not say it. */
export function timeOf({ settings }: PromptEncoder): RunState["promptTime"] {
  return settings.prompt_time ?? null;
}

export function newState(
  { config, problems }: TrainerOptions,
  warmStartSteps: number,
  prompts: PromptEncoder,
): RunState {
  return {
    ...freshState(warmStartSteps > 0 ? "warm_start" : "eval_before"),
    heldOut: heldOutRecord(heldApart(problems)),
    promptTime: timeOf(prompts),
    lossScale: firstScale(config.training.compute_dtype),
  };
}

/** Adapts it to this session. @returns warnings */
export function continueState(
  restored: RunState,
  { config, problems, phases }: TrainerOptions,
  report: RunReport,
  curriculum: TrainingCurriculum | null,
): string[] {
  const scale = firstScale(config.training.compute_dtype), supervisedOnly = phases === "sft";
  restored.lossScale = scale === null ? null : restored.lossScale ?? scale;
  // A run of all phases has completed its supervised part by now; one of that part alone has not.
  if (supervisedOnly && restored.phase === "eval_before") restored.phase = "warm_start";
  // GRPO does not log metrics of supervised steps that were not logged yet.
  const grpoBegins = !supervisedOnly && restored.phase === "warm_start";
  if (!grpoBegins) report.restore(restored.averager);
  if (restored.curriculum !== null) curriculum?.restore(restored.curriculum);
  if (restored.taskWeights !== null) restoreTaskWeights(problems.source, restored.taskWeights);
  return reviseHeldOut(restored, heldApart(problems), config);
}

/**
 * Checks the lengths of all prompts against `max_prompt_length` and against what fits beside the
 * completion. Nothing is checked where prompts are cut (`truncate_prompts`).
 * @throws UsageError for a prompt that is too long
 */
export function checkPrompts(
  { config, problems, promptMisfit }: TrainerOptions,
  prompts: PromptEncoder,
  trainProblems: number,
): void {
  const { max_prompt_length: limit, truncate_prompts: cut } = config.training;
  if (cut !== null) return;
  // The prompts of a task have about the same length as those that the memory was planned with; the
  // rows of a file may have any length.
  if (limit === null && problems.source.endless) return;
  const longest = prompts.checkLengths(allProblems(problems, trainProblems), limit ?? Infinity);
  const misfit = promptMisfit?.(longest) ?? null;
  if (misfit === null) return;
  throw new UsageError(`${problems.source.name}: ${misfit}`, {
    advice: `Leave such problems out, or ${CUT_PROMPTS}.`,
  });
}

function* allProblems(
  problems: TrainerOptions["problems"],
  trainProblems: number,
): Generator<Entry> {
  yield* problems.heldOut;
  yield* problems.validation;
  for (let i = 0; i < trainProblems; i++) yield problems.trainEntry(i);
}
