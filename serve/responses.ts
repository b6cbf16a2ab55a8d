/**
 * POST /v1/responses: the newer API of OpenAI, for text and functions. A request becomes that of a
 * chat; its answer becomes a list of items. Nothing is kept between requests.
 */
import type { CallPiece } from "../models/tokenizers/dialects/call_pieces.ts";
import type { AnswerDelta } from "../models/tokenizers/dialects/dialect.ts";
import { answerAll, checkPrompts, type Desk, type PromptAnswer } from "./answer.ts";
import { type ChatRequest, chatRequest } from "./chat.ts";
import { ApiError } from "./api_error.ts";
import type { Choice } from "./choice.ts";
import type { Send } from "./event_stream.ts";
import { Fields } from "./fields.ts";
import type { ServedModel } from "./model_host.ts";
import type { Limits } from "./prompt_tokens.ts";
import { type ApiCall, ApiCalls, wholeCall } from "./tools.ts";
import { newId, usageOf } from "./usage.ts";

export interface ResponseRequest extends ChatRequest {
  /** Fields of the request that the answer repeats. */
  repeated: Record<string, unknown>;
}

/** Fields that have another form in a chat. */
const TRANSLATED = ["input", "instructions", "tools", "tool_choice", "max_output_tokens", "text"];
/** Fields that ask for something that is kept on the server. */
const KEPT = ["previous_response_id", "conversation", "background", "prompt"];

/** Checks a body. @throws ApiError */
export function responseRequest(
  fields: Fields,
  model: ServedModel,
  limits: Limits,
): ResponseRequest {
  for (const name of KEPT) {
    fields.refuse(name, "the server keeps nothing between requests: send the whole conversation");
  }
  const truncation = fields.string("truncation") ?? "disabled";
  if (truncation !== "disabled") throw fields.wrong("truncation", '"disabled"');
  const others = fields.entries.filter(([name]) =>
    ![...TRANSLATED, "stream_options", "top_logprobs", "n"].includes(name)
  );
  const instructions = fields.string("instructions");
  const body = Object.fromEntries(others);
  body["messages"] = [
    ...instructions === undefined ? [] : [{ role: "system", content: instructions }],
    ...messagesOf(fields),
  ];
  body["tools"] = toolsOf(fields);
  body["tool_choice"] = choiceOf(fields);
  if (fields.has("max_output_tokens")) {
    body["max_tokens"] = fields.integer("max_output_tokens", [1, Number.MAX_SAFE_INTEGER], 1);
  }
  body["response_format"] = formatOf(fields);
  const request = renamed(() => chatRequest(Fields.of(body), model, limits));
  const { sampling } = request.task;
  const repeat = (name: string, absent: unknown) => [name, fields.raw(name) ?? absent] as const;
  return {
    ...request,
    repeated: {
      instructions: instructions ?? null,
      max_output_tokens: fields.raw("max_output_tokens") ?? null,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      truncation,
      previous_response_id: null,
      store: false,
      ...Object.fromEntries([
        repeat("tools", []),
        repeat("tool_choice", "auto"),
        repeat("parallel_tool_calls", true),
        repeat("text", { format: { type: "text" } }),
        repeat("reasoning", { effort: null, summary: null }),
        repeat("metadata", {}),
        repeat("user", null),
      ]),
    },
  };
}

/** Errors name the fields of a response, not those of a chat. */
function renamed<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, message, details } = error;
    const name = (text: string) =>
      text.replaceAll(/(tools\[\d+\]|tool_choice)\.function/g, "$1")
        .replaceAll("max_tokens", "max_output_tokens").replaceAll("response_format", "text.format");
    const { param } = details;
    const named = param === undefined ? details : { ...details, param: name(param) };
    throw new ApiError(status, type, name(message), named);
  }
}

/** The messages of a chat that items stand for. */
function messagesOf(fields: Fields): object[] {
  const input = fields.raw("input");
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (!Array.isArray(input) || input.length === 0) {
    throw fields.wrong("input", "a text, or a list of items that is not empty");
  }
  const messages: { role: string; tool_calls?: object[]; [name: string]: unknown }[] = [];
  /** What an assistant thought, said and called in turn is one message. */
  const assistant = (...before: string[]) => {
    const last = messages.at(-1);
    if (last?.role === "assistant" && before.every((name) => !(name in last))) return last;
    const made = { role: "assistant" };
    messages.push(made);
    return made as typeof messages[number];
  };
  input.forEach((one, i) => {
    const item = Fields.of(one, `input[${i}].`), type = item.string("type") ?? "message";
    switch (type) {
      case "message": {
        const role = item.string("role");
        const known = ["system", "developer", "user", "assistant"];
        if (role === undefined || !known.includes(role)) throw item.wrong("role", known.join(", "));
        const content = textOf(item, "content", `input[${i}]`);
        if (role !== "assistant") messages.push({ role, content });
        else Object.assign(assistant("content", "tool_calls"), { content });
        break;
      }
      case "function_call": {
        const name = item.string("name"), id = item.string("call_id");
        if (name === undefined) throw item.wrong("name", "the name of a tool");
        const call = { id, type: "function", function: { name, arguments: item.raw("arguments") } };
        const message = assistant();
        message.tool_calls = [...message.tool_calls ?? [], call];
        break;
      }
      case "function_call_output":
        messages.push({
          role: "tool",
          tool_call_id: item.string("call_id"),
          content: textOf(item, "output", `input[${i}]`),
        });
        break;
      case "reasoning": {
        const text = item.has("content") ? textOf(item, "content", `input[${i}]`) : "";
        if (text !== "") messages.push({ role: "assistant", reasoning_content: text });
        break;
      }
      default:
        throw item.wrong("type", "message, function_call, function_call_output or reasoning");
    }
  });
  return messages.map((message) =>
    message.role === "assistant" ? { content: "", ...message } : message
  );
}

