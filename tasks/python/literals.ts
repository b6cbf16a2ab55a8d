/**
 * Reads values in model text without executing anything. `parseJson` accepts what Python's
 * `json.loads` accepts, and `parseLiteral` what `ast.literal_eval` accepts. Neither throws. Both
 * take time linear in the length and refuse nesting beyond a fixed depth, so that recursive code
 * can process the value.
 *
 * Deviations: sets, dicts, bytes, complex numbers, `...` and `\N{name}` escapes are refused; an
 * indented empty last line, an error in Python, is accepted; JSON integers beyond 2^53 are rounded.
 */

import { type Literal, PyFloat, PyTuple } from "./values.ts";

export { type Literal, literalsEqual, PyDict, PyFloat, PyTuple } from "./values.ts";

/** Maximum nesting depth of `parseJson`. */
const JSON_DEPTH = 900;
/** Maximum nesting depth of brackets in Python's tokenizer, and so of `parseLiteral`. */
const LITERAL_DEPTH = 200;

/** The value of a JSON text, including `NaN` and `Infinity`; undefined when the text is no JSON. */
export function parseJson(text: string): unknown {
  if (isDeeper(text, JSON_DEPTH)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return /NaN|Infinity/.test(text) ? parseWithNonFinite(text) : undefined;
  }
}

/** Whether brackets outside of JSON strings nest deeper than `limit`. */
function isDeeper(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 91 || code === 123) {
      if (++depth > limit) return true;
    } else if (code === 93 || code === 125) depth--;
    else if (code === 34) {
      for (i++; i < text.length; i++) {
        const inner = text.charCodeAt(i);
        if (inner === 34) break;
        if (inner === 92) i++;
      }
    }
  }
  return false;
}

/**
 * Stands for NaN while `JSON.parse` reads the text. It is a lone surrogate, which no sensible text
 * contains.
 */
const NAN_MARK = "\ud800NaN";

function parseWithNonFinite(text: string): unknown {
  const readable = text.replace(
    /"(?:[^"\\]|\\.)*"?|\b(?:NaN|Infinity)\b/gs,
    (token) => token === "NaN" ? '"\\ud800NaN"' : token === "Infinity" ? "1e999" : token,
  );
  try {
    return JSON.parse(readable, (_key, value) => value === NAN_MARK ? NaN : value);
  } catch {
    return undefined;
  }
}

/** The value of a Python literal; undefined when the text is no literal. */
export function parseLiteral(text: string): Literal | undefined {
  try {
    return new LiteralReader(text).readAll();
  } catch (error) {
    if (error === NOT_A_LITERAL) return undefined;
    throw error;
  }
}

/**
 * Thrown inside the reader for every text that is no literal. Created once, since no stack is
 * needed.
 */
const NOT_A_LITERAL = new Error("not a Python literal");

const SPACE = 32, HASH = 35, COMMA = 44, BACKSLASH = 92, NEWLINE = 10;
const DIGITS = "[0-9](?:_?[0-9])*";
const EXPONENT = `[eE][+-]?${DIGITS}`;
const FLOAT = new RegExp(
  `(?:(?:${DIGITS})?\\.${DIGITS}|${DIGITS}\\.)(?:${EXPONENT})?|${DIGITS}${EXPONENT}`,
  "y",
);
const INTEGER =
  /0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*/y;
const NAME = /[\p{L}\p{N}_]+/uy;
/** Python refuses decimal integers with more digits. */
const MAX_DIGITS = 4300;
const ESCAPES: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

class LiteralReader {
  #at = 0;
  #depth = 0;
  readonly #text: string;

  constructor(text: string) {
    if (text.includes("\0")) throw NOT_A_LITERAL;
    this.#text = text.replace(/^[ \t]+/, "").replace(/\r\n?/g, "\n");
  }

