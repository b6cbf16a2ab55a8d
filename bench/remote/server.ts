/**
 * An OpenAI-compatible server as a benchmark uses it: found out to be there before any work, asked by a bounded
 * number of requests at once, again where that may help, never twice for what is known. Fields that the server
 * refuses are left out (or renamed) for the rest of the run. The key comes from the environment and goes nowhere
 * else.
 */
import { Interrupted, RgxError, UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import type { Answerer, ModelRequest } from "../types.ts";
import { Limiter } from "./limiter.ts";
import { RemoteModel } from "./model.ts";
import { BadReply, type ChatReply, excerpt, messageOf, readReply, Refused } from "./reply.ts";
import { ResponseCache } from "./response_cache.ts";
import { askedDelay, backoff, MOST_PATIENCE_MS } from "../../core/retry_delay.ts";

export interface RemoteOptions {
  /** With or without `/v1`; default: OPENAI_BASE_URL. */
  baseUrl?: string;
  /** Name of the environment variable that holds the key; default OPENAI_API_KEY. */
  apiKeyEnv?: string;
  /** Requests at once; default 10. */
  concurrency?: number;
  /** Seconds without a sign of life after which a request is given up and sent again; default 600. */
  timeout?: number;
  /** How often a request is sent before its samples count as unanswered; default 10. */
  attempts?: number;
  /** Milliseconds before the second attempt, doubled for each further one; default 1000. */
  firstDelay?: number;
  /** Send the prompt as plain text to /completions instead of messages to /chat/completions. */
  completions?: boolean;
  /** File of known answers, or false for none; default `response_cache.jsonl` in the results' folder. */
  cache?: string | false;
  /** Money for a million tokens, to report the cost. */
  prices?: { input: number; output: number };
  onWarning?: (message: string) => void;
}

/** Asking the same again may help. */
const RETRIED = new Set([408, 409, 425, 429]);
/** The server wants nothing of us, whatever we ask. */
const HOPELESS = new Set([401, 403, 404]);
/** Fields that a server may not know; `max_tokens` has a newer name. */
const OPTIONAL = [
  ...["stream_options", "seed", "top_p", "temperature", "top_k", "min_p", "repetition_penalty"],
  ...["stop", "stream", "n"],
];
const PROBE_MS = 10_000;
/** Attempts of one request after which it is told what makes the benchmark wait. */
const TOLD_AFTER = 3;

export type Body = Record<string, unknown>;

/** What asking a server took. */
export interface RemoteUsage {
  url: string;
  /** Requests that were sent, failed ones included, and answers that the cache had. */
  requests: number;
  cached: number;
  prompt_tokens: number;
  completion_tokens: number;
  /** Null where prices are not known. */
  cost: number | null;
  /** Of requests that were answered; null without any. */
  seconds_per_request: number | null;
  /** New tokens a second of all requests together, from the first to the last answer; null without any. */
  tokens_per_second: number | null;
  /** Fields that the server refuses, and that were left out or renamed for the whole run. */
  adjusted: string[];
}

class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly param: string | null,
    readonly delay: number | null,
  ) {
    super(message);
  }
}

export class RemoteServer {
  readonly limiter: Limiter;
  readonly #dropped = new Set<string>();
  readonly #told = new Set<string>();
  #modernMaxTokens = false;
  #promptTokens = 0;
  #completionTokens = 0;
  /** Requests sent, and answers that were known. */
  requests = 0;
  cached = 0;
  readonly #abort = new AbortController();
  #answered = 0;
  #milliseconds = 0;
  #first = 0;
  #last = 0;
  readonly #adjustments: string[] = [];

  private constructor(
    readonly url: string,
    readonly options: RemoteOptions,
    readonly key: string | null,
    readonly modelNames: readonly string[],
    readonly cache: ResponseCache | null,
  ) {
    this.limiter = new Limiter(Math.max(1, options.concurrency ?? 10));
  }

  /** @throws UsageError without an address, RgxError when nobody answers there or the key is refused */
  static async connect(options: RemoteOptions, folder: string): Promise<RemoteServer> {
    const given = options.baseUrl ?? Deno.env.get("OPENAI_BASE_URL");
    if (given === undefined || given === "") {
      throw new UsageError("a remote model needs the address of its server", {
        advice: "--base-url http://HOST:PORT/v1, or the environment variable OPENAI_BASE_URL. " +
          "(A model of this machine is model_path in the file of rgx eval.)",
      });
    }
    const url = baseUrl(given);
    const key = Deno.env.get(options.apiKeyEnv ?? "OPENAI_API_KEY") || null;
    const names = await probe(url, key);
    const { cache = `${folder}/response_cache.jsonl` } = options;
    if (cache !== false) await Deno.mkdir(folder, { recursive: true });
    const known = cache === false ? null : await ResponseCache.open(cache);
    return new RemoteServer(url, options, key, names, known);
  }

