/**
 * What an OpenAI-compatible server answers, chat or completion, whole or as a stream of events, brought to one
 * form. An answer that is not complete is an error, and its text is thrown away.
 */

import { RgxError } from "../../core/errors.ts";

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

/** The answer is cut off or not what it should be; asking again may help. */
export class BadReply extends Error {}

/** The server will refuse everything else too: no key, no such model. */
export class Refused extends RgxError {}

type Json = Record<string, unknown>;

/**
 * @param onData called whenever something arrives
 * @throws BadReply; TypeError when the connection breaks
 */
export async function readReply(response: Response, onData: () => void): Promise<ChatReply> {
  const isStream = /^text\/event-stream/i.test(response.headers.get("content-type") ?? "");
  if (isStream && response.body !== null) return await readStream(response.body, onData);
  const text = await response.text();
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new BadReply(`the answer is not JSON: ${excerpt(text)}`);
  }
  return fromJson(json, text);
}

export const excerpt = (text: string) => JSON.stringify(text.slice(0, 200));

function fromJson(json: Json | null, text: string): ChatReply {
  const choices = json?.["choices"];
  if (choices === undefined && json?.["error"] != null) {
    throw new BadReply(`the server answers with an error: ${messageOf(json)}`);
  }
  if (!Array.isArray(choices) || choices.length === 0) {
    throw new BadReply(`the answer has no choices: ${excerpt(text)}`);
  }
  const ordered = (choices as Json[]).map((choice, i) => ({ choice, at: placeOf(choice, i) }))
    .sort((a, b) => a.at - b.at);
  return {
    choices: ordered.map(({ choice }) => {
      const message = choice?.["message"] as Json | undefined;
      if (message === undefined && typeof choice?.["text"] !== "string") {
        throw new BadReply(`a choice has neither message nor text: ${excerpt(text)}`);
      }
      return {
        text: textOf(message?.["content"] ?? choice["text"]),
        reasoning: reasoningOf(message),
        finishReason: stringOrNull(choice["finish_reason"]),
      };
    }),
    ...usageOf(json!["usage"]),
  };
}

async function readStream(
  body: ReadableStream<Uint8Array>,
  onData: () => void,
): Promise<ChatReply> {
  const choices = new Map<number, ChatChoice>();
  let usage = { promptTokens: 0, completionTokens: 0 }, done = false;
  for await (const data of events(body, onData)) {
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
    if (json["error"] != null) throw new BadReply(`the stream broke off: ${messageOf(json)}`);
    if (json["usage"] != null) usage = usageOf(json["usage"]);
    for (const [i, piece] of ((json["choices"] ?? []) as Json[]).entries()) {
      const at = placeOf(piece, i), delta = piece["delta"] as Json | undefined;
      const choice = choices.get(at) ?? { text: "", reasoning: null, finishReason: null };
      choices.set(at, choice);
      choice.text += textOf(delta?.["content"] ?? piece["text"]);
      const thought = reasoningOf(delta);
      if (thought !== null) choice.reasoning = (choice.reasoning ?? "") + thought;
      choice.finishReason = stringOrNull(piece["finish_reason"]) ?? choice.finishReason;
    }
  }
  const all = [...choices].sort(([a], [b]) => a - b).map(([, choice]) => choice);
  const isWhole = all.length > 0 && (done || all.every((c) => c.finishReason !== null));
  if (!isWhole) throw new BadReply("the stream ended before the answer did");
  return { choices: all, ...usage };
}

/** The data of server-sent events. */
async function* events(
  body: ReadableStream<Uint8Array>,
  onData: () => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "", data: string[] = [];
  for await (const bytes of body) {
    onData();
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      else if (line === "" && data.length > 0) {
        yield data.join("\n");
        data = [];
      }
    }
  }
  if (data.length > 0) yield data.join("\n");
}

/** The message of an error answer, as the server wrote it. */
export function messageOf(json: unknown): string {
  const error = (json as Json | null)?.["error"] ?? json;
  const message = typeof error === "string"
    ? error
    : (error as Json | null)?.["message"] ?? (error as Json | null)?.["detail"];
  return typeof message === "string" ? message : JSON.stringify(error ?? null).slice(0, 300);
}

function placeOf(choice: Json, fallback: number): number {
  return typeof choice?.["index"] === "number" ? choice["index"] : fallback;
}

/** A string, or a list of parts of which those of text count. */
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