/** Types of parts with a text. */
const TEXTS = ["input_text", "output_text", "reasoning_text", "text"];

/** A text, which may have several parts. @param path of the item */
function textOf(item: Fields, name: string, path: string): string {
  const content = item.raw(name);
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw item.wrong(name, "a text, or a list of text parts");
  return content.map((one, i) => {
    const part = Fields.of(one, `${path}.${name}[${i}].`), text = part.string("text");
    if (!TEXTS.includes(part.string("type") ?? "")) {
      throw part.wrong("type", `${TEXTS.slice(0, 2).join(" or ")}: the model reads nothing else`);
    }
    if (text === undefined) throw part.wrong("text", "a string");
    return text;
  }).join("");
}

/** Tools have their fields a level higher than in chats. */
function toolsOf(fields: Fields): object[] {
  const list = fields.raw("tools") ?? [];
  if (!Array.isArray(list)) throw fields.wrong("tools", "a list of tools");
  return list.map((one, i) => {
    const tool = Fields.of(one, `tools[${i}].`), type = tool.raw("type");
    if (type !== "function") throw tool.wrong("type", '"function"');
    const { type: _, ...called } = one as Record<string, unknown>;
    return { type, function: called };
  });
}

function choiceOf(fields: Fields): unknown {
  const choice = fields.raw("tool_choice");
  if (typeof choice !== "object") return choice;
  const chosen = fields.object("tool_choice")!, name = chosen.string("name");
  if (chosen.raw("type") === "function" && name !== undefined) {
    return { type: "function", function: { name } };
  }
  throw fields.wrong("tool_choice", 'none, auto, required or {"type": "function", "name": …}');
}

function formatOf(fields: Fields): object | undefined {
  const format = fields.object("text")?.object("format");
  if (format === undefined) return undefined;
  const { type, ...described } = Object.fromEntries(format.entries);
  if (type === "json_schema") return { type, json_schema: described };
  if (type === "text" || type === "json_object") return { type };
  throw format.wrong("type", "text, json_object or json_schema");
}

/** The events that say how an answer grows, and the items that it has. */
class Output {
  readonly items: object[] = [];
  #text = "";
  /** The item whose text grows. */
  #open: { kind: "message" | "reasoning"; id: string } | null = null;
  /** The call that grows. */
  #called: { id: string; type: "function_call"; call_id: string; name: string } | null = null;

  constructor(private readonly send: Send, private readonly calls: ApiCalls | null) {}

  add(delta: AnswerDelta): void {
    if ("content" in delta) this.#grow("message", delta.content);
    else if ("reasoning" in delta) this.#grow("reasoning", delta.reasoning);
    else {
      const call = this.calls?.add(delta.call) ?? null;
      if (call !== null) this.#call(call, delta.call);
    }
  }

  /** @param isWhole whether the answer was not cut */
  end(isWhole: boolean): void {
    const isEmpty = this.#open === null && this.#called === null && this.items.length === 0;
    if (isEmpty) this.#grow("message", "");
    this.#close(isWhole ? "completed" : "incomplete");
  }