  model(request: ModelRequest): Answerer {
    return new RemoteModel(this, request);
  }

  usage(): RemoteUsage {
    const { prices } = this.options, input = this.#promptTokens, output = this.#completionTokens;
    const isBusy = this.#answered > 0;
    return {
      url: this.url,
      requests: this.requests,
      cached: this.cached,
      prompt_tokens: input,
      completion_tokens: output,
      cost: prices === undefined ? null : (input * prices.input + output * prices.output) / 1e6,
      seconds_per_request: isBusy ? this.#milliseconds / this.#answered / 1000 : null,
      tokens_per_second: isBusy ? output / (this.#last - this.#first) * 1000 : null,
      adjusted: [...this.#adjustments],
    };
  }

  /** Ends what is under way. */
  stop(): void {
    this.#abort.abort();
  }

  close(): void {
    this.stop();
  }

  /**
   * @param identity what tells this request from another one with the same body
   * @throws RgxError when the server refuses for good; Interrupted after {@link stop}
   */
  async ask(path: string, body: Body, identity: unknown): Promise<ChatReply> {
    const key = ResponseCache.key([this.url, path, body, identity]);
    const known = this.cache?.get(key);
    if (known !== undefined) {
      this.cached++;
      return known;
    }
    const reply = await this.#retrying(path, body);
    this.#promptTokens += reply.promptTokens;
    this.#completionTokens += reply.completionTokens;
    await this.cache?.set(key, reply);
    return reply;
  }

  async #retrying(path: string, body: Body): Promise<ChatReply> {
    const { attempts = 10, firstDelay = 1000 } = this.options;
    for (let attempt = 1;; attempt++) {
      let error: unknown;
      const sent = this.#adjusted(body);
      try {
        return await this.#attempt(path, sent);
      } catch (thrown) {
        error = thrown;
      }
      if (this.#abort.signal.aborted) throw new Interrupted();
      if (error instanceof HttpError && error.status === 400 && this.#adjust(error, sent)) {
        attempt--;
        continue;
      }
      const asked = error instanceof HttpError ? error.delay : null;
      if (!isTemporary(error) || attempt >= attempts || (asked ?? 0) > MOST_PATIENCE_MS) {
        throw this.#final(error, attempt);
      }
      if (attempt === TOLD_AFTER) this.#tell(error);
      await this.#sleep(asked ?? backoff(attempt, firstDelay, Math.random()));
    }
  }

  /** Why requests are sent again and again: once for each status. */
  #tell(error: unknown): void {
    const what = error instanceof HttpError ? `${error.status}: ` : "";
    if (this.#told.has(what)) return;
    this.#told.add(what);
    this.options.onWarning?.(
      `${this.url}: asked again after ${TOLD_AFTER} attempts: ${what}${(error as Error).message}`,
    );
  }

  /** One request, when there is room for it. */
  async #attempt(path: string, body: Body): Promise<ChatReply> {
    await this.limiter.acquire();
    let how: "good" | "too many" | "failed" = "failed", pause = 0;
    try {
      await this.#sleep(this.limiter.pause);
      const reply = await this.#send(path, body);
      how = "good";
      return reply;
    } catch (error) {
      if (error instanceof HttpError && error.status === 429) {
        how = "too many";
        pause = Math.min(error.delay ?? 0, MOST_PATIENCE_MS);
      }
      throw error;
    } finally {
      this.limiter.release(how, pause);
    }
  }

  #adjusted(body: Body): Body {
    const sent: Body = {};
    for (const [name, value] of Object.entries(body)) {
      if (this.#dropped.has(name)) continue;
      sent[name === "max_tokens" && this.#modernMaxTokens ? "max_completion_tokens" : name] = value;
    }
    return sent;
  }

  /** True when the server named a field that can be left out or renamed, and it had been sent. */
  #adjust({ message, param }: HttpError, sent: Body): boolean {
    const names = (field: string) =>
      param === field ||
      (field.length > 4
        ? new RegExp(`\\b${field}\\b`).test(message)
        : new RegExp(`['"\`]${field}['"\`]`).test(message));
    if ("max_tokens" in sent && names("max_tokens") && /max_completion_tokens/.test(message)) {
      // Another request may have found out first, here and below.
      if (this.#modernMaxTokens) return true;
      this.#modernMaxTokens = true;
      return this.#note("max_tokens is sent as max_completion_tokens");
    }
    const field = OPTIONAL.find((name) => name in sent && names(name));
    if (field === undefined) return false;
    if (this.#dropped.has(field)) return true;
    this.#dropped.add(field);
    if (field === "stream") this.#dropped.add("stream_options");
    return this.#note(`the server refuses the field ${field}, which is left out`);
  }

  #note(message: string): true {
    this.#adjustments.push(message);
    this.options.onWarning?.(`${this.url}: ${message}`);
    return true;
  }

  async #send(path: string, body: Body): Promise<ChatReply> {
    const control = new AbortController(), stop = () => control.abort();
    const limit = (this.options.timeout ?? 600) * 1000;
    let late = false, timer: ReturnType<typeof setTimeout> | undefined;
    const wind = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        late = true;
        control.abort();
      }, limit);
    };
    this.#abort.signal.addEventListener("abort", stop);
    wind();
    this.requests++;
    const start = performance.now();
    if (this.#first === 0) this.#first = start;
    try {
      const response = await fetch(`${this.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...authorization(this.key) },
        body: JSON.stringify(body),
        signal: control.signal,
      });
      if (!response.ok) throw await httpError(response);
      const reply = await readReply(response, wind);
      this.#last = performance.now();
      this.#milliseconds += this.#last - start;
      this.#answered++;
      return reply;
    } catch (error) {
      if (late) throw new BadReply(`no sign of life for ${limit / 1000} s`);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#abort.signal.removeEventListener("abort", stop);
    }
  }

  async #sleep(ms: number): Promise<void> {
    if (ms > 0 && !this.#abort.signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          this.#abort.signal.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        this.#abort.signal.addEventListener("abort", done);
      });
    }
    if (this.#abort.signal.aborted) throw new Interrupted();
  }

  #final(error: unknown, attempts: number): Error {
    const tried = attempts > 1 ? ` (${attempts} attempts)` : "";
    if (!(error instanceof HttpError)) {
      return new RgxError(`${this.url}: ${(error as Error).message}${tried}`, { cause: error });
    }
    const message = `${this.url}: ${error.status}: ${error.message}${tried}`;
    return HOPELESS.has(error.status) ? new Refused(message) : new RgxError(message);
  }

  /** ", did you mean x?" for a model that the server does not list. */
  nearestModel(name: string): string {
    return this.modelNames.includes(name) ? "" : didYouMean(name, this.modelNames);
  }
}

function isTemporary(error: unknown): boolean {
  if (!(error instanceof HttpError)) return true; // cut off, garbled or late
  return RETRIED.has(error.status) || error.status >= 500;
}

/** Without a slash at the end, with /v1, whatever of the path was given. */
export function baseUrl(given: string): string {
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    throw new UsageError(`--base-url ${given}: not an address, expected http://HOST:PORT/v1`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new UsageError(`--base-url ${given}: expected http:// or https://`);
  }
  const path = url.pathname.replace(/\/+$/, "").replace(/\/(chat\/)?completions$/, "");
  return `${url.origin}${/\/v\d+$/.test(path) ? path : `${path}/v1`}`;
}

function authorization(key: string | null): Record<string, string> {
  return key === null ? {} : { authorization: `Bearer ${key}` };
}

async function httpError(response: Response): Promise<HttpError> {
  const text = await response.text();
  let json: unknown = null;
  try {
    json = JSON.parse(text);
  } catch {
    // a proxy's page
  }
  const param = (json as { error?: { param?: unknown } } | null)?.error?.param;
  return new HttpError(
    response.status,
    json === null ? excerpt(text) : messageOf(json),
    typeof param === "string" ? param : null,
    askedDelay(response.headers, Date.now()),
  );
}

/** The names of the server's models, none where it does not say. */
async function probe(url: string, key: string | null): Promise<string[]> {
  const control = new AbortController();
  const timer = setTimeout(() => control.abort(), PROBE_MS);
  try {
    const response = await fetch(`${url}/models`, {
      headers: authorization(key),
      signal: control.signal,
    });
    const text = await response.text();
    if (response.status === 401 || response.status === 403) {
      throw new RgxError(`${url}: the key is refused (${response.status}): ${excerpt(text)}`, {
        advice: "The key is read from OPENAI_API_KEY; --api-key-env names another variable.",
      });
    }
    const data = response.ok ? (JSON.parse(text) as { data?: unknown }).data : null;
    if (!Array.isArray(data)) return [];
    return data.flatMap((model) => typeof model?.id === "string" ? [model.id] : []);
  } catch (error) {
    if (error instanceof RgxError) throw error;
    if (error instanceof SyntaxError) return []; // answers, if not with a list
    const why = control.signal.aborted
      ? `no answer within ${PROBE_MS / 1000} s`
      : (error as Error).message;
    throw new RgxError(`${url}: the server cannot be reached: ${why}`, {
      advice: "Is the server running, and the address right? Nothing was evaluated.",
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
