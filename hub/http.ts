/**
 * HTTP requests to the Hub, with time-outs and retries. Redirects are followed here and not by
 * `fetch`, so that the token is sent to the origin of the endpoint only. The Hub's chunk protocol
 * (Xet) is not supported; every file is available without it.
 */
import { Interrupted, RgxError } from "../core/errors.ts";
import {
  discard,
  HttpClient,
  IdleTimeout,
  isCertificateError,
  networkReason,
  TimedOut,
} from "../core/remote/http.ts";
import { askedDelay, retrying } from "../core/remote/retry.ts";
import { VERSION } from "../core/version.ts";
import { HttpStatus, refusal, type Target } from "./refusal.ts";
import type { Repository } from "./repository.ts";
import type { HubSettings } from "./settings.ts";

export interface HttpOptions {
  /** Maximum number of attempts in a row without progress; default 5. */
  attempts?: number;
  /** Milliseconds before the second attempt, doubled for each further one; default 500. */
  firstDelay?: number;
  signal?: AbortSignal;
  onNotice?: (message: string) => void;
}

export type Method = "GET" | "HEAD" | "POST" | "PUT";

/** The parts of a request besides its method. */
export interface Sent {
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array<ArrayBuffer>;
  /** Milliseconds; default: the time-out of metadata. */
  timeout?: number;
  range?: string;
  /** Stop at the first response of the Hub that describes the file, even if it is a redirect. */
  stay?: boolean;
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

export class HubHttp implements Target {
  readonly #attempts: number;
  readonly #firstDelay: number;
  readonly #signal: AbortSignal | null;
  readonly #notice: (message: string) => void;
  readonly #client: HttpClient;

  constructor(
    readonly settings: HubSettings,
    readonly repository: Repository,
    readonly revision: string,
    options: HttpOptions = {},
  ) {
    this.#attempts = options.attempts ?? 5;
    this.#firstDelay = options.firstDelay ?? 500;
    this.#signal = options.signal ?? null;
    this.#notice = options.onNotice ?? (() => {});
    this.#client = new HttpClient(settings.certificates);
  }

  close(): void {
    this.#client[Symbol.dispose]();
  }

  /** Fetches a text. @param file what it is about, for messages. @throws RgxError */
  async text(
    url: string,
    { method = "GET", file = null, ...sent }: Sent & { method?: Method; file?: string | null } = {},
  ): Promise<string> {
    return await this.retrying(file, async () => {
      const reply = await this.send(method, url, sent);
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
   * @param file what it is about, for messages; null = the repository
   * @param attempt calls `progressed` when it got further, which resets the count of attempts
   * @throws RgxError, Interrupted
   */
  async retrying<T>(
    file: string | null,
    attempt: (progressed: () => void) => Promise<T>,
  ): Promise<T> {
    return await retrying(attempt, {
      attempts: this.#attempts,
      firstDelay: this.#firstDelay,
      signal: this.#signal,
      checkEnd: () => {
        if (this.#signal?.aborted) throw interruption(this.#signal);
      },
      isTemporary,
      askedDelay: (error) => error instanceof HttpStatus ? error.delay : null,
      onRetry: (error, _attempts, delay) => {
        const why = error instanceof HttpStatus
          ? `answer ${error.status}`
          : networkReason(error as Error);
        const what = file ?? this.repository.name;
        this.#notice(`${what}: ${why}; trying again in ${(delay / 1000).toFixed(1)} s`);
      },
      failure: (error, attempts) => refusal(error, this, file, attempts),
    });
  }

  /** Sends a request, follows redirects. @throws HttpStatus, TimedOut, TypeError, Interrupted */
  async send(method: Method, address: string, sent: Sent): Promise<Reply> {
    const { timeout = this.settings.metadataTimeout, stay, range, body, headers } = sent;
    const idleTimeout = new IdleTimeout(timeout, this.#signal, LEAST_BYTES);
    const { token, endpoint } = this.settings, origin = new URL(endpoint).origin;
    let response: Response | null = null, isRedirect = false, hops = 0;
    try {
      const init = {
        method,
        signal: idleTimeout.signal,
        ...(body === undefined ? {} : { body }),
        headers: {
          // Without compression, lengths and ranges refer to the file itself.
          "accept-encoding": "identity",
          "user-agent": `rgx/${VERSION}`,
          ...headers,
          ...(range === undefined ? {} : { range }),
        },
      };
      response = await this.#client.send(new URL(address), init, {
        headers: (url): Record<string, string> =>
          token !== null && url.origin === origin ? { authorization: `Bearer ${token}` } : {},
        next: (response, url) => {
          idleTimeout.restart();
          const next = redirect(response, url);
          // The Hub redirects to another origin for the content; the headers of this redirect
          // describe the file.
          const { headers } = response, isElsewhere = next !== null && next.origin !== url.origin;
          const describes = headers.has("x-repo-commit") &&
            (isElsewhere || headers.has("x-linked-etag"));
          isRedirect = next !== null;
          if (next === null || stay && describes) return null;
          if (hops++ < MAX_REDIRECTS) return next;
          throw new RgxError(`${new URL(address).origin}: redirects without end`);
        },
      });
      if (!response.ok && !isRedirect) throw await statusOf(response);
      return reply(response, idleTimeout);
    } catch (error) {
      idleTimeout[Symbol.dispose]();
      if (response !== null) await discard(response);
      throw this.#signal?.aborted ? interruption(this.#signal) : idleTimeout.explain(error);
    }
  }
}

/** The error of an aborted signal: its reason if that is an RgxError, else Interrupted. */
export function interruption(signal: AbortSignal): Error {
  return signal.reason instanceof RgxError ? signal.reason : new Interrupted();
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
      idleTimeout[Symbol.dispose]();
      await discard(response);
    },
  };
}

/** The target of a redirect; null for any other response. */
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
