/**
 * HTTP requests to the Hub, with time-outs and retries. Redirects are followed here and not by
 * `fetch`, so that the token is sent to the origin of the endpoint only. The Hub's chunk protocol
 * (Xet) is not supported; every file is available without it.
 */
import { Interrupted, RgxError } from "../core/errors.ts";
import { clientTrusting, isCertificateError, networkReason } from "../core/network.ts";
import { askedDelay, backoff, MAX_RETRY_DELAY_MS } from "../core/remote/retry_delay.ts";
import { runningTimeout } from "../core/machine/running_time.ts";
import { VERSION } from "../core/version.ts";
import { HttpStatus, refusal, type Request, TimedOut } from "./refusal.ts";
import type { HubSettings } from "./settings.ts";

export interface HttpOptions {
  /** Maximum number of attempts in a row without progress; default 5. */
  attempts?: number;
  /** Milliseconds before the second attempt, doubled for each further one; default 500. */
  firstDelay?: number;
  /** Aborts all requests. */
  signal?: AbortSignal;
  /** Called with the reason before a request is repeated. */
  onNotice?: (message: string) => void;
}

export type Method = "GET" | "HEAD" | "POST" | "PUT";

/** What a request sends; by default it is a GET, with the time-out of metadata. */
export interface Sent {
  method?: Method;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array<ArrayBuffer>;
  /** Milliseconds. */
  timeout?: number;
}

/** A response whose body must be read or cancelled. */
export interface Reply {
  readonly response: Response;
  /** The bytes of the body; every `LEAST_BYTES` of them restart the time-out. */
  body(): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** Must be called at the end, also after an error. */
  close(): Promise<void>;
}

const MAX_REDIRECTS = 10;
/** Bytes of a body that must come within a time-out: fewer are as good as none. */
export const LEAST_BYTES = 1024;
const TEMPORARY = new Set([408, 425, 429]);
/** Maximum length of a text response. No repository's list of files is longer. */
const MAX_TEXT_LENGTH = 1 << 28;

export class HubHttp {
  readonly #attempts: number;
  readonly #firstDelay: number;
  readonly #signal: AbortSignal | null;
  readonly #notice: (message: string) => void;
  readonly #client: Deno.HttpClient | null;

  constructor(readonly settings: HubSettings, options: HttpOptions = {}) {
    this.#attempts = options.attempts ?? 5;
    this.#firstDelay = options.firstDelay ?? 500;
    this.#signal = options.signal ?? null;
    this.#notice = options.onNotice ?? (() => {});
    this.#client = settings.certificates === null ? null : clientTrusting(settings.certificates);
  }

  close(): void {
    this.#client?.close();
  }

  /** Fetches a text. @throws RgxError that explains the failure */
  async text(url: string, request: Request, sent: Sent = {}): Promise<string> {
    return await this.retrying(request, async () => {
      const { method = "GET", timeout = this.settings.metadataTimeout, ...more } = sent;
      const reply = await this.send(method, url, { timeout, ...more });
      try {
        const decoder = new TextDecoder();
        let text = "";
        for await (const bytes of reply.body()) {
          text += decoder.decode(bytes, { stream: true });
          if (text.length > MAX_TEXT_LENGTH) throw new RgxError(`${url}: the answer is too long`);
        }
        return text + decoder.decode();
      } finally {
        await reply.close();
      }
    });
  }

  /**
   * Repeats `attempt` until it succeeds, fails for good, or has used up its attempts.
   * @param attempt calls `progressed` when it got further, which resets the count of attempts
   * @throws RgxError, Interrupted
   */
  async retrying<T>(
    request: Request,
    attempt: (progressed: () => void) => Promise<T>,
  ): Promise<T> {
    for (let count = 1;; count++) {
      let error: unknown;
      try {
        this.#checkSignal();
        return await attempt(() => count = 0);
      } catch (thrown) {
        error = thrown;
      }
      this.#checkSignal();
      const asked = error instanceof HttpStatus ? error.delay : null;
      const tried = Math.max(1, count);
      if (!isTemporary(error) || tried >= this.#attempts || (asked ?? 0) > MAX_RETRY_DELAY_MS) {
        throw refusal(error, request, tried);
      }
      const pause = asked ?? backoff(tried, this.#firstDelay, Math.random());
      const why = error instanceof HttpStatus
        ? `answer ${error.status}`
        : networkReason(error as Error);
      const what = request.file ?? request.repository.name;
      this.#notice(`${what}: ${why}; trying again in ${(pause / 1000).toFixed(1)} s`);
      await this.#sleep(pause);
    }
  }

  /**
   * Sends one request and follows redirects. With `stay` it stops at the first response of the Hub
   * that describes the file, even if this is a redirect.
   * @throws HttpStatus, TimedOut, TypeError (no connection), Interrupted
   */
  async send(
    method: Method,
    address: string,
    options: {
      timeout: number;
      stay?: boolean;
      range?: string;
      headers?: Readonly<Record<string, string>>;
      body?: string | Uint8Array<ArrayBuffer>;
    },
  ): Promise<Reply> {
    const idleTimeout = new IdleTimeout(options.timeout, this.#signal);
    let response: Response | null = null;
    try {
      let url = new URL(address);
      for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
        response = await this.#fetch(method, url, options, idleTimeout);
        idleTimeout.restart();
        const next = redirect(response, url);
        // The Hub redirects to another origin for the content; the headers of this redirect
        // describe the file.
        const { headers } = response, isElsewhere = next !== null && next.origin !== url.origin;
        const stays = next === null || options.stay === true && headers.has("x-repo-commit") &&
            (isElsewhere || headers.has("x-linked-etag"));
        if (stays && (response.ok || next !== null)) return reply(response, idleTimeout);
        if (stays) throw await statusOf(response);
        await discard(response);
        url = next;
      }
      throw new RgxError(`${new URL(address).origin}: redirects without end`);
    } catch (error) {
      idleTimeout.close();
      await discard(response);
      throw this.#signal?.aborted ? interruption(this.#signal) : idleTimeout.explain(error);
    }
  }

  async #fetch(
    method: string,
    url: URL,
    { range, headers: more = {}, body }: Parameters<HubHttp["send"]>[2],
    idleTimeout: IdleTimeout,
  ): Promise<Response> {
    const { token, endpoint } = this.settings;
    const headers: Record<string, string> = {
      // Without compression, lengths and ranges are those of the file.
      "accept-encoding": "identity",
      "user-agent": `rgx/${VERSION}`,
      ...more,
    };
    if (token !== null && url.origin === new URL(endpoint).origin) {
      headers["authorization"] = `Bearer ${token}`;
    }
    if (range !== undefined) headers["range"] = range;
    return await fetch(url, {
      method,
      headers,
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
      signal: idleTimeout.signal,
      ...(this.#client === null ? {} : { client: this.#client }),
    });
  }

  #checkSignal(): void {
    if (this.#signal?.aborted) throw interruption(this.#signal);
  }

  async #sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#signal?.addEventListener("abort", done);
    });
    this.#checkSignal();
  }
}

