/** What all kinds of answers share: their ids, how they are sent, and what they have used. */
import type { PromptAnswer } from "./answer.ts";
import { badRequest } from "./api_error.ts";
import type { Fields } from "./fields.ts";

export interface StreamFields {
  isOn: boolean;
  includeUsage: boolean;
  /** Whether every chunk says what has been used so far, as vLLM can do. */
  continuousUsage: boolean;
}

/** A new id, such as "chatcmpl-…". @param prefix with what joins it to the rest */
export function newId(prefix: string): string {
  return prefix + crypto.randomUUID().replaceAll("-", "");
}

export function streamFields(fields: Fields): StreamFields {
  const isOn = fields.boolean("stream", false), options = fields.object("stream_options");
  if (options !== undefined && !isOn) {
    throw badRequest("stream_options needs stream: true", "stream_options");
  }
  if (isOn && fields.has("prompt_logprobs")) {
    throw badRequest("prompt_logprobs are in whole answers only: stream: false", "prompt_logprobs");
  }
  return {
    isOn,
    includeUsage: options?.boolean("include_usage", false) ?? false,
    continuousUsage: options?.boolean("continuous_usage_stats", false) ?? false,
  };
}

/** The `usage` of the chunks of a stream. @param answers those that have begun */
export function chunkUsage(stream: StreamFields, answers: readonly PromptAnswer[]) {
  if (!stream.includeUsage) return {};
  return { usage: stream.continuousUsage ? usageOf(answers) : null };
}

/** Every prompt is counted once, and stop tokens count as tokens of the completion. */
export function usageOf(answers: readonly PromptAnswer[]) {
  const sum = (count: (answer: PromptAnswer) => number) =>
    answers.reduce((total, answer) => total + count(answer), 0);
  const prompt = sum(({ promptIds }) => promptIds.length);
  const completion = sum(({ choices }) => choices.reduce((n, { ids }) => n + ids.length, 0));
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}
