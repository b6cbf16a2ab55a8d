/** Errors of a server, and whether another attempt may help. */
import { RgxError } from "../errors.ts";
import { askedDelay, MAX_RETRY_DELAY_MS } from "./retry.ts";

type Json = Record<string, unknown>;

/** The answer is cut off or malformed; asking again may help. */
export class BadReply extends Error {}

/** An answer with an error status, or a successful answer that contains such an error. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    /** The body of the answer, as JSON or text. */
    readonly said: unknown,
    /** Milliseconds that the server asks to wait. */
    readonly delay: number | null,
  ) {
    super(typeof said === "string" ? said : messageOf(said));
  }

  /** A field of the error, such as "param" or "code". */
  field(name: string): unknown {
    return ((this.said as Json | null)?.["error"] as Json | null)?.[name];
  }
}

/** A server will refuse all further questions too: no key, no such model, no money. */
export class Refused extends RgxError {
  constructor(message: string, readonly status: number, advice?: string) {
    super(message, advice === undefined ? {} : { advice });
  }
}

const MAX_MESSAGE = 500;
const RETRIED = new Set([408, 409, 425, 429]);
const HOPELESS = new Set([401, 402, 403, 404]);

export function isTemporary(error: unknown): boolean {
  if (!(error instanceof HttpError)) return true; // cut off, malformed or late
  return isPassing(error.status) && !isHopeless(error);
}

const isPassing = (status: number) => RETRIED.has(status) || status >= 500;

/** Whether the server refuses everything: also a redirect, a used-up quota, or a very long wait. */
export function isHopeless(error: HttpError): boolean {
  return HOPELESS.has(error.status) || error.status < 400 || wantsPatience(error) ||
    (error.status === 429 && error.field("code") === "insufficient_quota");
}

/** Whether the server asks for a longer wait than makes sense. */
export function wantsPatience({ status, delay }: HttpError): boolean {
  return isPassing(status) && (delay ?? 0) > MAX_RETRY_DELAY_MS;
}

export async function httpError(response: Response): Promise<HttpError> {
  const text = await response.text();
  const delay = askedDelay(response.status, response.headers, Date.now());
  try {
    const json = JSON.parse(text);
    // Gemini wraps its errors in a list.
    return new HttpError(response.status, Array.isArray(json) ? json[0] : json, delay);
  } catch {
    return new HttpError(response.status, excerpt(text), delay); // perhaps a proxy's page
  }
}

/** The error within a successful answer: some servers find an error after they began to answer. */
export function errorWithin(holder: Json, saying: string): Error {
  const code = (holder["error"] as Json | null)?.["code"];
  const isStatus = typeof code === "number" && code >= 400 && code < 600;
  return isStatus
    ? new HttpError(code, holder, null)
    : new BadReply(`${saying}: ${messageOf(holder)}`);
}

export const excerpt = (text: string) => JSON.stringify(text.slice(0, 200));

/** The server's error message on one line, cut since some servers repeat the whole request. */
export function messageOf(json: unknown): string {
  const text = wholeMessage(json).replace(/\s+/g, " ").trim();
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}

function wholeMessage(json: unknown): string {
  const error = (json as Json | null)?.["error"] ?? json;
  if (typeof error === "string") return error;
  const message = (error as Json | null)?.["message"] ?? (error as Json | null)?.["detail"];
  const details = (message as Json | null)?.["detail"] ?? message;
  if (Array.isArray(details)) return details.map(detailText).join("; ");
  return typeof message === "string" ? message : JSON.stringify(error ?? null);
}

/** An entry of the list that servers in Python give: {"loc": ["body", "seed"], "msg": "…"}. */
function detailText(detail: Json | null): string {
  const { loc, msg } = detail ?? {};
  const field = Array.isArray(loc) ? `'${loc.at(-1)}': ` : "";
  return typeof msg === "string" ? field + msg : JSON.stringify(detail);
}