  readAll(): Literal {
    const blank = /^(?:[ \t\f]*(?:#[^\n]*)?\n)+/.exec(this.#text);
    if (blank !== null) {
      this.#at = blank[0].length;
      if (/[ \t]/.test(this.#text[this.#at] ?? "")) throw NOT_A_LITERAL;
    }
    this.#skip();
    let value = this.#value();
    if (this.#take(COMMA)) value = new PyTuple([value, ...this.#itemsUntil(-1)]);
    this.#depth = 1;
    this.#skip();
    if (this.#at < this.#text.length) throw NOT_A_LITERAL;
    return value;
  }

  #code(): number {
    return this.#at < this.#text.length ? this.#text.charCodeAt(this.#at) : -1;
  }

  /** Skips white space and continued lines, and between brackets also line ends and comments. */
  #skip(): void {
    for (;;) {
      const code = this.#code();
      if (code === SPACE || code === 9 || code === 12) this.#at++;
      else if (code === BACKSLASH && this.#text.charCodeAt(this.#at + 1) === NEWLINE) this.#at += 2;
      else if (code === NEWLINE && this.#depth > 0) this.#at++;
      else if (code === HASH) {
        const end = this.#text.indexOf("\n", this.#at);
        this.#at = end < 0 ? this.#text.length : end;
      } else return;
    }
  }

  /** Skips space and consumes the next character if it is the given one. */
  #take(code: number): boolean {
    this.#skip();
    if (this.#code() !== code) return false;
    this.#at++;
    this.#skip();
    return true;
  }

  #value(): Literal {
    const code = this.#code();
    switch (code) {
      case 91: // [
        return this.#bracket(() => this.#itemsUntil(93));
      case 40: // (
        return this.#bracket(() => this.#parenthesis());
      case 43: // +
      case 45: // -
        return this.#signed(code === 45);
    }
    if ((code >= 48 && code <= 57) || code === 46) return this.#number();
    const text = this.#strings();
    if (text !== undefined) return text;
    switch (this.#matchAt(NAME)) {
      case "True":
        return this.#advance(4, true);
      case "False":
        return this.#advance(5, false);
      case "None":
        return this.#advance(4, null);
    }
    throw NOT_A_LITERAL;
  }

  #advance<T extends Literal>(length: number, value: T): T {
    this.#at += length;
    return value;
  }

  #matchAt(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0] ?? null;
  }

  #bracket(read: () => Literal): Literal {
    if (++this.#depth > LITERAL_DEPTH) throw NOT_A_LITERAL;
    this.#at++;
    this.#skip();
    const value = read();
    this.#depth--;
    return value;
  }

  /**
   * Reads comma-separated values up to and including the closing bracket; −1 is the end of the
   * line.
   */
  #itemsUntil(close: number, items: Literal[] = []): Literal[] {
    for (;;) {
      const code = this.#code();
      if (code === close || (close < 0 && code === NEWLINE)) break;
      items.push(this.#value());
      if (!this.#take(COMMA)) break;
    }
    const code = this.#code();
    if (close < 0) return items;
    if (code !== close) throw NOT_A_LITERAL;
    this.#at++;
    return items;
  }

  #parenthesis(): Literal {
    if (this.#code() === 41) return this.#advance(1, new PyTuple([]));
    const first = this.#value();
    if (this.#take(COMMA)) return new PyTuple(this.#itemsUntil(41, [first]));
    if (this.#code() !== 41) throw NOT_A_LITERAL;
    this.#at++;
    return first;
  }

  /** A sign applies to one number: `--1` and `-True` are no literals. */
  #signed(negative: boolean): Literal {
    this.#at++;
    this.#skip();
    let open = 0;
    while (this.#take(40)) if (this.#depth + ++open > LITERAL_DEPTH) throw NOT_A_LITERAL;
    const code = this.#code();
    if (!((code >= 48 && code <= 57) || code === 46)) throw NOT_A_LITERAL;
    const value = this.#number();
    for (; open > 0; open--) if (!this.#take(41)) throw NOT_A_LITERAL;
    if (!negative) return value;
    if (value instanceof PyFloat) return new PyFloat(-value.value);
    // 0 − x for a number, because an int has no negative zero.
    return typeof value === "bigint" ? -value : 0 - value;
  }

  #number(): number | bigint | PyFloat {
    const short = this.#shortInteger();
    if (short >= 0) return short;
    const start = this.#at;
    let value: number | bigint | PyFloat;
    const float = this.#matchAt(FLOAT);
    if (float !== null) {
      this.#at += float.length;
      value = new PyFloat(Number(float.replaceAll("_", "")));
    } else {
      const token = this.#matchAt(INTEGER);
      if (token === null) throw NOT_A_LITERAL;
      this.#at += token.length;
      value = integer(token.replaceAll("_", ""));
    }
    if (isWordCode(this.#code()) || this.#at === start) throw NOT_A_LITERAL;
    return value;
  }

  /** Fast path for up to 15 plain digits, the usual case; −1 for any other number. */
  #shortInteger(): number {
    let value = 0, end = this.#at;
    for (; end < this.#at + 15; end++) {
      const digit = this.#text.charCodeAt(end) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
    }
    const next = this.#text.charCodeAt(end);
    if (end === this.#at || next === 46 || isWordCode(next)) return -1;
    if (this.#code() === 48 && end > this.#at + 1) return -1;
    this.#at = end;
    return value;
  }

  /** Reads adjacent strings and joins them; undefined when there is none. */
  #strings(): string | undefined {
    let all: string | undefined;
    for (;;) {
      let start = this.#at;
      const prefix = this.#text[start] ?? "";
      if ("uUrR".includes(prefix)) start++;
      const quote = this.#text[start];
      if (quote !== "'" && quote !== '"') return all;
      const triple = quote.repeat(3);
      const mark = this.#text.startsWith(triple, start) ? triple : quote;
      this.#at = start + mark.length;
      all = (all ?? "") + this.#string(mark, "rR".includes(prefix));
      this.#skip();
    }
  }

  #string(quote: string, raw: boolean): string {
    const text = this.#text;
    let value = "", from = this.#at;
    for (let i = this.#at; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === NEWLINE && quote.length === 1) break;
      if (code === quote.charCodeAt(0) && text.startsWith(quote, i)) {
        this.#at = i + quote.length;
        return value + text.slice(from, i);
      }
      if (code !== BACKSLASH) continue;
      if (!raw) {
        const [character, length] = escape(text, i);
        value += text.slice(from, i) + character;
        from = i + length;
        i = from - 1;
      } else i++;
    }
    throw NOT_A_LITERAL;
  }
}

/**
 * The character that the escape at `at` means, and its length. An unknown escape stands for itself.
 */
function escape(text: string, at: number): [character: string, length: number] {
  const next = text[at + 1] ?? "";
  const simple = ESCAPES[next];
  if (simple !== undefined) return [simple, 2];
  const octal = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4));
  if (octal !== null) return [String.fromCharCode(parseInt(octal[0], 8)), 1 + octal[0].length];
  const size = { x: 2, u: 4, U: 8 }[next];
  if (size === undefined) {
    if (next === "N") throw NOT_A_LITERAL;
    return ["\\", 1];
  }
  const digits = text.slice(at + 2, at + 2 + size);
  const point = parseInt(digits, 16);
  if (!/^[0-9a-fA-F]+$/.test(digits) || digits.length < size || point > 0x10ffff) {
    throw NOT_A_LITERAL;
  }
  return [String.fromCodePoint(point), 2 + size];
}

function integer(token: string): number | bigint {
  if (token.length <= 15) return Number(token);
  if (/^[0-9]/.test(token) && !/^0[xXoObB]/.test(token) && token.length > MAX_DIGITS) {
    throw NOT_A_LITERAL;
  }
  const value = BigInt(token);
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

function isWordCode(code: number): boolean {
  return code > 127 || code === 95 || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) ||
    (code >= 97 && code <= 122);
}
