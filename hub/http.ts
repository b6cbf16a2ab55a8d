/**
 * Requests to the Hub: redirects by hand (the token goes to the endpoint's own origin and nowhere else), an end
 * to waiting, and the same once more where that may help. Left out: the Hub's chunk protocol (Xet), without
 * which every file can be had too.
 */
import { Interrupted, RgxError } from "../core/errors.ts";
import { clientTrusting, isCertificateError, networkReason } from "../core/network.ts";
import { askedDelay, backoff, MOST_PATIENCE_MS } from "../core/retry_delay.ts";
import { VERSION } from "../core/version.ts";
import { HttpStatus, refusal, type Request, TooLate } from "./refusal.ts";
import type { HubSettings } from "./settings.ts";

export interface HttpOptions {
  /** How often in a row a request is sent that brings nothing; default 5. */
  attempts?: number;
  /** Milliseconds before the second attempt, doubled for each further one; default 500. */
  firstDelay?: number;
  /** Ends everything. */
  signal?: AbortSignal;
  /** Told why something takes longer. */
  onNotice?: (message: string) => void;
}

/** An answer whose body is still to be read, or cancelled. */
export interface Reply {
  readonly response: Response;
  /** Bytes of the body; every piece starts the time-out anew. */
  body(): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** To be called at the end, whatever happened. */
  close(): Promise<void>;
}

const MOST_REDIRECTS = 10;
const TEMPORARY = new Set([408, 425, 429]);
/** A list of files is longer than this in no repository; a server that sends more is none of the Hub. */
const LONGEST_TEXT = 1 << 28;

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

  /** The text of an address. @throws RgxError that explains why there is none */
  async text(url: string, request: Request): Promise<string> {
    return await this.retrying(request, async () => {
      const reply = await this.send("GET", url, { timeout: this.settings.metadataTimeout });
      try {
        const decoder = new TextDecoder();
        let text = "";
        for await (const bytes of reply.body()) {
          text += decoder.decode(bytes, { stream: true });
          if (text.length > LONGEST_TEXT) throw new RgxError(`${url}: the answer is too long`);
        }
        return text + decoder.decode();
      } finally {
        await reply.close();
      }
    });
  }

  /**
   * Does `attempt` until it succeeds, as long as that may help.
   * @param attempt says by `progressed` that it got further: then it has all its attempts again
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
      if (!isTemporary(error) || tried >= this.#attempts || (asked ?? 0) > MOST_PATIENCE_MS) {
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
   * One request. Redirects are followed; with `stay` only until the Hub itself has said what
   * a file is.
   * @throws HttpStatus, TooLate, TypeError (no connection), Interrupted
   */
  async send(
    method: "GET" | "HEAD",
    address: string,
    options: { timeout: number; stay?: boolean; range?: string },
  ): Promise<Reply> {
    const patience = new Patience(options.timeout, this.#signal);
    let response: Response | null = null;
    try {
      let url = new URL(address);
      for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
        response = await this.#fetch(method, url, options.range, patience);
        patience.wind();
        const next = redirect(response, url);
        // The Hub sends elsewhere for the content, and says beside it what that is.
        const { headers } = response, isElsewhere = next !== null && next.origin !== url.origin;
        const stays = next === null || options.stay === true && headers.has("x-repo-commit") &&
            (isElsewhere || headers.has("x-linked-etag"));
        if (stays && (response.ok || next !== null)) return reply(response, patience);
        if (stays) throw await statusOf(response);
        await discard(response);
        url = next;
      }
      throw new RgxError(`${new URL(address).origin}: redirects without end`);
    } catch (error) {
      patience.close();
      await discard(response);
      throw this.#signal?.aborted ? interruption(this.#signal) : patience.explain(error);
    }
  }

  async #fetch(
    method: string,
    url: URL,
    range: string | undefined,
    patience: Patience,
  ): Promise<Response> {
    const { token, endpoint } = this.settings;
    const headers: Record<string, string> = {
      // Sizes and positions are those of the file itself.
      "accept-encoding": "identity",
      "user-agent": `rgx/${VERSION}`,
    };
    if (token !== null && url.origin === new URL(endpoint).origin) {
      headers["authorization"] = `Bearer ${token}`;
    }
    if (range !== undefined) headers["range"] = range;
    return await fetch(url, {
      method,
      headers,
      redirect: "manual",
      signal: patience.signal,
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

/** The error of a signal: its own reason, where that is one for the user. */
export function interruption(signal: AbortSignal): Error {
  return signal.reason instanceof RgxError ? signal.reason : new Interrupted();
}

/** Waits for signs of life, and aborts when there is none for too long, or when everything ends. */
class Patience {
  readonly #control = new AbortController();
  readonly #stop = () => this.#control.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #late = false;

  constructor(readonly limit: number, readonly outer: AbortSignal | null) {
    outer?.addEventListener("abort", this.#stop);
    if (outer?.aborted) this.#stop();
    this.wind();
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  wind(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#late = true;
      this.#stop();
    }, this.limit);
  }

  explain(error: unknown): unknown {
    return this.#late ? new TooLate(`no sign of life for ${this.limit / 1000} s`) : error;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.outer?.removeEventListener("abort", this.#stop);
  }
}

function reply(response: Response, patience: Patience): Reply {
  return {
    response,
    async *body() {
      try {
        for await (const bytes of response.body ?? []) {
          patience.wind();
          yield bytes;
        }
      } catch (error) {
        if (patience.outer?.aborted) throw interruption(patience.outer);
        // A body that breaks off is no error of the program.
        const explained = patience.explain(error);
        throw explained instanceof Error && !(explained instanceof TooLate)
          ? new TypeError(`the connection was cut: ${networkReason(explained)}`)
          : explained;
      }
    },
    async close() {
      patience.close();
      await discard(response);
    },
  };
}

/** Ends an answer whose body is not wanted. One that broke off cannot be cancelled any more. */
async function discard(response: Response | null): Promise<void> {
  if (response?.body?.locked === false) await response.body.cancel().catch(() => {});
}

/** Where an answer sends to; null when it is no redirect. */
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
  if (error instanceof TooLate) return true;
  return error instanceof TypeError && !isCertificateError(networkReason(error));
}