/** The error of an aborted signal: its reason if that is an RgxError, else Interrupted. */
export function interruption(signal: AbortSignal): Error {
  return signal.reason instanceof RgxError ? signal.reason : new Interrupted();
}

/** The time-out of a request: aborts when too little arrives in `limit` ms or `outer` aborts. */
class IdleTimeout {
  readonly #control = new AbortController();
  readonly #stop = () => this.#control.abort();
  #stopTimer = () => {};
  #late = false;
  /** Bytes since the time-out began. */
  #arrived = 0;

  constructor(readonly limit: number, readonly outer: AbortSignal | null) {
    outer?.addEventListener("abort", this.#stop);
    if (outer?.aborted) this.#stop();
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  /** Restarts the time-out. */
  restart(): void {
    this.#arrived = 0;
    this.#stopTimer();
    this.#stopTimer = runningTimeout(() => {
      this.#late = true;
      this.#stop();
    }, this.limit);
  }

  /** Restarts the time-out when enough bytes have come. */
  arrived(bytes: number): void {
    this.#arrived += bytes;
    if (this.#arrived >= LEAST_BYTES) this.restart();
  }

  explain(error: unknown): unknown {
    if (!this.#late) return error;
    const found = this.#arrived === 0
      ? `no sign of life for ${this.limit / 1000} s`
      : `only ${this.#arrived} bytes in ${this.limit / 1000} s`;
    return new TimedOut(found);
  }

  close(): void {
    this.#stopTimer();
    this.outer?.removeEventListener("abort", this.#stop);
  }
}

function reply(response: Response, idleTimeout: IdleTimeout): Reply {
  return {
    response,
    async *body() {
      try {
        for await (const bytes of response.body ?? []) {
          idleTimeout.arrived(bytes.length);
          yield bytes;
        }
      } catch (error) {
        if (idleTimeout.outer?.aborted) throw interruption(idleTimeout.outer);
        // A broken connection becomes a TypeError, which counts as temporary (`isTemporary`).
        const explained = idleTimeout.explain(error);
        throw explained instanceof Error && !(explained instanceof TimedOut)
          ? new TypeError(`the connection was cut: ${networkReason(explained)}`)
          : explained;
      }
    },
    async close() {
      idleTimeout.close();
      await discard(response);
    },
  };
}

/** Cancels an unwanted body. A body whose connection broke cannot be cancelled; that is ignored. */
async function discard(response: Response | null): Promise<void> {
  if (response?.body?.locked === false) await response.body.cancel().catch(() => {});
}

/** The target of a redirect; null when the response is none. */
function redirect(response: Response, from: URL): URL | null {
  const location = response.headers.get("location");
  if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return null;
  let to: URL;
  try {
    to = new URL(location, from);
  } catch {
    throw new RgxError(`${from.origin}: redirects to what is no address`);
  }
  const safe = to.protocol === "https:" || to.protocol === "http:" && from.protocol === "http:";
  if (!safe) {
    throw new RgxError(`${from.origin}: redirects to ${to.protocol}, which is not followed`);
  }
  return to;
}

async function statusOf(response: Response): Promise<HttpStatus> {
  const { headers, status } = response;
  let text = headers.get("x-error-message") ?? "";
  if (text === "") {
    const body = (await response.text()).slice(0, 4096);
    text = /"error"\s*:\s*"([^"]*)"/.exec(body)?.[1] ?? "";
  } else await response.body?.cancel();
  const delay = askedDelay(status, headers, Date.now());
  return new HttpStatus(status, headers.get("x-error-code"), text, delay);
}

function isTemporary(error: unknown): boolean {
  if (error instanceof HttpStatus) return TEMPORARY.has(error.status) || error.status >= 500;
  if (error instanceof TimedOut) return true;
  return error instanceof TypeError && !isCertificateError(networkReason(error));
}
