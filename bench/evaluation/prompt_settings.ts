/**
 * How a problem becomes a prompt: the settings that a user of a benchmark can choose, and those of
 * a run.
 */
import type { LocalTime } from "../../core/local_time.ts";
import type { PromptRole } from "../../data/prompt_roles.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";

/** How a problem becomes a prompt. */
export interface PromptSettings {
  /** A name of `SYSTEM_PROMPTS` (data/prompt.ts) or a text; null = none. */
  system_prompt: string | null;
  /** The role of the message with the system prompt, if it is not "system": developer, user. */
  system_role?: PromptRole;
  /**
   * Put the instruction about the answer's form before the question; null = before the questions of
   * rgx's own tasks, and not before those of other data.
   */
  add_instructions: boolean | null;
  /** "chat": rendered by the tokenizer's chat template, where it has one. "plain": plain text. */
  format: "chat" | "plain";
  /** Number of worked examples before the question. */
  few_shot: number;
  /** Worked examples are part of the user's message ("prompt"), or turns of a conversation. */
  few_shot_as: "prompt" | "turns";
  /** Values for the chat template, such as Qwen3's `enable_thinking`. */
  chat_template_kwargs?: Readonly<Record<string, unknown>>;
  /**
   * The local time that the chat template may write, such as the date in templates of Llama 3.
   * Absent if the template reads no clock, or if a server renders it.
   */
  prompt_time?: LocalTime;
}

/** The default settings. */
export const DEFAULT_PROMPT_SETTINGS: PromptSettings = {
  system_prompt: null,
  add_instructions: null,
  format: "chat",
  few_shot: 0,
  few_shot_as: "prompt",
};

/** A run's prompt settings. Its evaluations, and benchmarks of its checkpoints, use the same. */
export function runPromptSettings(
  { data, training }: {
    data: Pick<
      RunConfig["data"],
      "system_prompt" | "developer_role" | "add_instructions" | "prompt_format"
    >;
    training: Pick<RunConfig["training"], "chat_template_kwargs">;
  },
): PromptSettings {
  const { system_prompt, developer_role: role, add_instructions, prompt_format: format } = data;
  const { chat_template_kwargs: variables } = training;
  return {
    ...DEFAULT_PROMPT_SETTINGS,
    system_prompt,
    ...(role !== "system" && { system_role: role }),
    add_instructions,
    format,
    ...(Object.keys(variables).length > 0 && { chat_template_kwargs: variables }),
  };
}

/** The settings for problems of rgx's own tasks, or of other data. */
export function settingsFor(settings: PromptSettings, isOwnData: boolean): PromptSettings {
  return { ...settings, add_instructions: settings.add_instructions ?? isOwnData };
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