  #grow(kind: "message" | "reasoning", text: string): void {
    if (this.#open?.kind !== kind) {
      this.#close("completed");
      this.#open = { kind, id: newId(kind === "message" ? "msg_" : "rs_") };
      this.#text = "";
      this.#send("output_item.added", { item: this.#item("in_progress", []) });
      this.#send("content_part.added", { ...this.#place, part: part(kind, "") });
    }
    this.#text += text;
    if (text === "") return;
    const more = kind === "message" ? { logprobs: [] } : {};
    this.#send(`${name(kind)}.delta`, { ...this.#place, delta: text, ...more });
  }

  #close(status: "completed" | "incomplete"): void {
    this.#endCall("incomplete");
    if (this.#open === null) return;
    const { kind } = this.#open, text = this.#text, place = this.#place, whole = part(kind, text);
    const more = kind === "message" ? { logprobs: [] } : {};
    this.#send(`${name(kind)}.done`, { ...place, text, ...more });
    this.#send("content_part.done", { ...place, part: whole });
    const item = this.#item(status, [whole]);
    this.#send("output_item.done", { item });
    this.items.push(item);
    this.#open = null;
  }

  /** @param piece the newest one of the call */
  #call({ id: call_id, function: { name } }: ApiCall, piece: CallPiece): void {
    if (piece.name !== undefined) {
      this.#close("completed");
      this.#called = { id: newId("fc_"), type: "function_call", call_id, name };
      this.#text = "";
      const item = { ...this.#called, arguments: "", status: "in_progress" };
      this.#send("output_item.added", { item });
    }
    const item_id = this.#called!.id, delta = piece.arguments;
    this.#text += delta;
    if (delta !== "") this.#send("function_call_arguments.delta", { item_id, delta });
    if (piece.isWhole) this.#endCall("completed");
  }

  /** A call that is incomplete broke off. */
  #endCall(status: "completed" | "incomplete"): void {
    if (this.#called === null) return;
    const called = { name: this.#called.name, arguments: this.#text };
    this.#send("function_call_arguments.done", { item_id: this.#called.id, ...called });
    const item = { ...this.#called, ...called, status };
    this.#send("output_item.done", { item });
    this.items.push(item);
    this.#called = null;
  }

  get #place() {
    return { item_id: this.#open!.id, content_index: 0 };
  }

  #item(status: string, content: readonly object[]): object {
    const { kind, id } = this.#open!;
    return kind === "message"
      ? { id, type: "message", status, role: "assistant", content }
      : { id, type: "reasoning", status, summary: [], content };
  }

  #send(type: string, fields: object): void {
    this.send({ type: `response.${type}`, output_index: this.items.length, ...fields });
  }
}

function name(kind: "message" | "reasoning"): string {
  return kind === "message" ? "output_text" : "reasoning_text";
}

function part(kind: "message" | "reasoning", text: string): object {
  const more = kind === "message" ? { annotations: [], logprobs: [] } : {};
  return { type: name(kind), text, ...more };
}

/** Begins a response. @returns what makes its object */
function begin({ id: model }: ServedModel, { repeated }: ResponseRequest) {
  const head = {
    id: newId("resp_"),
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    model,
  };
  return (status: string, output: readonly object[], more: object = {}) => ({
    ...head,
    status,
    error: null,
    incomplete_details: null,
    output,
    usage: null,
    ...repeated,
    ...more,
  });
}

/** The fields of a response that has ended. */
function ending(choice: Choice, answers: readonly PromptAnswer[]): [string, object] {
  const { prompt_tokens: input, completion_tokens: output, total_tokens } = usageOf(answers);
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  };
  return choice.finishReason === "stop"
    ? ["completed", { usage }]
    : ["incomplete", { usage, incomplete_details: { reason: "max_output_tokens" } }];
}

export async function respond(
  desk: Desk,
  model: ServedModel,
  request: ResponseRequest,
  signal: AbortSignal,
) {
  checkPrompts(desk, request.task.prompts);
  const made = begin(model, request), { use } = request;
  const answers = await answerAll(desk, model, request.task, signal);
  const choice = answers[0]!.choices[0]!, { reasoning, content, toolCalls } = choice.answer;
  const output = new Output(() => {}, use === null ? null : new ApiCalls(use));
  if (reasoning !== undefined) output.add({ reasoning });
  if (content !== "") output.add({ content });
  for (const call of toolCalls) output.add({ call: wholeCall(call) });
  output.end(choice.finishReason === "stop");
  const [status, more] = ending(choice, answers);
  return made(status, output.items, more);
}

/** Sends the answer while it comes. */
export async function streamResponse(
  desk: Desk,
  model: ServedModel,
  request: ResponseRequest,
  signal: AbortSignal,
  send: Send,
): Promise<void> {
  checkPrompts(desk, request.task.prompts);
  const made = begin(model, request), { use } = request;
  let number = 0;
  const event: Send = (fields) => send({ ...fields, sequence_number: number++ });
  const output = new Output(event, use === null ? null : new ApiCalls(use));
  const answers = await answerAll(desk, model, request.task, signal, {
    begin() {
      event({ type: "response.created", response: made("in_progress", []) });
      event({ type: "response.in_progress", response: made("in_progress", []) });
    },
    part(_, __, choice, { token, deltas }) {
      for (const delta of deltas) output.add(delta);
      if (token === null) output.end(choice.finishReason === "stop");
    },
  });
  const [status, more] = ending(answers[0]!.choices[0]!, answers);
  event({ type: `response.${status}`, response: made(status, output.items, more) });
}
