/** Turns the texts and messages of requests into token ids, within limits. */
import type { ChatMessage } from "../core/chat_message.ts";
import { type ChatEnding, checkVariables } from "../models/tokenizers/chat_template.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { badRequest } from "./api_error.ts";
import { Fields } from "./fields.ts";
import type { LogprobsMode } from "./logprobs_modes.ts";
import type { SamplingDefaults } from "./sampling_fields.ts";

/** Limits on what one request may ask for. */
export interface Limits {
  maxModelLength: number;
  maxN: number;
  maxChoices: number;
  /** Maximum number of alternatives per token. */
  maxLogprobs: number;
  logprobsMode: LogprobsMode;
  defaults: SamplingDefaults;
}

/** Those of the OpenAI API, without functions that are called. */
const ROLES: readonly string[] = ["system", "developer", "user", "assistant", "tool"];

/**
 * A text with more characters for each position of the context is refused before it is split into
 * tokens, which would take long.
 */
export const MAX_CHARACTERS_PER_TOKEN = 32;

/** @throws ApiError for a text that is far too long */
export function tokensOf(
  text: string,
  tokenizer: Tokenizer,
  { maxModelLength }: Pick<Limits, "maxModelLength">,
  options: { addSpecialTokens: boolean },
): number[] {
  if (text.length > MAX_CHARACTERS_PER_TOKEN * maxModelLength) {
    throw badRequest(
      `the prompt has ${text.length} characters, far more than the ${maxModelLength} tokens of ` +
        "the context",
      "prompt",
      "context_length_exceeded",
    );
  }
  return tokenizer.encode(text, options);
}

/**
 * Reads `truncate_prompt_tokens`: so many of a prompt's last tokens are taken.
 * @returns what does that
 */
export function truncation(
  fields: Fields,
  { maxModelLength }: Pick<Limits, "maxModelLength">,
): (ids: number[]) => number[] {
  const name = "truncate_prompt_tokens";
  if (!fields.has(name)) return (ids) => ids;
  const given = fields.integer(name, [-1, maxModelLength - 1], 0);
  if (given === 0) throw fields.wrong(name, `-1, or an integer 1 … ${maxModelLength - 1}`);
  return (ids) => ids.slice(-(given < 0 ? maxModelLength - 1 : given));
}

/** The messages of a chat, rendered by the model's template, as token ids. */
export function chatTokens(fields: Fields, tokenizer: Tokenizer, limits: Limits): number[] {
  const messages = messagesOf(fields);
  for (const name of ["tools", "tool_choice", "functions", "function_call", "documents"]) {
    if (fields.raw(name) === "none") continue;
    fields.refuse(name, "the server calls no tools");
  }
  fields.refuse("chat_template", "messages are rendered by the model's own template");
  // As vLLM does, a client asks models of different templates with the same values.
  const isRead = ([name]: [string, unknown]) => tokenizer.chatVariables?.has(name) ?? false;
  const given = fields.object("chat_template_kwargs")?.entries ?? [];
  const variables = Object.fromEntries(given.filter(isRead));
  checkVariables(variables, tokenizer.chatVariables, "chat_template_kwargs");
  const ending = endingOf(fields, messages);
  const text = tokenizer.applyChatTemplate(messages, variables, undefined, ending);
  if (text === null) {
    throw badRequest("the model has no chat template; use /v1/completions", "messages");
  }
  return tokensOf(text, tokenizer, limits, { addSpecialTokens: false });
}

function endingOf(fields: Fields, messages: readonly ChatMessage[]): ChatEnding {
  const isContinued = fields.boolean("continue_final_message", false);
  const generates = fields.boolean("add_generation_prompt", !isContinued);
  if (!isContinued) return generates ? "answer" : "message";
  if (generates) {
    throw badRequest(
      "continue_final_message and add_generation_prompt exclude each other",
      "continue_final_message",
    );
  }
  if (messages.at(-1)!.role !== "assistant") {
    throw badRequest(
      "continue_final_message: the last message is not the assistant's",
      "continue_final_message",
    );
  }
  return "within";
}

function messagesOf(fields: Fields): ChatMessage[] {
  const list = fields.raw("messages");
  if (!Array.isArray(list) || list.length === 0) {
    throw fields.wrong("messages", "a list of messages that is not empty");
  }
  return list.map((item, i) => {
    const message = Fields.of(item, `messages[${i}].`), role = message.string("role");
    if (role === undefined || !ROLES.includes(role)) throw message.wrong("role", ROLES.join(", "));
    message.refuse("tool_calls", "the server calls no tools");
    const more = message.string("reasoning_content");
    return {
      role: role === "developer" ? "system" : role,
      content: contentOf(message, `messages[${i}].content`),
      ...(more === undefined ? {} : { reasoning_content: more }),
    };
  });
}

/** The text of a message, of which it may have several parts. */
function contentOf(message: Fields, path: string): string {
  const content = message.raw("content");
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw message.wrong("content", "a text, or a list of text parts");
  return content.map((item, i) => {
    const part = Fields.of(item, `${path}[${i}].`), type = part.raw("type");
    if (type !== "text") throw part.wrong("type", '"text": the model reads nothing else');
    const text = part.string("text");
    if (text === undefined) throw part.wrong("text", "a string");
    return text;
  }).join("");
}
