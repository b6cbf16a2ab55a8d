/**
 * The connection to an OpenAI-compatible server, of a benchmark or of a judge. It checks that the
 * server is there before any work. The number of requests at the same time is limited; a failed
 * request is sent again if that may help; known answers come from a cache. Fields that the server
 * refuses are left out or renamed for the rest of the run. The key comes from the environment.
 */
import { Interrupted, RgxError, UsageError } from "../errors.ts";
import { didYouMean } from "../suggest.ts";
import { baseUrl, ServerAddress } from "./address.ts";
import { type Body, Fields } from "./fields.ts";
import { HttpClient, IdleTimeout, isCertificateError, jsonBody, reasonOf } from "./http.ts";
import { Limiter } from "./limiter.ts";
import {
  HttpError,
  httpError,
  isHopeless,
  isTemporary,
  Refused,
  wantsPatience,
} from "./refusal.ts";
import { type ChatReply, isReply, modelIds, readReply } from "./reply.ts";
import { pause, retrying } from "./retry.ts";
import { ResultCache } from "../cache/result_cache.ts";

/** The server of remote models, and how it is asked. */
export interface RemoteOptions {
  /** Address of the server, with or without `/v1`; default: OPENAI_BASE_URL. */
  baseUrl?: string;
  /** Name of the environment variable that holds the key; default OPENAI_API_KEY. */
  apiKeyEnv?: string;
  /** Maximum number of requests at the same time; default 10. */
  concurrency?: number;
  /** Seconds without data after which a request is sent again; default 600. */
  timeout?: number;
  /** Maximum number of attempts before the samples count as unanswered; default 10. */
  attempts?: number;
  /** Milliseconds before the second attempt, doubled for each further one; default 1000. */
  firstDelay?: number;
  /** Send the prompt as plain text to /completions instead of messages to /chat/completions. */
  completions?: boolean;
  /** The only provider that may answer, on a server that has several (OpenRouter). */
  provider?: string;
  /** File of known answers; false = none. Default: `response_cache.jsonl` in the results. */
  cache?: string | false;
  /** Price of a million tokens, to report the cost. */
  prices?: { input: number; output: number };
  /** Called with notes for the user. */
  onWarning?: (message: string) => void;
}

/** The requests, tokens, cost and time of asking a server. */
export interface RemoteUsage {
  /** The server's address, without secrets. */
  url: string;
  /** The only provider that was asked for. */
  provider?: string;
  /** Requests that were sent, those that failed included. */
  requests: number;
  /** Answers that came from the cache. */
  cached: number;
  /** Tokens of prompts, as the server counts them. */
  prompt_tokens: number;
  /** Tokens of completions, as the server counts them. */
  completion_tokens: number;
  /** The cost of all tokens; null if prices are not known. */
  cost: number | null;
  /** Mean over the requests that were answered; null without any. */
  seconds_per_request: number | null;
  /** New tokens a second of all requests together; null without answers. */
  tokens_per_second: number | null;
  /** The changes of all requests, in words, because the server refuses some fields. */
  adjusted: string[];
}

const PROBE_MS = 10_000;
/** After this many attempts of one request, a warning says why the program waits. */
const WARN_AFTER = 3;

export class RemoteServer {
  readonly limiter: Limiter;
  readonly #fields = new Fields((note) => this.#warn(note));
  readonly #warned = new Set<string>();
  #promptTokens = 0;
  #completionTokens = 0;
  /** Requests that were sent. */
  requests = 0;
  /** Answers that came from the cache. */
  cached = 0;
  readonly #abort = new AbortController();
  #answered = 0;
  #milliseconds = 0;
  #first = 0;
  #last = 0;

  private constructor(
    readonly options: RemoteOptions,
    readonly address: ServerAddress,
    readonly client: HttpClient,
    readonly modelNames: readonly string[],
    readonly cache: ResultCache<ChatReply> | null,
  ) {
    this.limiter = new Limiter(Math.max(1, options.concurrency ?? 10));
  }

