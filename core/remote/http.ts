/**
 * The HTTP client of all connections to other programs: trusted certificates, redirects, limits in
 * time, and the reasons of failures for messages. Redirects are followed here and not by `fetch`,
 * so that a key is sent only to its own server.
 */
import { UsageError } from "../errors.ts";
import { runningTimeout } from "../machine/running_time.ts";
import { whyUnreadable } from "../text_file.ts";

/** What a request sends to each address, and how it reacts to the response. */
export interface Hops {
  /** The headers for an address, such as a key that only its own server may see. */
  headers(url: URL): Readonly<Record<string, string>>;
  /** Where a response redirects to; null if it is the answer. Throws the request's failure. */
  next(response: Response, from: URL): URL | null;
}

export class HttpClient implements Disposable {
  readonly #client: Deno.HttpClient | null;

  /** @param certificates a file with further trusted ones. @throws UsageError for a wrong file */
  constructor(certificates: string | null = Deno.env.get("SSL_CERT_FILE") || null) {
    this.#client = certificates === null ? null : clientTrusting(certificates);
  }

  /** @throws what `hops.next` throws; TypeError when there is no connection; the signal's reason */
  async send(address: URL, init: RequestInit, hops: Hops): Promise<Response> {
    for (let url = address;;) {
      const response = await fetch(url, {
        ...init,
        headers: { ...init.headers as Record<string, string>, ...hops.headers(url) },
        redirect: "manual",
        ...(this.#client === null ? {} : { client: this.#client }),
      });
      let next: URL | null;
      try {
        next = hops.next(response, url);
      } catch (error) {
        await discard(response);
        throw error;
      }
      if (next === null) return response;
      await discard(response);
      url = next;
    }
  }

  [Symbol.dispose](): void {
    this.#client?.close();
  }
}

function clientTrusting(path: string): Deno.HttpClient {
  try {
    return Deno.createHttpClient({ caCerts: [Deno.readTextFileSync(path)] });
  } catch (error) {
    throw new UsageError(`SSL_CERT_FILE: ${path} cannot be used: ${whyUnreadable(error)}`, {
      cause: error,
    });
  }
}

/** Cancels an unwanted body. A body whose connection broke cannot be cancelled; that is ignored. */
export async function discard(response: Response): Promise<void> {
  if (response.body?.locked === false) await response.body.cancel().catch(() => {});
}

/** The error if too little was received within the limit. */
export class TimedOut extends Error {}

/** The limit of a request: aborts it when too little arrives in time, or when `outer` aborts. */
export class IdleTimeout implements Disposable {
  readonly #control = new AbortController();
  readonly #stop = () => this.#control.abort(this.outer?.reason);
  #stopTimer = () => {};
  #late = false;
  /** Bytes since the limit began. */
  #arrived = 0;

  /** @param limit milliseconds. @param least number of bytes after which it begins anew */
  constructor(readonly limit: number, readonly outer: AbortSignal | null, readonly least = 1) {
    outer?.addEventListener("abort", this.#stop);
    if (outer?.aborted) this.#stop();
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  restart(): void {
    this.#arrived = 0;
    this.#stopTimer();
    if (this.limit === Infinity) return;
    this.#stopTimer = runningTimeout(() => {
      this.#late = true;
      this.#control.abort();
    }, this.limit);
  }

  arrived(bytes: number): void {
    this.#arrived += bytes;
    if (this.#arrived >= this.least) this.restart();
  }

  /** The error, or TimedOut when it came from this limit. */
  explain(error: unknown): unknown {
    if (!this.#late) return error;
    const found = this.#arrived === 0
      ? `no sign of life for ${this.limit / 1000} s`
      : `only ${this.#arrived} bytes in ${this.limit / 1000} s`;
    return new TimedOut(found);
  }

  [Symbol.dispose](): void {
    this.#stopTimer();
    this.outer?.removeEventListener("abort", this.#stop);
  }
}

/** Whether the server is not trusted; repeating the request does not help then. */
export function isCertificateError(reason: string): boolean {
  return /certificate/i.test(reason);
}

/** What a request with a body of JSON has beside its address. */
export function jsonBody(body: unknown) {
  return {
    method: "POST" as const,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

/** Why a request failed: without a connection, the reason for that. */
export function reasonOf(error: unknown): string {
  return error instanceof TypeError ? networkReason(error) : (error as Error).message;
}

/** Why a connection failed, without the address: a signed address is a secret. */
export function networkReason(error: Error): string {
  // Depending on the version of Deno, the reason is in the innermost error or in the only one.
  if (error.cause instanceof Error) return networkReason(error.cause);
  const text = error.message
    .replace(/^error sending request(?: from \S+)?(?: for (?:url )?\S+(?: \([^)]*\))?)?:? ?/, "")
    .replace(/^(?:client error \([^)]*\): )+/, "").replace(/ ?\(os error \d+\)/g, "");
  return text === "" ? "the connection failed" : text;
}
