/** The tokens of a template one by one, with a look at the next. */
import { shownTag, TemplateFault } from "./fault.ts";
import { lex, type Token } from "./lexer.ts";

/** Brackets and signs in each other; Python's compiler has a limit of the same size. */
const MAX_DEPTH = 200;

export class TokenStream {
  readonly #tokens: Iterator<Token>;
  readonly #ahead: Token[] = [];
  #depth = 0;

  constructor(readonly source: string) {
    this.#tokens = lex(source);
    this.#fill();
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

  /** The next token as a name. */
  name(): string {
    return String(this.expect("name", "a name").value);
  }

  unexpected(expected: string): TemplateFault {
    return this.fault(`found ${this.#found()}, expected ${expected}`);
  }

  /** A fault at a token, with its tag. */
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
