/**
 * POST /v1/responses: the newer API of OpenAI, for text and functions. A request becomes that of a
 * chat; its answer becomes a list of items. Nothing is kept between requests.
 */
import type { CallPiece } from "../models/tokenizers/dialects/call_pieces.ts";
import type { AnswerDelta } from "../models/tokenizers/dialects/dialect.ts";
import type { PromptAnswer } from "./answer.ts";
import { ApiError, now } from "./api_error.ts";
import { type ChatFields, chatFields } from "./chat.ts";
import type { Choice } from "./choice.ts";
import type { Send } from "./event_stream.ts";
import { Fields } from "./fields.ts";
import type { ServedModel } from "./model_host.ts";
import { type Limits, textOf } from "./prompt_tokens.ts";
import { newId, type Parts, type ServedRequest, usageOf } from "./request.ts";
import { ApiCalls, wholeCall } from "./tools.ts";

/** Fields that have another form in a chat. */
const TRANSLATED = ["input", "instructions", "tools", "tool_choice", "max_output_tokens", "text"];
/** Fields that ask for something that is kept on the server. */
const KEPT = ["previous_response_id", "conversation", "background", "prompt"];

/** Checks a body. @throws ApiError */
export function responseRequest(
  fields: Fields,
  model: ServedModel,
  limits: Limits,
): ServedRequest {
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
  const chat = renamed(() => chatFields(Fields.of(body), model, limits));
  const { sampling } = chat.task;
  const repeated = {
    instructions: instructions ?? null,
    max_output_tokens: fields.raw("max_output_tokens") ?? null,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    truncation,
    previous_response_id: null,
    store: false,
    tools: fields.raw("tools") ?? [],
    tool_choice: fields.raw("tool_choice") ?? "auto",
    parallel_tool_calls: fields.raw("parallel_tool_calls") ?? true,
    text: fields.raw("text") ?? { format: { type: "text" } },
    reasoning: fields.raw("reasoning") ?? { effort: null, summary: null },
    metadata: fields.raw("metadata") ?? {},
    user: fields.raw("user") ?? null,
  };
  const state = stateOf(model, repeated);
  return {
    ...chat,
    whole: (_, answers) => wholeAnswer(chat, state, answers),
    parts: (_, send) => partsOf(chat, state, send),
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
        const content = textOf(item, "content", `input[${i}].content`, TEXTS);
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
          content: textOf(item, "output", `input[${i}].output`, TEXTS),
        });
        break;
      case "reasoning": {
        const text = item.has("content")
          ? textOf(item, "content", `input[${i}].content`, TEXTS)
          : "";
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

/** A part of an answer: what the model says, what it thinks, or a call. */
interface Item {
  id: string;
  type: "message" | "reasoning" | "function_call";
  text: string;
  /** Of a call: its id for its result, and the tool. */
  called?: { call_id: string; name: string };
}

const PREFIXES = { message: "msg_", reasoning: "rs_", function_call: "fc_" } as const;
/** What the events of an item's text are called. */
const TEXT_EVENTS = {
  message: "output_text",
  reasoning: "reasoning_text",
  function_call: "function_call_arguments",
} as const;

type Status = "in_progress" | "completed" | "incomplete";

/** The events that say how an answer grows, and the items that it has. */
class Output {
  readonly items: object[] = [];
  /** The item whose text grows. */
  #open: Item | null = null;

  constructor(private readonly send: Send, private readonly calls: ApiCalls | null) {}

  add(delta: AnswerDelta): void {
    if ("content" in delta) this.#say("message", delta.content);
    else if ("reasoning" in delta) this.#say("reasoning", delta.reasoning);
    else this.#call(delta.call);
  }

  /** @param isWhole whether the answer was not cut */
  end(isWhole: boolean): void {
    if (this.#open === null && this.items.length === 0) this.#say("message", "");
    // A call that has not ended broke off.
    const isCall = this.#open?.type === "function_call";
    this.#close(isWhole && !isCall ? "completed" : "incomplete");
  }

  #say(type: "message" | "reasoning", text: string): void {
    if (this.#open?.type !== type) this.#begin(type);
    this.#grow(text);
  }

  #call(piece: CallPiece): void {
    const call = this.calls?.add(piece) ?? null;
    if (call === null) return;
    if (piece.name !== undefined) {
      this.#begin("function_call", { call_id: call.id, name: call.function.name });
    }
    this.#grow(piece.arguments);
    if (piece.isWhole) this.#close("completed");
  }

  #begin(type: Item["type"], called?: Item["called"]): void {
    this.#close(this.#open?.type === "function_call" ? "incomplete" : "completed");
    const item = { id: newId(PREFIXES[type]), type, text: "", ...called && { called } };
    this.#open = item;
    this.#send("output_item.added", { item: itemJson(item, "in_progress", []) });
    if (called === undefined) this.#sendText("content_part.added", { part: partJson(item) });
  }

  #grow(delta: string): void {
    const open = this.#open!;
    open.text += delta;
    if (delta !== "") this.#sendText(`${TEXT_EVENTS[open.type]}.delta`, { delta }, logprobs(open));
  }

  #close(status: Status): void {
    const open = this.#open;
    if (open === null) return;
    const { type, text, called } = open, event = `${TEXT_EVENTS[type]}.done`;
    if (called === undefined) {
      this.#sendText(event, { text }, logprobs(open));
      this.#sendText("content_part.done", { part: partJson(open) });
    } else this.#sendText(event, { name: called.name, arguments: text });
    const item = itemJson(open, status, [partJson(open)]);
    this.#send("output_item.done", { item });
    this.items.push(item);
    this.#open = null;
  }

  /** Sends an event about the text of the open item. */
  #sendText(type: string, ...fields: object[]): void {
    const { id: item_id, called } = this.#open!;
    const place = called === undefined ? { item_id, content_index: 0 } : { item_id };
    this.#send(type, Object.assign(place, ...fields));
  }

  #send(type: string, fields: object): void {
    this.send({ type: `response.${type}`, output_index: this.items.length, ...fields });
  }
}

