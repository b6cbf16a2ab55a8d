/** Checks before a run that the prompts of all its problems fit. */
import { UsageError } from "../../core/errors.ts";
import { CUT_PROMPTS } from "../memory/run_memory.ts";
import type { Entry } from "../../tasks/types.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { TrainerOptions } from "./trainer_options.ts";

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
