/**
 * Cuts a template into tokens as Jinja's lexer does, with `trim_blocks` and `lstrip_blocks`: the
 * line end after a statement and the blanks before one on its line are left out. A minus in a tag
 * removes all white space on its side, a plus keeps it.
 */
import { type Literal, parseLiteral, PyFloat } from "../../../tasks/python/literals.ts";
import { PYTHON_SPACE, stripEnd } from "../../../tasks/python/text.ts";

export class TemplateFault extends Error {
  constructor(readonly at: number, message: string) {
    super(message);
  }
}

/** `line 3, column 5` of an offset. */
export function position(source: string, at: number): string {
  const before = source.slice(0, at).split("\n");
  return `line ${before.length}, column ${before.at(-1)!.length + 1}`;
}

/** What a tag begins with → what it ends with. */
const ENDS: Readonly<Record<string, string>> = { "{{": "}}", "{%": "%}", "{#": "#}" };

/**
 * A tag as a message shows it: in one line, long ones cut.
 * @param start offset of `{{`, `{%` or `{#`
 * @param from where its end is looked for
 */
export function shownTag(source: string, start: number, from = start): string {
  const end = source.indexOf(ENDS[source.slice(start, start + 2)]!, Math.max(from, start + 2));
  const line = source.slice(start, end < 0 ? source.length : end + 2).replaceAll(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}

/** `operator` tokens and the ends of tags have their own text as their type. */
interface Token {
  readonly type: string;
  /** The text of a name or of data; the value of a constant. */
  readonly value: Literal;
  readonly at: number;
  /** Offset of the tag that it stands in. */
  readonly tag: number;
}

const S = `[${PYTHON_SPACE}]*`;
const sticky = (pattern: string, flags = "") => new RegExp(pattern, `y${flags}`);

const BEGIN = /\{[#%{]([-+]?)/g;
const COMMENT_END = new RegExp(`\\+#\\}|-#\\}${S}|#\\}\\n?`, "g");
const STATEMENT_END = sticky(`\\+%\\}|-%\\}${S}|%\\}\\n?`);
const OUTPUT_END = sticky(`-\\}\\}${S}|\\}\\}`);

/** Digits of an int, as in Python. */
const MAX_DIGITS = 4300;
const WHITE = sticky(`[${PYTHON_SPACE}]+`);
const FLOAT = sticky("[0-9]+\\.[0-9]+(?:e[+-]?[0-9]+)?", "i");
const INTEGER = sticky("[1-9][0-9]*|0");
const NAME = sticky("[\\p{XID_Start}_]\\p{XID_Continue}*", "u");
const STRING = sticky(`'(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*"`, "s");
const OPERATOR = sticky("//|==|!=|>=|<=|[-+/*%~[\\](){}><=.:|,]");

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * The tokens of a template; the last has the type `end`.
 * @param given with line feeds as line ends
 * @throws TemplateFault where there is no token
 */
function* lex(given: string): Generator<Token> {
  // Jinja leaves out one line end at the end of a template.
  const source = given.endsWith("\n") ? given.slice(0, -1) : given;
  let at = 0, isLineStart = true;
  while (at < source.length) {
    const begin = matchFrom(BEGIN, source, at);
    if (begin === null) {
      yield { type: "data", value: source.slice(at), at, tag: at };
      break;
    }
    const start = begin.index, open = source.slice(start, start + 2);
    const text = trimmed(source.slice(at, start), begin[1]!, open === "{{", isLineStart);
    if (text !== "") yield { type: "data", value: text, at, tag: at };
    at = start + begin[0].length;
    if (open === "{#") {
      const end = matchFrom(COMMENT_END, source, at);
      if (end === null) throw new TemplateFault(start, `${shownTag(source, start)} has no #}`);
      at = end.index + end[0].length;
    } else {
      yield { type: open, value: open, at: start, tag: start };
      at = yield* tagTokens(source, start, at);
    }
    isLineStart = source[at - 1] === "\n";
  }
  yield { type: "end", value: null, at: source.length, tag: source.length };
}

function matchFrom(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(source);
}

function trimmed(text: string, sign: string, isOutput: boolean, isLineStart: boolean): string {
  if (sign === "-") return stripEnd(text);
  if (sign === "+" || isOutput) return text;
  const line = text.lastIndexOf("\n") + 1;
  const isAlone = (line > 0 || isLineStart) && stripEnd(text.slice(line)) === "";
  return isAlone ? text.slice(0, line) : text;
}

/**
 * The tokens of one tag, the one that ends it included.
 * @param from offset after what begins it
 * @returns the offset after the tag
 */
function* tagTokens(source: string, start: number, from: number): Generator<Token, number> {
  const isOutput = source[start + 1] === "{", close = isOutput ? "}}" : "%}";
  const open: string[] = [];
  const fault = (place: number, message: string) =>
    new TemplateFault(place, `${shownTag(source, start, place)}: ${message}`);
  for (let at = from;;) {
    const match = (pattern: RegExp) => matchFrom(pattern, source, at)?.[0];
    const end = open.length > 0 ? undefined : match(isOutput ? OUTPUT_END : STATEMENT_END);
    if (end !== undefined) {
      yield { type: close, value: close, at, tag: start };
      return at + end.length;
    }
    const white = match(WHITE);
    if (white !== undefined) {
      at += white.length;
      continue;
    }
    const token = (type: string, value: Literal) => ({ type, value, at, tag: start });
    let text: string | undefined;
    if ((text = match(FLOAT)) !== undefined) {
      yield token("float", new PyFloat(Number(text)));
    } else if ((text = match(INTEGER)) !== undefined) {
      if (text.length > MAX_DIGITS) throw fault(at, "a number has too many digits");
      yield token("integer", BigInt(text));
    } else if ((text = match(NAME)) !== undefined) {
      yield token("name", text);
    } else if ((text = match(STRING)) !== undefined) {
      yield token("string", stringValue(text, (message) => fault(at, message)));
    } else if ((text = match(OPERATOR)) !== undefined) {
      if (text in CLOSING) open.push(CLOSING[text]!);
      else if (")]}".includes(text)) {
        const expected = open.pop();
        if (expected === undefined && text === "}") {
          throw new TemplateFault(start, `${shownTag(source, start)} has no ${close}`);
        }
        if (expected === undefined) throw fault(at, `found ${text}, which closes no bracket`);
        if (expected !== text) throw fault(at, `found ${text}, expected ${expected}`);
      }
      yield token(text, text);
    } else if (at >= source.length) {
      throw new TemplateFault(start, `${shownTag(source, start)} has no ${close}`);
    } else if (source[at] === "'" || source[at] === '"') {
      throw fault(at, `a text that begins with ${source[at]} has no end`);
    } else {
      const found = String.fromCodePoint(source.codePointAt(at)!);
      throw fault(at, `found ${found}, expected a value`);
    }
    at += text.length;
  }
}

/** The value of a text in quotes. Python's escapes are known; line ends may stand in it. */
function stringValue(quoted: string, fault: (message: string) => Error): string {
  const quote = quoted[0]!.repeat(3);
  const value = parseLiteral(quote + quoted.slice(1, -1) + quote);
  if (typeof value !== "string") throw fault(`the escapes of ${quoted} cannot be read`);
  return value;
}

/** Brackets and signs in each other; Python's compiler has a limit of the same size. */
const MAX_DEPTH = 200;

/** The tokens of a template one by one, with a look at the next, and the names in it so far. */
export class TokenStream {
  /** Names that the template reads before it sets them. */
  readonly free = new Set<string>();
  readonly #known: Set<string>;
  readonly #tokens: Iterator<Token>;
  readonly #ahead: Token[] = [];
  #depth = 0;

  /** @param given names that have values without being set */
  constructor(readonly source: string, given: Iterable<string>) {
    this.#known = new Set(given);
    this.#tokens = lex(source);
    this.#fill();
  }

  /** Notes that what was parsed reads a name. */
  reads(name: string): void {
    if (!this.#known.has(name)) this.free.add(name);
  }

  /** Notes that names have values in what is parsed from here on. */
  sets(names: readonly string[]): void {
    for (const name of names) this.#known.add(name);
  }

  get current(): Token {
    return this.#ahead[0]!;
  }

  /** The token after the current one. */
  look(): Token {
    if (this.#ahead.length < 2) this.#fill();
    return this.#ahead[1] ?? this.current;
  }

  /** The current token, which is then left. */
  next(): Token {
    const token = this.#ahead.shift()!;
    if (this.#ahead.length === 0) this.#fill();
    if (this.#ahead.length === 0) this.#ahead.push(token);
    return token;
  }

  is(type: string): boolean {
    return this.current.type === type;
  }

  isName(name: string): boolean {
    return this.is("name") && this.current.value === name;
  }

  skipIf(type: string): boolean {
    const isThere = this.is(type);
    if (isThere) this.next();
    return isThere;
  }

  skipName(name: string): boolean {
    const isThere = this.isName(name);
    if (isThere) this.next();
    return isThere;
  }

  /** @param shown what is expected, for the message */
  expect(type: string, shown = type): Token {
    if (!this.is(type)) throw this.unexpected(shown);
    return this.next();
  }

  expectName(name: string): Token {
    if (!this.isName(name)) throw this.unexpected(name);
    return this.next();
  }

  name(): string {
    return String(this.expect("name", "a name").value);
  }

  unexpected(expected: string): TemplateFault {
    return this.fault(`found ${this.#found()}, expected ${expected}`);
  }

  fault(message: string, token: Token = this.current): TemplateFault {
    return new TemplateFault(
      token.at,
      `${shownTag(this.source, token.tag, token.at)}: ${message}`,
    );
  }

  /** What `read` gives, one level deeper. */
  deeper<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) {
      throw this.fault(
        `its expressions are nested too deeply: more than ${MAX_DEPTH} brackets, signs or ` +
          "conditions stand in each other",
      );
    }
    const value = read();
    this.#depth--;
    return value;
  }

  #found(): string {
    const { type, value } = this.current;
    if (type === "string") return `the text ${JSON.stringify(value)}`;
    if (type === "integer" || type === "float") return "a number";
    return type === "name" ? String(value) : type;
  }

  #fill(): void {
    const { value, done } = this.#tokens.next();
    if (done !== true) this.#ahead.push(value);
  }
}
