/**
 * The port at which agents ask the model: a part of OpenAI's API. The key of a request says whose
 * dialogue it belongs to. What is answered comes from elsewhere; this only carries it.
 */
import { jsonObjectOrNull } from "../../../core/json_file.ts";
import { callerMistake } from "../../../core/remote/callers.ts";
import { type Front, serveHttp } from "../../../core/remote/http_front.ts";
import type { ApiReply } from "../environment.ts";

/** A request of an agent that waits for its answer. */
export interface Waiting {
  /** The JSON of its body. */
  body: string;
  /** Whether the agent has gone away. */
  hasLeft: boolean;
  answer(reply: ApiReply): void;
}

const HOST = "127.0.0.1", MAX_BODY = 2 ** 20;
/** An answer may take long, since the model answers many. */
const IDLE_SECONDS = 3600;

export class AgentPort {
  readonly #takers = new Map<string, (request: Waiting) => void>();
  #front: Front | null = null;

  /** Lets an agent ask. @param take gets its requests @returns what its program must know */
  admit(key: string, take: (request: Waiting) => void): Record<string, string> {
    this.#takers.set(key, take);
    this.#front ??= serveHttp(
      { hostname: HOST, port: 0, idleSeconds: IDLE_SECONDS },
      (request) => this.#answer(request),
    );
    return { OPENAI_BASE_URL: `http://${HOST}:${this.#front.port}/v1`, OPENAI_API_KEY: key };
  }

  forget(key: string): void {
    this.#takers.delete(key);
  }

  async close(): Promise<void> {
    const front = this.#front;
    this.#front = null;
    await front?.shutdown(0);
  }

  async #answer(request: Request): Promise<Response> {
    const mistake = callerMistake(request.headers, { hostname: HOST, cors: null }, "");
    if (mistake !== null) return asResponse(refusal(403, mistake));
    const [, key = ""] = /^Bearer\s+(.*)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    const take = this.#takers.get(key);
    if (take === undefined) {
      const what = "no dialogue that goes on has this key, expected OPENAI_API_KEY of the agent";
      return asResponse(refusal(401, what, "invalid_api_key"));
    }
    const { pathname } = new URL(request.url), route = `${request.method} ${pathname}`;
    if (route === "GET /v1/models") {
      const data = [{ id: "policy", object: "model", created: 0, owned_by: "rgx" }];
      return Response.json({ object: "list", data });
    }
    if (route !== "POST /v1/chat/completions") {
      return asResponse(refusal(404, `agents ask POST /v1/chat/completions, found ${route}`));
    }
    const body = await textOf(request);
    if (body === null) {
      return asResponse(refusal(413, `the body has more than ${MAX_BODY} bytes, or was cut off`));
    }
    const { promise, resolve } = Promise.withResolvers<ApiReply>();
    const waiting = { body, hasLeft: false, answer: resolve };
    request.signal.addEventListener("abort", () => {
      waiting.hasLeft = true;
      // The server cannot close before its requests are answered.
      resolve(refusal(400, "the agent has left"));
    }, { once: true });
    take(waiting);
    const reply = await promise, asked = jsonObjectOrNull(body);
    if (reply.status !== 200 || asked?.["stream"] !== true) return asResponse(reply);
    const options = asked["stream_options"] as { include_usage?: unknown } | null | undefined;
    return eventsOf(reply.body as Completion, options?.include_usage === true);
  }
}

/** The body of a request; null: it is too long, or no text. */
async function textOf(request: Request): Promise<string | null> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    for await (const piece of request.body ?? []) {
      if ((size += piece.length) > MAX_BODY) return null;
      pieces.push(piece);
    }
    return await new Blob(pieces).text();
  } catch {
    return null;
  }
}

/** An error in the form of OpenAI's API. Clients do not repeat a request after one of these. */
export function refusal(status: number, message: string, code: string | null = null): ApiReply {
  return { status, body: { error: { message, type: "invalid_request_error", param: null, code } } };
}

function asResponse({ status, body }: ApiReply): Response {
  return Response.json(body, { status });
}

interface Completion extends Record<string, unknown> {
  choices: {
    message: { tool_calls?: readonly object[] };
    finish_reason: string;
    logprobs: unknown;
  }[];
  usage: unknown;
}

/** An answer as a stream, which has it in one piece. */
function eventsOf({ choices, usage, ...head }: Completion, hasUsage: boolean): Response {
  const { message, finish_reason, logprobs } = choices[0]!, { tool_calls: calls } = message;
  const delta = {
    ...message,
    ...(calls !== undefined && { tool_calls: calls.map((call, index) => ({ index, ...call })) }),
  };
  const chunk = (choices: object[], more = {}) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...more })}\n\n`;
  const events = chunk([{ index: 0, delta, logprobs, finish_reason: null }]) +
    chunk([{ index: 0, delta: {}, logprobs: null, finish_reason }]) +
    (hasUsage ? chunk([], { usage }) : "") + "data: [DONE]\n\n";
  return new Response(events, { headers: { "content-type": "text/event-stream" } });
}
