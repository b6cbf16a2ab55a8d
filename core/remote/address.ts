/**
 * The address of a server, and the key to it. Secrets (the key, a password or a query in the
 * address) go only to the server; results and messages have the plain address.
 */
import { UsageError } from "../errors.ts";
import { type HttpClient, type IdleTimeout, jsonBody } from "./http.ts";
import { HttpError, httpError } from "./refusal.ts";

/** Shorter keys are placeholders such as "EMPTY", which may be part of any message. */
const MIN_SECRET_LENGTH = 8;
const MAX_REDIRECTS = 5;
const DEFAULT_KEY_NAME = "OPENAI_API_KEY";

/** The address without slash, query or password, with `/v1` where needed. @throws UsageError */
export function baseUrl(given: string): string {
  const { origin, pathname } = targetOf(given);
  return origin + pathname;
}

export class ServerAddress {
  /** The address for results and messages. */
  readonly url: string;
  readonly keyName: string;
  readonly #target: URL;
  readonly #key: string | null;

  /** @param keyName variable of the key; OPENAI_API_KEY may be unset. @throws UsageError */
  constructor(given: string, keyName?: string) {
    this.url = baseUrl(given);
    this.#target = targetOf(given);
    // A text that is not a name may be the key itself, so the message does not show it.
    if (keyName !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(keyName)) {
      throw new UsageError(
        "--api-key-env or api_key_env: expected the name of an environment variable",
        {
          advice: `The variable holds the key itself: ${DEFAULT_KEY_NAME}=… rgx …`,
        },
      );
    }
    this.keyName = keyName ?? DEFAULT_KEY_NAME;
    this.#key = Deno.env.get(this.keyName)?.trim() || null;
    if (this.#key !== null && !/^[\x20-\x7e]*$/.test(this.#key)) {
      throw new UsageError(`the key in ${this.keyName} has characters that no key has`, {
        advice: "A line break, a quotation mark of a text, letters beyond ASCII?",
      });
    }
  }

  /**
   * Sends a request. A redirect is followed only to the same host, and only if the request stays
   * the same. So the question and the key go to no other host.
   * @throws HttpError for another redirect; TypeError when there is no connection
   */
  async fetch(path: string, client: HttpClient, init: RequestInit): Promise<Response> {
    const url = new URL(this.#target);
    url.pathname += path;
    let hops = 0;
    return await client.send(url, init, {
      headers: () => this.#keyHeaders(),
      next: (response, from) => {
        const location = response.headers.get("location"), { status } = response;
        if (location === null || status < 300 || status > 399) return null;
        const to = new URL(location, from), isSame = init.method === undefined || status >= 307;
        if (isSame && to.origin === from.origin && hops++ < MAX_REDIRECTS) return to;
        const where = to.origin + to.pathname.replace(new RegExp(`${path}$`), "");
        throw new HttpError(status, `the server redirects to ${where}: is that its address?`, null);
      },
    });
  }

  /**
   * The answer to a request: JSON, or a text that is none. A body is sent by POST.
   * @throws HttpError; TypeError when there is no connection; what the timeout explains
   */
  async ask(
    path: string,
    client: HttpClient,
    timeout: IdleTimeout,
    body: Readonly<Record<string, unknown>> | null = null,
  ): Promise<unknown> {
    try {
      const init = { ...(body === null ? {} : jsonBody(body)), signal: timeout.signal };
      const response = await this.fetch(path, client, init);
      if (!response.ok) throw await httpError(response);
      const text = await response.text();
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    } catch (error) {
      throw timeout.explain(error);
    }
  }

  #keyHeaders(): Record<string, string> {
    const key = this.#key, { hostname, searchParams } = this.#target;
    if (key === null) return {};
    const isAzure = searchParams.has("api-version") || hostname.endsWith(".azure.com");
    return { authorization: `Bearer ${key}`, ...(isAzure && { "api-key": key }) };
  }

  /** The origin of the key, for the message about a refused key. */
  get keyHint(): string {
    return this.#key === null
      ? `no key was sent: ${this.keyName} is not set`
      : `key of ${this.keyName}`;
  }

  /** Removes the key from a text of the server: some servers repeat it. */
  hide(text: string): string {
    const key = this.#key;
    return key === null || key.length < MIN_SECRET_LENGTH ? text : text.replaceAll(key, "…");
  }
}

/** The whole address without a final slash and without the name of an endpoint. */
function targetOf(given: string): URL {
  const advice = "The server's address is --base-url, base_url of a file, or OPENAI_BASE_URL.";
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    throw new UsageError(`${given}: not an address, expected http://HOST:PORT/v1`, { advice });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new UsageError(`${given}: expected http:// or https://`, { advice });
  }
  url.hash = "";
  const path = url.pathname.replace(/\/+$/, "");
  const base = path.replace(/\/(chat\/)?completions$/, "");
  // A path with a version (Azure has it in the query) or an endpoint is used unchanged.
  const isWhole = base !== path || /\/v\d+[a-z0-9]*(\/|$)/.test(base) ||
    url.searchParams.has("api-version");
  url.pathname = isWhole ? base : `${base}/v1`;
  return url;
}
