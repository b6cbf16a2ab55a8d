/**
 * How a problem becomes a prompt: what a benchmark lets a user choose, and what a run has chosen.
 */
import type { RunConfig } from "../configs/schema/run_config.ts";

/** How a problem becomes a prompt. */
export interface PromptSettings {
  /** A name of `SYSTEM_PROMPTS` (data/prompt.ts) or a text; null = none. */
  system_prompt: string | null;
  /** Put the instruction about the answer's form before the question. */
  add_instructions: boolean;
  /** "chat": rendered by the tokenizer's chat template, where it has one. "plain": plain text. */
  format: "chat" | "plain";
  /** Number of worked examples before the question. */
  few_shot: number;
  /** Worked examples are part of the user's message ("prompt"), or turns of a conversation. */
  few_shot_as: "prompt" | "turns";
}

/** The settings where neither a user nor a run says otherwise. */
export const DEFAULT_PROMPT_SETTINGS: PromptSettings = {
  system_prompt: null,
  add_instructions: true,
  format: "chat",
  few_shot: 0,
  few_shot_as: "prompt",
};

/** A run's prompt settings. Its evaluations, and benchmarks of its checkpoints, use the same. */
export function runPromptSettings(
  { system_prompt, add_instructions }: Pick<
    RunConfig["data"],
    "system_prompt" | "add_instructions"
  >,
): PromptSettings {
  return { ...DEFAULT_PROMPT_SETTINGS, system_prompt, add_instructions };
}

/** Prompts of a run keep this many tokens, their last ones; null = prompts are not cut. */
export function promptTokensKept(
  { truncate_prompts, max_prompt_length }: Pick<
    RunConfig["training"],
    "truncate_prompts" | "max_prompt_length"
  >,
): number | null {
  return truncate_prompts === "left" ? max_prompt_length : null;
}
