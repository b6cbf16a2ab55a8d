/** JSON-RPC with a server of MCP at an address: its transport "streamable HTTP". */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { isRecord, jsonObjectOrNull } from "../../../core/json_file.ts";
import {
  HttpClient,
  IdleTimeout,
  jsonBody,
  reasonOf,
  TimedOut,
} from "../../../core/remote/http.ts";
import { events, isEventStream } from "../../../core/remote/reply.ts";
import { Late } from "../../time_limit.ts";
import { type Params, type Peer, resultOf, RpcError } from "./rpc_process.ts";

/** Longest body of an answer, in bytes. */
const LONGEST_BODY = 2 ** 24;
const MAX_REDIRECTS = 5;
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

export class HttpPeer implements Peer {
  readonly #address: URL;
  readonly #client = new HttpClient();
  readonly #key: string | null;
  readonly #closed = new AbortController();
  #requests = 0;
  /** Of the handshake: the session, and the version that was agreed on. */
  #session: string | null = null;
  #version: string | null = null;
  #ended: string | null = null;

  /** @throws UsageError when the environment variable with the key is not set */
  constructor(address: string, keyName: string | null) {
    this.#address = new URL(address);
    this.#key = keyName === null ? null : Deno.env.get(keyName)?.trim() || null;
    if (keyName === null || this.#key !== null) return;
    throw new UsageError(`${address}: the environment variable ${keyName} with its key is not set`);
  }

  get ended(): string | null {
    return this.#ended;
  }

  async request(method: string, params: Params, seconds: number): Promise<unknown> {
    if (this.#ended !== null) throw new RgxError(this.#ended);
    const id = ++this.#requests, body = { jsonrpc: "2.0", id, method, params };
    // All of the answer must be there in time.
    using limit = new IdleTimeout(seconds * 1000, this.#closed.signal, Infinity);
    try {
      const response = await this.#send(body, limit.signal);
      const session = response.headers.get("mcp-session-id");
      if (method === "initialize" && session !== null) this.#session = session;
      const answer = await answerIn(response, id);
      const result = resultOf(answer);
      if (method === "initialize" && isRecord(result)) {
        this.#version = String(result["protocolVersion"]);
      }
      return result;
    } catch (error) {
      if (error instanceof RgxError) throw error;
      const why = limit.explain(error);
      if (why instanceof TimedOut) {
        throw new Late(`gave no answer to ${method} within ${seconds} s`);
      }
      throw new RgxError(`${this.#address.host}: ${reasonOf(why)}`, { cause: error });
    }
  }

  notify(method: string): void {
    const body = { jsonrpc: "2.0", method, params: {} };
    this.#send(body, this.#closed.signal).then((response) => response.body?.cancel())
      .catch(() => {});
  }

  async #send(body: { method: string; params: Params }, signal: AbortSignal): Promise<Response> {
    const { method, params } = body, meta = params["_meta"], name = params["name"];
    const isModern = isRecord(meta) && meta[VERSION_KEY] !== undefined;
    const version = isModern ? String(meta[VERSION_KEY]) : this.#version;
    const { headers, ...init } = jsonBody(body);
    let redirects = 0;
    const response = await this.#client.send(this.#address, { ...init, signal }, {
      headers: (url) => ({
        ...headers,
        accept: "application/json, text/event-stream",
        ...(version !== null && { "mcp-protocol-version": version }),
        ...(isModern && { "mcp-method": method }),
        ...(isModern && typeof name === "string" && { "mcp-name": encodedHeader(name) }),
        ...(!isModern && this.#session !== null && { "mcp-session-id": this.#session }),
        // The key is for its own server alone.
        ...(this.#key !== null && url.origin === this.#address.origin &&
          { authorization: `Bearer ${this.#key}` }),
      }),
      next: (response, from) => {
        const location = response.headers.get("location"), { status } = response;
        if (location === null || status < 307 || status > 308) return null;
        if (++redirects > MAX_REDIRECTS) throw new RgxError("it redirects for ever");
        return new URL(location, from);
      },
    });
    if (response.status === 404 && this.#session !== null) {
      this.#ended = "its session has ended";
    }
    return response;
  }

  close(): Promise<void> {
    this.#ended ??= "it was closed";
    this.#closed.abort();
    this.#client[Symbol.dispose]();
    return Promise.resolve();
  }
}

function encodedHeader(text: string): string {
  if (/^[\x21-\x7e]*$/.test(text)) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
}

/** The answer in a response: its JSON, or the message with this id among the events. */
async function answerIn(response: Response, id: number): Promise<Record<string, unknown>> {
  const pieces = texts(response);
  if (isEventStream(response)) {
    for await (const data of events(pieces)) {
      const message = jsonObjectOrNull(data);
      if (message?.["id"] === id && message["method"] === undefined) return message;
    }
  }
  let text = "";
  for await (const piece of pieces) text += piece;
  const answer = jsonObjectOrNull(text);
  if (answer !== null && (response.ok || isRecord(answer["error"]))) return answer;
  if (response.ok) throw new RgxError("its answer is no message of JSON-RPC");
  const said = text.trim().slice(0, 200);
  throw new RpcError(`HTTP ${response.status}${said === "" ? "" : `: ${said}`}`, response.status);
}

/** @throws RgxError for a body that is too long; TypeError for bytes that are no UTF-8 */
async function* texts({ body }: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let size = 0;
  for await (const bytes of body ?? []) {
    size += bytes.length;
    if (size > LONGEST_BODY) throw new RgxError(`an answer of more than ${LONGEST_BODY} bytes`);
    yield decoder.decode(bytes, { stream: true });
  }
}
