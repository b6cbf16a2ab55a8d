/**
 * From a problem to what a model reads: messages for a remote model, token ids for a local one. The question's
 * own part is data/prompt.ts, as in training; worked examples come before it, in the same message or as turns of
 * a conversation.
 */
import { UsageError } from "../../core/errors.ts";
import {
  type ChatMessage,
  formatQuestion,
  renderPrompt,
  systemPromptText,
} from "../../data/prompt.ts";
import { workedAnswer } from "../../data/worked_answer.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { Entry } from "../../tasks/types.ts";
import type { PromptSettings } from "../results/result_file.ts";
import type { TestSet } from "../types.ts";

export const DEFAULT_PROMPT: PromptSettings = {
  system_prompt: null,
  add_instructions: true,
  format: "chat",
  few_shot: 0,
  few_shot_as: "prompt",
  from: "default",
};

export function hasChatTemplate(tokenizer: Tokenizer): boolean {
  return tokenizer.applyChatTemplate([{ role: "user", content: "?" }]) !== null;
}

/** The messages of a chat. */
export function chatMessages(
  entry: Entry,
  shots: TestSet["shots"],
  s: PromptSettings,
): ChatMessage[] {
  const options = { addInstructions: s.add_instructions };
  const messages: ChatMessage[] = [];
  if (s.system_prompt !== null) {
    messages.push({ role: "system", content: systemPromptText(s.system_prompt) });
  }
  if (s.few_shot_as === "turns") {
    for (const shot of shotsFor(entry, shots, s)) {
      messages.push({ role: "user", content: formatQuestion(shot.question, options) });
      messages.push({ role: "assistant", content: workedAnswer(shot, s.system_prompt) });
    }
  }
  messages.push({ role: "user", content: formatQuestion(withShots(entry, shots, s), options) });
  return messages;
}

/** The whole prompt as text: by a chat template, or plain. */
export function promptText(
  entry: Entry,
  shots: TestSet["shots"],
  settings: PromptSettings,
  template: ((messages: ChatMessage[]) => string | null) | null,
): string {
  const { few_shot_as: shotsAs, system_prompt: systemPrompt } = settings;
  if (shotsAs === "turns" && shots.length > 0) {
    const text = template?.(chatMessages(entry, shots, settings)) ?? null;
    if (text !== null) return text;
    throw new UsageError("worked examples as turns need a chat template, and the model has none", {
      advice: "put them into one prompt: --few-shot-as prompt",
    });
  }
  return renderPrompt({
    question: withShots(entry, shots, settings),
    systemPrompt,
    addInstructions: settings.add_instructions,
    chatTemplate: template,
  });
}

/** Token ids of the prompt; the settings' format decides whether the tokenizer's chat template is used. */
export function promptIds(
  entry: Entry,
  shots: TestSet["shots"],
  settings: PromptSettings,
  tokenizer: Tokenizer,
): number[] {
  const isChat = settings.format === "chat";
  const text = promptText(
    entry,
    shots,
    settings,
    isChat ? (messages) => tokenizer.applyChatTemplate(messages) : null,
  );
  // A chat template writes its own special tokens.
  return tokenizer.encode(text, { addSpecialTokens: !isChat });
}

function withShots(entry: Entry, shots: TestSet["shots"], settings: PromptSettings): string {
  const own = shotsFor(entry, shots, settings);
  if (settings.few_shot_as === "turns" || own.length === 0) return entry.question;
  const { system_prompt: system } = settings;
  const worked = own.map((shot) => `${shot.question}\n${workedAnswer(shot, system)}`);
  return [...worked, entry.question].join("\n\n");
}

/** Worked examples that do not give the answer away: other keys of a task can draw the same question. */
function shotsFor(
  { question }: Entry,
  shots: TestSet["shots"],
  { few_shot: count }: PromptSettings,
): readonly Entry[] {
  return shots.filter((shot) => shot.question !== question).slice(0, count);
}