  /** @throws UsageError without an address, RgxError when nobody answers or the key is refused */
  static async connect(options: RemoteOptions, folder: string | null): Promise<RemoteServer> {
    const given = givenAddress(options);
    if (given === "") {
      throw new UsageError("a remote model needs the address of its server", {
        advice: "--base-url http://HOST:PORT/v1, or the environment variable OPENAI_BASE_URL. " +
          "(A model of this machine is model_path in the file of rgx eval.)",
      });
    }
    const address = new ServerAddress(given, options.apiKeyEnv);
    const client = new HttpClient();
    try {
      const names = await probe(address, client);
      const { cache = folder !== null && `${folder}/response_cache.jsonl` } = options;
      if (folder !== null && cache !== false) await Deno.mkdir(folder, { recursive: true });
      const known = cache === false
        ? null
        : await ResultCache.open(cache, isReply, options.onWarning ?? (() => {}));
      return new RemoteServer(options, address, client, names, known);
    } catch (error) {
      client[Symbol.dispose]();
      throw error;
    }
  }

  get url(): string {
    return this.address.url;
  }

  usage(): RemoteUsage {
    const { prices, provider } = this.options,
      input = this.#promptTokens,
      output = this.#completionTokens;
    const isBusy = this.#answered > 0;
    // Some servers do not count tokens.
    const isCounted = !isBusy || input + output > 0;
    return {
      url: this.url,
      ...(provider !== undefined && { provider }),
      requests: this.requests,
      cached: this.cached,
      prompt_tokens: input,
      completion_tokens: output,
      cost: prices === undefined || !isCounted
        ? null
        : (input * prices.input + output * prices.output) / 1e6,
      seconds_per_request: isBusy ? this.#milliseconds / this.#answered / 1000 : null,
      tokens_per_second: isBusy && isCounted ? output / (this.#last - this.#first) * 1000 : null,
      adjusted: [...this.#fields.notes],
    };
  }

  /** Ends all requests that are running. */
  stop(): void {
    this.#abort.abort();
  }

  close(): void {
    this.stop();
    this.client[Symbol.dispose]();
  }

  /** @param identity tells requests of one body apart. @throws RgxError for good, or Interrupted */
  async ask(path: string, body: Body, identity: unknown): Promise<ChatReply> {
    const key = ResultCache.key([this.url, path, body, identity]);
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
    return await retrying(() => this.#adjusting(path, body), {
      attempts,
      firstDelay,
      signal: this.#abort.signal,
      checkEnd: () => this.#checkEnd(),
      isTemporary,
      askedDelay: (error) => error instanceof HttpError ? error.delay : null,
      onRetry: (error, tried) => tried === WARN_AFTER && this.#warnOfRetries(error),
      failure: (error, tried) => this.#final(error, tried),
    });
  }

  #checkEnd(): void {
    if (this.#abort.signal.aborted) throw new Interrupted();
  }

  /** One attempt, which is repeated without the fields that the server refuses. */
  async #adjusting(path: string, body: Body): Promise<ChatReply> {
    for (;;) {
      const sent = this.#fields.adjusted(body);
      try {
        return await this.#attempt(path, sent);
      } catch (error) {
        if (!(error instanceof HttpError && this.#fields.learn(error, sent))) throw error;
      }
    }
  }

  /** Warns, once for each status, why requests are sent again. */
  #warnOfRetries(error: unknown): void {
    const what = error instanceof HttpError ? `${error.status}: ` : "";
    if (this.#warned.has(what)) return;
    this.#warned.add(what);
    this.#warn(`asked again after ${WARN_AFTER} attempts: ${what}${reasonOf(error)}`);
  }

  #warn(message: string): void {
    this.options.onWarning?.(`${this.url}: ${message}`);
  }

  /** Sends a request when the limit allows it. */
  async #attempt(path: string, body: Body): Promise<ChatReply> {
    const ticket = await this.limiter.acquire();
    let how: "good" | "too many" | "failed" = "failed", wait = 0;
    try {
      // This is checked at least once, because a place may become free when everything is stopped.
      do {
        await pause(this.limiter.pause, this.#abort.signal);
        this.#checkEnd();
      } while (this.limiter.pause > 0);
      const reply = await this.#send(path, body);
      how = "good";
      return reply;
    } catch (error) {
      if (error instanceof HttpError && error.status === 429 && isTemporary(error)) {
        how = "too many";
        wait = error.delay ?? 0;
      }
      throw error;
    } finally {
      this.limiter.release(ticket, how, wait);
    }
  }

  async #send(path: string, body: Body): Promise<ChatReply> {
    using timeout = new IdleTimeout((this.options.timeout ?? 600) * 1000, this.#abort.signal);
    this.requests++;
    const start = performance.now();
    if (this.#first === 0) this.#first = start;
    try {
      const response = await this.address.fetch(path, this.client, {
        ...jsonBody(body),
        signal: timeout.signal,
      });
      if (!response.ok) throw await httpError(response);
      const reply = await readReply(response, () => timeout.restart());
      this.#last = performance.now();
      this.#milliseconds += this.#last - start;
      this.#answered++;
      return reply;
    } catch (error) {
      this.#checkEnd();
      throw this.#hidden(timeout.explain(error) as Error);
    }
  }

  /** The error with the key removed from its texts. */
  #hidden(error: Error): Error {
    error.message = this.address.hide(error.message);
    error.stack = this.address.hide(error.stack ?? "");
    return error;
  }

  #final(error: unknown, attempts: number): Error {
    const tried = attempts > 1 ? ` (${attempts} attempts)` : "";
    if (!(error instanceof HttpError)) {
      return new RgxError(`${this.url}: ${reasonOf(error)}${tried}`, { cause: error });
    }
    const wait = wantsPatience(error) ? `; it asks to wait ${waitText(error.delay!)}` : "";
    const key = error.status === 401 ? ` (${this.address.keyHint})` : "";
    const message = `${this.url}: ${error.status}: ${error.message}${tried}${wait}${key}`;
    return isHopeless(error) ? new Refused(message, error.status) : new RgxError(message);
  }

