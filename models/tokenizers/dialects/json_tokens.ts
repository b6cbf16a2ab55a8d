/**
 * Reads JSON while it comes, as models write it: texts may have other quotes, and keys may have
 * none. It takes what `parseContent` takes.
 */

export type JsonToken =
  | { kind: "open" | "close"; text: string }
  | { kind: "key"; text: string }
  /** More of a text, without quotes and escapes. */
  | { kind: "text"; text: string; isFirst: boolean; isLast: boolean }
  /** A number, true, false or null. */
  | { kind: "value"; text: string };

const ESCAPE = String.raw`\\(?:["\\/bfnrt]|u[\da-fA-F]{4})`;
const RUN = new RegExp(String.raw`^(?:[^"\\\x00-\x1f]|${ESCAPE})+`);
const CUT_ESCAPE = /^\\(?:u[\da-fA-F]{0,3})?$/;
const SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?=[\s,\]}])/;
const BARE_KEY = /^[\p{L}\p{N}_]+(?=:)/u;

export class JsonTokens {
  #rest = "";
  readonly #open: string[] = [];
  #state: "value" | "first value" | "key" | "first key" | "colon" | "next" = "value";
  /** The text that is open: what ends it, and what came of a key. */
  #quote: { close: string; key: string | null; isFirst: boolean } | null = null;
  /** The first half of a character whose second half has not come. */
  #half = "";
  /** Whether something came that is no JSON. Nothing after it is read. */
  #isWrong = false;
  readonly #quotes: readonly (readonly [string, string])[];

  /** @param args of the field: `string_delims` and `unquoted_keys` */
  constructor(private readonly args: Readonly<Record<string, unknown>>) {
    this.#quotes = [['"', '"'], ...(args["string_delims"] ?? []) as [string, string][]];
  }

  push(text: string): JsonToken[] {
    this.#rest += text;
    const tokens: JsonToken[] = [];
    while (!this.#isWrong) {
      const { length } = this.#rest, token = this.#quote === null ? this.#next() : this.#text();
      if (token !== null) tokens.push(token);
      else if (this.#rest.length === length) break;
    }
    return tokens;
  }

  /** Null where nothing is whole yet, or only a sign was read. */
  #next(): JsonToken | null {
    this.#rest = this.#rest.trimStart();
    const first = this.#rest[0], last = this.#open.at(-1), state = this.#state;
    if (first === undefined) return null;
    const isKey = state === "key" || state === "first key";
    if (state === "colon" || (state === "next" && first === "," && last !== undefined)) {
      if (state === "colon" && first !== ":") return this.#wrong();
      this.#rest = this.#rest.slice(1);
      this.#state = state === "next" && last === "{" ? "key" : "value";
      return null;
    }
    const isFirst = state === "first key" || state === "first value";
    if ((isFirst || state === "next") && first === (last === "{" ? "}" : "]")) {
      if (this.#open.pop() === undefined) return this.#wrong();
      this.#state = "next";
      return this.#took("close", 1);
    }
    if (state === "next") return this.#wrong();
    for (const [open, close] of this.#quotes) {
      if (this.#rest.startsWith(open)) {
        this.#rest = this.#rest.slice(open.length);
        this.#quote = { close, key: isKey ? "" : null, isFirst: true };
        return null;
      }
      if (open.startsWith(this.#rest)) return null;
    }
    if (isKey) {
      if (this.args["unquoted_keys"] !== true) return this.#wrong();
      const [key] = BARE_KEY.exec(this.#rest) ?? [];
      if (key === undefined) return this.#unlessCut(/^[\p{L}\p{N}_]+$/u);
      this.#state = "colon";
      return this.#took("key", key.length);
    }
    if (first === "{" || first === "[") {
      this.#open.push(first);
      this.#state = first === "{" ? "first key" : "first value";
      return this.#took("open", 1);
    }
    const [scalar] = SCALAR.exec(this.#rest) ?? [];
    if (scalar === undefined) return this.#unlessCut(/^[-+.\w]+$/);
    this.#state = "next";
    return this.#took("value", scalar.length);
  }

  #took(kind: "open" | "close" | "key" | "value", length: number): JsonToken {
    const text = this.#rest.slice(0, length);
    this.#rest = this.#rest.slice(length);
    return { kind, text };
  }

  #wrong(): null {
    this.#isWrong = true;
    return null;
  }

  /** What does not fit is wrong, unless the rest of it has not come. */
  #unlessCut(begun: RegExp): null {
    return begun.test(this.#rest) ? null : this.#wrong();
  }

  #text(): JsonToken | null {
    const { close, key, isFirst } = this.#quote!,
      run = close === '"' ? this.#run() : this.#until(close);
    if (run === null) return null;
    let text = this.#half + run;
    const isLast = this.#rest.startsWith(close);
    this.#half = !isLast && /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : "";
    text = text.slice(0, text.length - this.#half.length);
    if (isLast) {
      this.#rest = this.#rest.slice(close.length);
      this.#quote = null;
      this.#state = key === null ? "next" : "colon";
      return key === null
        ? { kind: "text", text, isFirst, isLast }
        : { kind: "key", text: key + text };
    }
    this.#quote = { close, key: key === null ? null : key + text, isFirst: isFirst && text === "" };
    return key !== null || text === "" ? null : { kind: "text", text, isFirst, isLast };
  }

  #run(): string | null {
    const [run = ""] = RUN.exec(this.#rest) ?? [], rest = this.#rest.slice(run.length);
    if (rest !== "" && rest[0] !== '"' && !CUT_ESCAPE.test(rest)) return this.#wrong();
    this.#rest = rest;
    return JSON.parse(`"${run}"`);
  }

  #until(close: string): string {
    const end = this.#rest.indexOf(close);
    let length = end < 0 ? this.#rest.length : end;
    // What may be the beginning of `close` waits.
    for (let n = close.length - 1; end < 0 && n > 0; n--) {
      if (!this.#rest.endsWith(close.slice(0, n))) continue;
      length -= n;
      break;
    }
    const run = this.#rest.slice(0, length);
    this.#rest = this.#rest.slice(length);
    return run;
  }
}
