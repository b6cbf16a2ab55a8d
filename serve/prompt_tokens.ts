/** Turns the texts and messages of requests into token ids, within limits. */
import type { ChatMessage, ToolCall } from "../core/chat_message.ts";
import type { LocalTime } from "../core/local_time.ts";
import { type ChatEnding, checkVariables } from "../models/tokenizers/chat_template.ts";
import { dialectOf } from "../models/tokenizers/dialects/dialect.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { badRequest } from "./api_error.ts";
import { Fields } from "./fields.ts";
import type { LogprobsMode } from "./logprobs_json.ts";
import type { SamplingDefaults } from "./sampling_fields.ts";
import { begunCall, callsOf, type ToolUse, withTools } from "./tools.ts";

/** Limits on what one request may ask for. */
export interface Limits {
  maxModelLength: number;
  maxN: number;
  maxChoices: number;
  /** Maximum number of alternatives per token. */
  maxLogprobs: number;
  logprobsMode: LogprobsMode;
  defaults: SamplingDefaults;
  /** What chat templates that read a clock are told; default: the clock. */
  time?: LocalTime | undefined;
}

/** Those of the OpenAI API. */
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

export interface ChatPrompt {
  ids: number[];
  /** The text that the answer follows, and may have begun in; "" where it goes on in a message. */
  before: string;
}

/** The messages of a chat, rendered by the model's template. */
export function chatPrompt(
  fields: Fields,
  tokenizer: Tokenizer,
  limits: Limits,
  use: ToolUse | null,
): ChatPrompt {
  const { messages, tools } = withTools(messagesOf(fields, tokenizer), use);
  fields.refuse("chat_template", "messages are rendered by the model's own template");
  // As vLLM does, a client asks models of different templates with the same values.
  const isRead = ([name]: [string, unknown]) => tokenizer.chatVariables?.has(name) ?? false;
  const given = fields.object("chat_template_kwargs")?.entries ?? [];
  const variables = Object.fromEntries(given.filter(isRead));
  checkVariables(variables, tokenizer.chatVariables, "chat_template_kwargs");
  const ending = endingOf(fields, messages), all = { ...variables, tools };
  const text = tokenizer.applyChatTemplate(messages, all, limits.time, ending);
  if (text === null) {
    throw badRequest("the model has no chat template; use /v1/completions", "messages");
  }
  const prompt = use === null || ending !== "answer" ? text : begunCall(text, use);
  return {
    ids: tokensOf(prompt, tokenizer, limits, { addSpecialTokens: false }),
    before: ending === "answer" ? prompt : "",
  };
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

/** The messages of a request. @throws ApiError */
export function messagesOf(fields: Fields, tokenizer: Tokenizer): ChatMessage[] {
  const list = fields.raw("messages");
  if (!Array.isArray(list) || list.length === 0) {
    throw fields.wrong("messages", "a list of messages that is not empty");
  }
  /** The tools that were called, by the id of the call. */
  const called = new Map<string, string>();
  return list.map((item, i) => {
    const path = `messages[${i}]`, message = Fields.of(item, `${path}.`);
    const role = message.string("role");
    if (role === undefined || !ROLES.includes(role)) throw message.wrong("role", ROLES.join(", "));
    const more = message.string("reasoning_content"), calls = callsOf(message, path);
    for (const { id = "", function: { name } } of calls) called.set(id, name);
    if (calls.length > 0 && role !== "assistant") {
      throw badRequest(`${path}.tool_calls: only the assistant calls tools`, `${path}.tool_calls`);
    }
    const id = message.string("tool_call_id"), name = message.string("name");
    const tool = role === "tool" ? name ?? called.get(id ?? "") : undefined;
    const isEmpty = calls.length > 0 && !message.has("content");
    const content = isEmpty ? "" : textOf(message, "content", `${path}.content`);
    return {
      role: role === "developer" ? "system" : role,
      ...shownCalls(content, calls, tokenizer),
      ...(more === undefined ? {} : { reasoning_content: more }),
      ...(id === undefined ? {} : { tool_call_id: id }),
      ...(tool === undefined ? {} : { name: tool }),
    };
  });
}

/** Content and calls of a message. A template that drops calls gets them in the content. */
function shownCalls(
  content: string,
  calls: readonly ToolCall[],
  tokenizer: Tokenizer,
): Pick<ChatMessage, "content" | "tool_calls"> {
  if (calls.length === 0) return { content };
  if (dialectOf(tokenizer).canShowTools) return { content, tool_calls: calls };
  const text = JSON.stringify(calls.map((call) => call.function));
  return { content: content === "" ? text : `${content}\n${text}` };
}

/**
 * A text of a request, which may have several parts.
 * @param path of the field
 * @param types those of parts with a text, the usual ones first
 */
export function textOf(
  fields: Fields,
  name: string,
  path: string,
  types: readonly string[] = ["text"],
): string {
  const content = fields.raw(name);
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw fields.wrong(name, "a text, or a list of text parts");
  return content.map((item, i) => {
    const part = Fields.of(item, `${path}[${i}].`), text = part.string("text");
    if (!types.includes(part.string("type") ?? "")) {
      const usual = types.slice(0, 2).map((type) => `"${type}"`).join(" or ");
      throw part.wrong("type", `${usual}: the model reads nothing else`);
    }
    if (text === undefined) throw part.wrong("text", "a string");
    return text;
  }).join("");
}
