/** What goes wrong when a server is asked, and what that means: whether it may help to ask again, or anything else. */
import { askedDelay, MAX_PATIENCE_MS } from "../../core/retry_delay.ts";

type Json = Record<string, unknown>;

/** The answer is cut off or not what it should be; asking again may help. */
export class BadReply extends Error {}

/** An answer other than success, or an answer of success that says to be another. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    /** Its "error", or all of it. */
    readonly said: unknown,
    /** Milliseconds that the server asks to wait. */
    readonly delay: number | null,
  ) {
    super(typeof said === "string" ? said : messageOf(said));
  }

  /** "param" or "code" of the error. */
  field(name: string): unknown {
    return ((this.said as Json | null)?.["error"] as Json | null)?.[name];
  }
}

/** Characters of a server's message. */
const LONGEST_MESSAGE = 500;
/** Asking the same again may help. */
const RETRIED = new Set([408, 409, 425, 429]);
/** The server wants nothing of us, whatever we ask. */
const HOPELESS = new Set([401, 402, 403, 404]);

export function isTemporary(error: unknown): boolean {
  if (!(error instanceof HttpError)) return true; // cut off, garbled or late
  return isPassing(error.status) && !isHopeless(error);
}

const isPassing = (status: number) => RETRIED.has(status) || status >= 500;

/** Also another address, money that is used up, and a wait that is too long. */
export function isHopeless(error: HttpError): boolean {
  return HOPELESS.has(error.status) || error.status < 400 || wantsPatience(error) ||
    (error.status === 429 && error.field("code") === "insufficient_quota");
}

/** Whether the server asks to wait longer than makes sense. */
export function wantsPatience({ status, delay }: HttpError): boolean {
  return isPassing(status) && (delay ?? 0) > MAX_PATIENCE_MS;
}

export async function httpError(response: Response): Promise<HttpError> {
  const text = await response.text();
  const delay = askedDelay(response.status, response.headers, Date.now());
  try {
    const json = JSON.parse(text);
    // Gemini puts its errors into a list.
    return new HttpError(response.status, Array.isArray(json) ? json[0] : json, delay);
  } catch {
    return new HttpError(response.status, excerpt(text), delay); // a proxy's page
  }
}

/** The error that an answer of success holds: some servers have begun to answer when they find out. */
export function errorWithin(holder: Json, saying: string): Error {
  const code = (holder["error"] as Json | null)?.["code"];
  const isStatus = typeof code === "number" && code >= 400 && code < 600;
  return isStatus
    ? new HttpError(code, holder, null)
    : new BadReply(`${saying}: ${messageOf(holder)}`);
}

export const excerpt = (text: string) => JSON.stringify(text.slice(0, 200));

/** The message of an error answer, as the server wrote it, on one line: some repeat the whole request. */
export function messageOf(json: unknown): string {
  const text = wholeMessage(json).replace(/\s+/g, " ").trim();
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;
}

function wholeMessage(json: unknown): string {
  const error = (json as Json | null)?.["error"] ?? json;
  if (typeof error === "string") return error;
  const message = (error as Json | null)?.["message"] ?? (error as Json | null)?.["detail"];
  const details = (message as Json | null)?.["detail"] ?? message;
  if (Array.isArray(details)) return details.map(detailText).join("; ");
  return typeof message === "string" ? message : JSON.stringify(error ?? null);
}

/** An entry of the list that servers in Python give for fields: {"loc": ["body", "seed"], "msg": "…"}. */
function detailText(detail: Json | null): string {
  const { loc, msg } = detail ?? {};
  const field = Array.isArray(loc) ? `'${loc.at(-1)}': ` : "";
  return typeof msg === "string" ? field + msg : JSON.stringify(detail);
}
