/**
 * Fields of a request that a server refuses. They are recognised from the server's error messages,
 * and then left out or renamed for the whole run.
 */
import type { HttpError } from "./refusal.ts";

export type Body = Record<string, unknown>;

/** Fields that a server may not know. */
const OPTIONAL = [
  "stream_options",
  "seed",
  "top_p",
  "temperature",
  "top_k",
  "min_p",
  "repetition_penalty",
  "stop",
  "stream",
  "n",
  "provider",
];
/** Matches "use another field", but not "the value is too large". */
const WRONG_NAME =
  /\b(?:use|instead|deprecated|unsupported|unknown)\b|unrecogni[sz]ed|\bnot (?!more)/i;

export class Fields {
  readonly #dropped = new Set<string>();
  /** Whether `max_tokens` is sent by its newer name. */
  #modernMaxTokens = false;
  /** The changes, in words. */
  readonly notes: string[] = [];

  /** @param onNote called once for every changed field */
  constructor(readonly onNote: (note: string) => void) {}

  /** The body with the changes so far. */
  adjusted(body: Body): Body {
    const sent: Body = {};
    for (const [name, value] of Object.entries(body)) {
      if (this.#dropped.has(name)) continue;
      sent[name === "max_tokens" && this.#modernMaxTokens ? "max_completion_tokens" : name] = value;
    }
    return sent;
  }

  /** Learns from an error. @returns whether a field was sent that can be left out or renamed */
  learn(error: HttpError, sent: Body): boolean {
    if (error.status !== 400 && error.status !== 422) return false;
    const { message } = error, param = error.field("param");
    const names = (field: string) =>
      param === field ||
      (field.length > 4
        ? new RegExp(`\\b${field}\\b`).test(message)
        : new RegExp(`['"\`]${field}['"\`]`).test(message));
    if (
      "max_tokens" in sent && names("max_tokens") && /max_completion_tokens/.test(message) &&
      WRONG_NAME.test(message)
    ) {
      // Here and below: another request may have made the same change already.
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

  #note(note: string): true {
    this.notes.push(note);
    this.onNote(note);
    return true;
  }
}
