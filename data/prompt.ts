/**
 * The parts of a prompt: the question with its instruction, the system prompts, and the rendering
 * of chat messages. `bench/evaluation/prompt_text.ts` puts them together for a problem, with worked
 * examples. Training, benchmarks and serving use the same functions, so a model is measured with
 * the prompts that it was trained on.
 */
import type { ChatMessage } from "../core/chat_message.ts";
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { TAGS } from "./solution_format.ts";

/** The instruction that `add_instructions` puts before a question: where to write the answer. */
export const UNIVERSAL_INSTRUCTION: string =
  "Think step by step and solve the problem carefully. When you have your final answer, format " +
  "it as: <answer>your answer here</answer>";

/**
 * The user's message: the instruction (never twice), an empty line and the question; or the
 * question alone.
 */
export function formatQuestion(
  question: string,
  { addInstructions = true }: { addInstructions?: boolean } = {},
): string {
  const isThere = question.startsWith(`${UNIVERSAL_INSTRUCTION}\n\n`);
  return addInstructions && !isThere ? `${UNIVERSAL_INSTRUCTION}\n\n${question}` : question;
}

/** The question without the instruction that {@link formatQuestion} puts before it. */
export function withoutInstruction(text: string): string {
  const start = `${UNIVERSAL_INSTRUCTION}\n\n`;
  return text.startsWith(start) ? text.slice(start.length) : text;
}

/** System prompts by name. They ask for the answer in `<answer>` tags; gsm8k has other tags. */
export const SYSTEM_PROMPTS: Readonly<Record<string, string>> = {
  DeepSeekZero:
    "You answer questions in two parts. First write down your reasoning between <think> and " +
    "</think>. Then write the final answer between <answer> and </answer>, like this:\n" +
    "<think>how you get there</think>\n<answer>the answer</answer>\n" +
    "The second part holds only the answer itself; where the question shows an example of an " +
    "answer, write yours in the same form.",
  default:
    "Work on the question step by step. When you know the result, write it between <answer> and " +
    "</answer>. Put no explanation between these tags, and where the question shows an example " +
    "of an answer, write yours in the same form.",
  simple: "Write your final answer between <answer> and </answer>.",
  direct: "Reply with the final answer and nothing else, between <answer> and </answer>. Do not " +
    "explain it and do not show any steps.",
  gsm8k: "You are a mathematical assistant. Solve the problem step by step and show your steps " +
    `between ${TAGS.workStart} and ${TAGS.workEnd}. Then give the final number, ` +
    `and only the number, between ${TAGS.solutionStart} and ${TAGS.solutionEnd}. Be precise.`,
  chain_of_draft:
    "Think step by step, but note no more than five words for each step. Then write the " +
    "final answer between <answer> and </answer>.",
};

/**
 * The text of a system prompt, given by its name or as the text itself.
 * @throws UsageError for a misspelt name
 */
export function systemPromptText(nameOrText: string): string {
  if (Object.hasOwn(SYSTEM_PROMPTS, nameOrText)) return SYSTEM_PROMPTS[nameOrText]!;
  const meant = /^\w+$/.test(nameOrText) ? didYouMean(nameOrText, Object.keys(SYSTEM_PROMPTS)) : "";
  if (meant === "") return nameOrText;
  throw new UsageError(`system prompt ${JSON.stringify(nameOrText)}: no such name${meant}`, {
    advice: `Names: ${Object.keys(SYSTEM_PROMPTS).join(", ")}. A text ends with a full stop.`,
  });
}

/**
 * Renders messages as the model expects them, up to where the assistant begins to write. null: the
 * model has no template.
 */
export type ChatTemplate = (messages: ChatMessage[]) => string | null;

/** A question, and the settings of its prompt. */
export interface PromptOptions {
  /** The text of the problem. */
  question: string;
  /** A name of {@link SYSTEM_PROMPTS}, a text, or null for none. */
  systemPrompt?: string | null;
  /** Put the instruction about `<answer>` before the question; default: without a system prompt. */
  addInstructions?: boolean;
  /**
   * Makes one text of the messages. Null or absent: the system's text, an empty line, the user's.
   */
  chatTemplate?: ChatTemplate | null;
}

/**
 * The whole prompt. Without a chat template it is plain text: the system prompt, an empty line and
 * the user's message.
 */
export function renderPrompt(
  { question, systemPrompt = null, addInstructions, chatTemplate = null }: PromptOptions,
): string {
  if (question === "") throw new UsageError("a prompt needs a question, found an empty one");
  const user = formatQuestion(question, {
    addInstructions: addInstructions ?? systemPrompt === null,
  });
  const system = systemPrompt === null ? null : systemPromptText(systemPrompt);
  const messages: ChatMessage[] = [{ role: "user", content: user }];
  if (system !== null) messages.unshift({ role: "system", content: system });
  return chatTemplate?.(messages) ?? (system === null ? user : `${system}\n\n${user}`);
}