/** The text of a message has them, and here they are always empty. */
function logprobs({ type }: Item): object {
  return type === "message" ? { logprobs: [] } : {};
}

function partJson({ type, text }: Item): object {
  const more = type === "message" ? { annotations: [], logprobs: [] } : {};
  return { type: TEXT_EVENTS[type], text, ...more };
}

function itemJson({ id, type, text, called }: Item, status: Status, content: object[]): object {
  switch (type) {
    case "message":
      return { id, type, status, role: "assistant", content };
    case "reasoning":
      return { id, type, status, summary: [], content };
    case "function_call":
      return { id, type, ...called, arguments: text, status };
  }
}

/** The object of a response with this status, and what it has put out so far. */
type StateOf = (status: string, output: readonly object[], more?: object) => object;

/** Begins a response. @param repeated fields of the request that the answer repeats */
function stateOf({ id: model }: ServedModel, repeated: object): StateOf {
  const head = { id: newId("resp_"), object: "response", created_at: now(), model };
  return (status, output, more = {}) => ({
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
function ending(answers: readonly PromptAnswer[]): [status: string, fields: object] {
  const { prompt_tokens: input, completion_tokens: output, total_tokens } = usageOf(answers);
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  };
  return choiceIn(answers).finishReason === "stop"
    ? ["completed", { usage }]
    : ["incomplete", { usage, incomplete_details: { reason: "max_output_tokens" } }];
}

function choiceIn(answers: readonly PromptAnswer[]): Choice {
  return answers[0]!.choices[0]!;
}

function wholeAnswer(
  { use }: ChatFields,
  state: StateOf,
  answers: readonly PromptAnswer[],
): object {
  const { answer: { reasoning, content, toolCalls }, finishReason } = choiceIn(answers);
  const output = new Output(() => {}, use === null ? null : new ApiCalls(use));
  if (reasoning !== undefined) output.add({ reasoning });
  if (content !== "") output.add({ content });
  for (const call of toolCalls) output.add({ call: wholeCall(call) });
  output.end(finishReason === "stop");
  const [status, more] = ending(answers);
  return state(status, output.items, more);
}

function partsOf({ use }: ChatFields, state: StateOf, send: Send): Parts {
  let number = 0;
  const event: Send = (fields) => send({ ...fields, sequence_number: number++ });
  const output = new Output(event, use === null ? null : new ApiCalls(use));
  return {
    begin() {
      event({ type: "response.created", response: state("in_progress", []) });
      event({ type: "response.in_progress", response: state("in_progress", []) });
    },
    part(_, __, choice, { token, deltas }) {
      for (const delta of deltas) output.add(delta);
      if (token === null) output.end(choice.finishReason === "stop");
    },
    end(answers) {
      const [status, more] = ending(answers);
      event({ type: `response.${status}`, response: state(status, output.items, more) });
    },
  };
}
