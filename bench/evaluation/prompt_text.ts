/**
 * Writes the prompt of a problem, as a text or as the messages of a chat. A remote model gets the
 * messages; for a local model prompt_encoder.ts turns the text into token ids. The instruction and
 * the system prompt come from data/prompt.ts. Worked examples stand before the question, in the
 * same message or as earlier turns of the conversation. A problem that is a conversation itself
 * keeps its messages: a system prompt is added where it has none.
 */
import type { ChatMessage } from "../../core/chat_message.ts";
import { UsageError } from "../../core/errors.ts";
import { type ChatTemplate, formatQuestion, systemPromptText } from "../../data/prompt.ts";
import { workedAnswer } from "../../data/worked_answer.ts";
import type { Entry } from "../../tasks/types.ts";
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
  const options = { addInstructions: settings.add_instructions ?? entry.messages === undefined };
  if (entry.question === "") throw new UsageError("a prompt needs a question, found an empty one");
  const given = entry.messages ?? [{ role: "user", content: entry.question }];
  const isAsked = given.findLastIndex(({ role }) => role === "user");
  const turns = given.map((message, i) => {
    if (i !== isAsked) return message;
    const question = questionWithExamples(message.content, entry, shots, settings);
    return { ...message, content: formatQuestion(question, options) };
  });
  const isOwn = turns[0]?.role === "system" || turns[0]?.role === "developer";
  const messages: ChatMessage[] = isOwn ? [turns.shift()!] : [];
  if (systemPrompt !== null && messages.length === 0) {
    const role = settings.system_role ?? "system";
    messages.push({ role, content: systemPromptText(systemPrompt) });
  }
  if (settings.few_shot_as === "turns") {
    for (const shot of examplesFor(entry, shots, settings)) {
      messages.push({ role: "user", content: formatQuestion(shot.question, options) });
      messages.push({ role: "assistant", content: workedAnswer(shot, systemPrompt) });
    }
  }
  return [...messages, ...turns];
}

/**
 * The prompt as one text.
 * @param template the chat template; null = plain text: the system prompt, an empty line and the
 *   user's message
 * @throws UsageError when there is more than a question and no template
 */
export function promptText(
  entry: Entry,
  shots: readonly Entry[],
  settings: PromptSettings,
  template: ChatTemplate | null,
): string {
  const text = template?.(promptMessages(entry, shots, settings)) ?? null;
  if (text !== null) return withSystemPrompt(text, settings);
  const { system_role: _, ...plain } = settings, messages = promptMessages(entry, shots, plain);
  if (settings.few_shot_as === "turns" && shots.length > 0) {
    throw new UsageError("worked examples as turns need a chat template, and the model has none", {
      advice: "put them into one prompt: --few-shot-as prompt",
    });
  }
  const turns = messages.filter(({ role }) => role !== "system");
  if (turns.length > 1 || turns[0]?.role !== "user") {
    throw new UsageError(
      "a prompt of several turns needs a chat template, and the model is asked without one " +
        `(the roles: ${messages.map(({ role }) => role).join(", ")})`,
      {
        advice: "Take a model that has one, or name a template: model.chat_template=FILE. Where " +
          "the model has one, data.prompt_format=plain and --plain leave it out.",
      },
    );
  }
  return plainText(messages);
}

/**
 * A prompt as a template wrote it. Many templates write nothing for a role that they do not know.
 * @throws UsageError when the system prompt has another role, and is not in the text
 */
function withSystemPrompt(
  text: string,
  { system_prompt: prompt, system_role: role }: PromptSettings,
): string {
  const isLost = prompt !== null && role !== undefined && role !== "system" &&
    !text.includes(systemPromptText(prompt).trim());
  if (!isLost) return text;
  throw new UsageError(`the chat template writes nothing for the role "${role}"`, {
    advice: "The system prompt would be lost. Give it the role system or user.",
  });
}

/** The contents of messages, with empty lines between them. */
export function plainText(messages: readonly ChatMessage[]): string {
  return messages.map(({ content }) => content).join("\n\n");
}

/** The question, after the worked examples where these are part of the user's message. */
function questionWithExamples(
  question: string,
  entry: Entry,
  shots: readonly Entry[],
  settings: PromptSettings,
): string {
  const examples = examplesFor(entry, shots, settings);
  if (settings.few_shot_as === "turns" || examples.length === 0) return question;
  const worked = examples.map((example) =>
    `${example.question}\n${workedAnswer(example, settings.system_prompt)}`
  );
  return [...worked, question].join("\n\n");
}

/** A problem is never its own example: two keys of a task can draw the same question. */
function examplesFor(
  { question }: Entry,
  shots: readonly Entry[],
  { few_shot: count }: PromptSettings,
): readonly Entry[] {
  return shots.filter((shot) => shot.question !== question).slice(0, count);
}