  /** ", did you mean x?" for a model that the server does not list. */
  nearestModel(name: string): string {
    return this.modelNames.includes(name) ? "" : didYouMean(name, this.modelNames);
  }
}

/** The user's address, else that of the environment; empty when there is none. */
function givenAddress(options: Pick<RemoteOptions, "baseUrl">): string {
  return options.baseUrl ?? Deno.env.get("OPENAI_BASE_URL") ?? "";
}

/** What answers depend on besides: server and provider; empty without one. @throws UsageError */
export function whoAnswers(options: Pick<RemoteOptions, "baseUrl" | "provider">): string {
  const given = givenAddress(options), { provider } = options;
  if (given === "") return "";
  return provider === undefined ? baseUrl(given) : `${baseUrl(given)} ${provider}`;
}

/** A hint about a proxy on the way, without its address, which may hold a password. */
function proxyHint(url: string): string | null {
  const { protocol, hostname } = new URL(url);
  const variable = (name: string) =>
    [name, name.toLowerCase()].find((name) => Deno.env.get(name)) ?? null;
  const proxy = variable(`${protocol.slice(0, -1).toUpperCase()}_PROXY`) ?? variable("ALL_PROXY");
  const around = variable("NO_PROXY");
  return proxy === null || (around !== null && Deno.env.get(around)!.includes(hostname))
    ? null
    : `It is asked through the proxy of ${proxy}; NO_PROXY=${hostname} would connect to it directly.`;
}

function waitText(ms: number): string {
  return ms < 2 * 3_600_000 ? `${Math.ceil(ms / 60_000)} min` : `${Math.ceil(ms / 3_600_000)} h`;
}

/** Checks that the server is there. @returns the names of its models, if it lists them */
async function probe(address: ServerAddress, client: HttpClient): Promise<string[]> {
  const { url } = address;
  using timeout = new IdleTimeout(PROBE_MS, null);
  try {
    const response = await address.fetch("/models", client, { signal: timeout.signal });
    const { status } = response;
    if (status === 401 || status === 403) {
      const said = address.hide((await httpError(response)).message);
      throw new RgxError(`${url}: the key is refused (${status}; ${address.keyHint}): ${said}`, {
        advice: "--api-key-env or api_key_env names another variable.",
      });
    }
    const text = await response.text();
    return response.ok ? modelIds(JSON.parse(text)) : [];
  } catch (error) {
    if (error instanceof RgxError) throw error;
    // The server answers, although not with a list.
    if (error instanceof SyntaxError || error instanceof HttpError) return [];
    const why = timeout.signal.aborted ? `no answer within ${PROBE_MS / 1000} s` : reasonOf(error);
    const hint = isCertificateError(why)
      ? "SSL_CERT_FILE names a file with the certificate of the server's authority."
      : proxyHint(url) ?? "Is the server running, and the address right?";
    throw new RgxError(`${url}: the server cannot be reached: ${why}`, {
      advice: `${hint} Nothing was done.`,
      cause: error,
    });
  }
}
