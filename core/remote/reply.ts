/**
 * Reads replies of OpenAI-compatible servers into one form: of chats or completions, whole or as a
 * stream of events. A reply that is not complete is an error, and its text is dropped.
 */
import { BadReply, errorWithin, excerpt } from "./refusal.ts";

export interface ChatChoice {
  text: string;
  reasoning: string | null;
  finishReason: string | null;
}

export interface ChatReply {
  choices: ChatChoice[];
  promptTokens: number;
  completionTokens: number;
}

/** Whether a value is a reply, as a cache of replies holds them. */
export function isReply(value: unknown): value is ChatReply {
  const { choices, promptTokens, completionTokens } = (value ?? {}) as Partial<ChatReply>;
  return Array.isArray(choices) && choices.length > 0 &&
    choices.every((choice) => typeof choice?.text === "string") &&
    typeof promptTokens === "number" && typeof completionTokens === "number";
}

type Json = Record<string, unknown>;

/** The names of a server's models, from its answer to GET /models. None if that is no list. */
export function modelIds(json: unknown): string[] {
  const data = (json as Json | null)?.["data"];
  if (!Array.isArray(data)) return [];
  return data.flatMap((model) => typeof model?.id === "string" ? [model.id] : []);
}

/** @throws BadReply; HttpError for a status in an answer; TypeError when the connection breaks */
export async function readReply(response: Response, onData: () => void): Promise<ChatReply> {
  const pieces = texts(response.body, onData);
  if (isEventStream(response)) return await readStream(pieces);
  let text = "";
  for await (const piece of pieces) text += piece;
  // A stream of events with another content type.
  if (/^\s*(?:data|event|id)?:/.test(text)) return await readStream([text]);
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new BadReply(`the answer is not JSON: ${excerpt(text)}`);
  }
  return fromJson(json, text);
}

function fromJson(json: Json | null, text: string): ChatReply {
  const choices = json?.["choices"];
  const isEmpty = !Array.isArray(choices) || choices.length === 0;
  if (isEmpty && json?.["error"] != null) {
    throw errorWithin(json, "the server answers with an error");
  }
  if (isEmpty) {
    throw new BadReply(`the answer has no choices: ${excerpt(text)}`);
  }
  const usage = usageOf(json!["usage"]);
  const ordered = (choices as Json[]).map((choice, i) => ({ choice, at: placeOf(choice, i) }))
    .sort((a, b) => a.at - b.at);
  return {
    choices: ordered.map(({ choice }) => {
      const message = choice?.["message"] as Json | undefined;
      if (message === undefined && typeof choice?.["text"] !== "string") {
        throw new BadReply(`a choice has neither message nor text: ${excerpt(text)}`);
      }
      requireWhole(choice);
      const content = message?.["content"] ?? choice["text"];
      const read: ChatChoice = {
        text: textOf(content),
        reasoning: reasoningOf(message),
        finishReason: stringOrNull(choice["finish_reason"]),
      };
      if (content == null && message?.["refusal"] == null) requireContent(read, usage);
      return read;
    }),
    ...usage,
  };
}

async function readStream(
  pieces: AsyncIterable<string> | Iterable<string>,
): Promise<ChatReply> {
  const choices = new Map<number, ChatChoice>(), withContent = new Set<ChatChoice>();
  let usage = { promptTokens: 0, completionTokens: 0 }, done = false;
  for await (const data of events(pieces)) {
    if (data === "[DONE]") {
      done = true;
      break;
    }
    let json: Json;
    try {
      json = JSON.parse(data);
    } catch {
      throw new BadReply(`a piece of the stream is not JSON: ${excerpt(data)}`);
    }
    if (json["error"] != null) throw errorWithin(json, "the stream broke off");
    if (json["usage"] != null) usage = usageOf(json["usage"]);
    for (const [i, piece] of ((json["choices"] ?? []) as Json[]).entries()) {
      const at = placeOf(piece, i), delta = piece["delta"] as Json | undefined;
      const choice = choices.get(at) ?? { text: "", reasoning: null, finishReason: null };
      choices.set(at, choice);
      requireWhole(piece);
      const content = delta?.["content"] ?? piece["text"];
      if (content != null || delta?.["refusal"] != null) withContent.add(choice);
      choice.text += textOf(content);
      const thought = reasoningOf(delta);
      if (thought !== null) choice.reasoning = (choice.reasoning ?? "") + thought;
      choice.finishReason = stringOrNull(piece["finish_reason"]) ?? choice.finishReason;
    }
  }
  const all = [...choices].sort(([a], [b]) => a - b).map(([, choice]) => choice);
  const isWhole = all.length > 0 && (done || all.every((c) => c.finishReason !== null));
  if (!isWhole) throw new BadReply("the stream ended before the answer did");
  for (const choice of all) if (!withContent.has(choice)) requireContent(choice, usage);
  return { choices: all, ...usage };
}

/**
 * An answer without content is no answer, and must not count as a wrong one. There are two
 * exceptions: the model was cut off while it thought, or its only token was the end of the text.
 */
function requireContent(
  { reasoning, finishReason }: ChatChoice,
  { completionTokens }: { completionTokens: number },
): void {
  if (reasoning !== null || finishReason === "length" || completionTokens === 1) return;
  throw new BadReply(`the answer has no content (finish_reason: ${finishReason})`);
}

/** @throws when the server could not finish the choice */
function requireWhole(choice: Json): void {
  if (choice["error"] != null) throw errorWithin(choice, "the answer broke off");
  const reason = choice["finish_reason"];
  if (reason === "error" || reason === "abort") {
    throw new BadReply(`the answer broke off: finish_reason is ${reason}`);
  }
}

async function* texts(
  body: ReadableStream<Uint8Array> | null,
  onData: () => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const bytes of body ?? []) {
    onData();
    yield decoder.decode(bytes, { stream: true });
  }
  yield decoder.decode();
}

export function isEventStream({ headers }: Response): boolean {
  return /^text\/event-stream/i.test(headers.get("content-type") ?? "");
}

/** The data of server-sent events; the last event may lack the line that ends it. */
export async function* events(
  pieces: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<string> {
  let rest = "", data: string[] = [];
  for await (const piece of pieces) {
    // A carriage return alone also ends a line, unless the next piece may begin with a line feed.
    const lines = (rest + piece).split(/\r?\n|\r(?=[^\n])/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(dataOf(line));
      else if (line === "" && data.length > 0) {
        yield data.join("\n");
        data = [];
      }
    }
  }
  if (rest.startsWith("data:")) data.push(dataOf(rest.replace(/\r$/, "")));
  if (data.length > 0) yield data.join("\n");
}

const dataOf = (line: string) => line.slice(5).replace(/^ /, "");

function placeOf(choice: Json, fallback: number): number {
  return typeof choice?.["index"] === "number" ? choice["index"] : fallback;
}

/** The text of a message: a string, or the text parts of a list. */
function textOf(content: unknown): string {
  if (Array.isArray(content)) {
    return content.map((part: Json | null) => part?.["type"] === "text" ? textOf(part["text"]) : "")
      .join("");
  }
  return typeof content === "string" ? content : "";
}

function reasoningOf(message: Json | undefined): string | null {
  return stringOrNull(message?.["reasoning_content"]) ?? stringOrNull(message?.["reasoning"]);
}

function stringOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function usageOf(usage: unknown): { promptTokens: number; completionTokens: number } {
  const count = (name: string) => {
    const value = (usage as Json | null)?.[name];
    return typeof value === "number" && value >= 0 ? value : 0;
  };
  return { promptTokens: count("prompt_tokens"), completionTokens: count("completion_tokens") };
}
