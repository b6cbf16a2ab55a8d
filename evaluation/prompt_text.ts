/**
 * Writes the prompt of a problem, as a text or as the messages of a chat. A remote model gets the
 * messages; for a local model prompt_encoder.ts turns the text into token ids. The instruction and
 * the system prompt come from data/prompt.ts. Worked examples stand before the question, in the
 * same message or as earlier turns of the conversation.
 */
import { UsageError } from "../core/errors.ts";
import {
  type ChatMessage,
  type ChatTemplate,
  formatQuestion,
  renderPrompt,
  systemPromptText,
} from "../data/prompt.ts";
import { workedAnswer } from "../data/worked_answer.ts";
import type { Entry } from "../tasks/types.ts";
import type { PromptSettings } from "./prompt_settings.ts";

/**
 * The prompt as messages of a chat.
 * @param shots candidates for worked examples; the first `few_shot` with another question are used
 */
export function promptMessages(
  entry: Entry,
  shots: readonly Entry[],
  settings: PromptSettings,
): ChatMessage[] {
  const { system_prompt: systemPrompt } = settings;
  const options = { addInstructions: settings.add_instructions };
  const messages: ChatMessage[] = [];
  if (systemPrompt !== null) {
    messages.push({ role: "system", content: systemPromptText(systemPrompt) });
  }
  if (settings.few_shot_as === "turns") {
    for (const shot of examplesFor(entry, shots, settings)) {
      messages.push({ role: "user", content: formatQuestion(shot.question, options) });
      messages.push({ role: "assistant", content: workedAnswer(shot, systemPrompt) });
    }
  }
  const question = questionWithExamples(entry, shots, settings);
  messages.push({ role: "user", content: formatQuestion(question, options) });
  return messages;
}

/**
 * The prompt as one text.
 * @param template the chat template; null = plain text
 * @throws UsageError when worked examples are to be turns and there is no template
 */
export function promptText(
  entry: Entry,
  shots: readonly Entry[],
  settings: PromptSettings,
  template: ChatTemplate | null,
): string {
  if (settings.few_shot_as === "turns" && shots.length > 0) {
    const text = template?.(promptMessages(entry, shots, settings)) ?? null;
    if (text !== null) return text;
    throw new UsageError("worked examples as turns need a chat template, and the model has none", {
      advice: "put them into one prompt: --few-shot-as prompt",
    });
  }
  return renderPrompt({
    question: questionWithExamples(entry, shots, settings),
    systemPrompt: settings.system_prompt,
    addInstructions: settings.add_instructions,
    chatTemplate: template,
  });
}

/** The question, after the worked examples where these are part of the user's message. */
function questionWithExamples(
  entry: Entry,
  shots: readonly Entry[],
  settings: PromptSettings,
): string {
  const examples = examplesFor(entry, shots, settings);
  if (settings.few_shot_as === "turns" || examples.length === 0) return entry.question;
  const worked = examples.map((example) =>
    `${example.question}\n${workedAnswer(example, settings.system_prompt)}`
  );
  return [...worked, entry.question].join("\n\n");
}

/** A problem is never its own example: two keys of a task can draw the same question. */
function examplesFor(
  { question }: Entry,
  shots: readonly Entry[],
  { few_shot: count }: PromptSettings,
): readonly Entry[] {
  return shots.filter((shot) => shot.question !== question).slice(0, count);
}
