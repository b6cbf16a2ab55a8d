/** What all kinds of requests share: how answers are written, in chunks too, and what was used. */
import type { Listener, PromptAnswer, Task } from "./answer.ts";
import { badRequest, now } from "./api_error.ts";
import type { Send } from "./event_stream.ts";
import type { Fields } from "./fields.ts";
import type { ServedModel } from "./model_host.ts";

/** A request: what is generated for it, and how its answer is written. */
export interface ServedRequest {
  task: Task;
  stream: StreamFields;
  /** What is done otherwise than asked. */
  notes: readonly string[];
  /** The body of a whole answer. */
  whole(model: ServedModel, answers: readonly PromptAnswer[]): object;
  /** Sends the answer while it comes. */
  parts(model: ServedModel, send: Send): Parts;
}

/** Where the parts of an answer go, and what ends it. */
export interface Parts extends Required<Listener> {
  end(answers: readonly PromptAnswer[]): void;
}

export interface StreamFields {
  isOn: boolean;
  includeUsage: boolean;
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
  };
}

/** A new id, such as "chatcmpl-…". @param prefix with what joins it to the rest */
export function newId(prefix: string): string {
  return prefix + crypto.randomUUID().replaceAll("-", "");
}

/** The beginning of an answer, and of each of its chunks. */
export function headOf(prefix: string, object: string, { id: model }: ServedModel) {
  return { id: newId(prefix), object, created: now(), model };
}

/** The chunks of a stream of OpenAI's completions and chats. */
export class Chunks {
  constructor(
    private readonly head: object,
    private readonly stream: StreamFields,
    private readonly send: Send,
  ) {}

  add(choice: object, more: object = {}): void {
    this.send({
      ...this.head,
      choices: [choice],
      ...this.stream.includeUsage && { usage: null },
      ...more,
    });
  }

  end(answers: readonly PromptAnswer[]): void {
    if (!this.stream.includeUsage) return;
    this.send({ ...this.head, choices: [], usage: usageOf(answers) });
  }
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
