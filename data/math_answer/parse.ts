/**
 * Answers as values: numbers (integers, decimals, thousands commas, percent, fractions, powers, roots, π),
 * tuples, intervals, sets, lists and ±. A recursive descent over cleaned LaTeX. What is beyond this grammar
 * is compared as text; algebra with unknowns is not simplified.
 */
import { isBlank } from "../../tasks/python_text.ts";
import { cleanMath } from "./clean.ts";
import {
  add,
  divide,
  fraction,
  irrational,
  multiply,
  negate,
  power,
  type Real,
  root,
} from "./rational.ts";

export type MathValue =
  | { kind: "number"; value: Real }
  /** In any order; each element once. */
  | { kind: "set"; items: MathValue[] }
  /** A tuple or an interval, with its brackets. */
  | { kind: "tuple"; open: string; close: string; items: MathValue[] }
  | { kind: "text"; text: string };

/** Plain words, which are no mathematics. */
const WORDS = /^[\p{L}\s.,;:!?'’-]*$/u;

/** The value of an answer; null where it is empty or nothing but words (a single letter is a name). */
export function parseMath(text: string): MathValue | null {
  const clean = cleanMath(text);
  if (isBlank(clean)) return null;
  const value = tryParse(clean);
  if (value !== null) return value;
  const command = /\\[A-Za-z]/.test(text);
  if (!command && WORDS.test(clean) && !/^\p{L}$/u.test(clean)) return null;
  return { kind: "text", text: clean.replace(/\s+/g, "") };
}

/** Not in the grammar. */
class Unreadable extends Error {}

function tryParse(text: string): MathValue | null {
  try {
    const tokens = tokenize(text);
    return new Parser(tokens).top();
  } catch (error) {
    // RangeErrors are numbers that do not exist: divisions by zero, even roots of negative numbers.
    if (error instanceof Unreadable || error instanceof RangeError) return null;
    throw error;
  }
}

const MAX_TOKENS = 400;
const MAX_DIGITS = 500;
const TOKEN =
  /\s*(?:(\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3}(?!\d))?)|(\\frac|\\sqrt|\\\{|\\\}|[-+*/^%(),{}\[\]±π∞√;]))/y;
const PLAIN = /\s*(?:\d+(?:\.\d*)?|\.\d+)/y;

interface Token {
  text: string;
  number: boolean;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  for (let at = 0; at < text.length;) {
    TOKEN.lastIndex = at;
    let match = TOKEN.exec(text);
    if (match === null) throw new Unreadable();
    if (depth > 0 && match[1]?.includes(",")) {
      // Inside brackets a comma separates: (1,234) is a pair.
      PLAIN.lastIndex = at;
      match = PLAIN.exec(text)!;
    }
    at += match[0].length;
    const token = match[0].trimStart(), number = /^[\d.]/.test(token);
    if (token === "(" || token === "[" || token === "\\{") depth++;
    if (token === ")" || token === "]" || token === "\\}") depth--;
    tokens.push({ text: token, number });
    if (tokens.length > MAX_TOKENS) throw new Unreadable();
  }
  return tokens;
}

const MAX_DEPTH = 50;
const CLOSING: Readonly<Record<string, readonly string[]>> = {
  "(": [")", "]"],
  "[": ["]", ")"],
  "\\{": ["\\}"],
};

class Parser {
  #at = 0;
  #depth = 0;
  /** What ± stands for in this reading. */
  #sign = 1n;
  #sawSign = false;

  constructor(readonly tokens: readonly Token[]) {}

  top(): MathValue {
    const items = this.#items([]);
    if (this.#at < this.tokens.length) throw new Unreadable();
    return items.length === 1 ? items[0]! : { kind: "set", items: flat(items) };
  }

  /** Values with commas between them, up to one of the closing tokens or the end. */
  #items(closing: readonly string[]): MathValue[] {
    const items = [this.#item(closing)];
    while (this.#take(",") || this.#take(";")) items.push(this.#item(closing));
    return items;
  }

  #item(closing: readonly string[]): MathValue {
    const start = this.#at;
    const bracketed = this.#bracketed(closing);
    if (bracketed !== null) return bracketed;
    this.#at = start;
    this.#sawSign = false;
    const plus = this.#sum();
    if (!this.#sawSign) return this.#number(plus);
    this.#at = start;
    this.#sign = -1n;
    const minus = this.#sum();
    this.#sign = 1n;
    return { kind: "set", items: [this.#number(plus), this.#number(minus)] };
  }

  #number(value: Real): MathValue {
    const overflow = value.exact === null && !Number.isFinite(value.approx) &&
      !this.tokens.some(({ text }) => text === "∞");
    if (Number.isNaN(value.approx) || overflow) throw new Unreadable();
    return { kind: "number", value };
  }

  /** A set, tuple or interval that is the whole item; null where the bracket only groups a number. */
  #bracketed(closing: readonly string[]): MathValue | null {
    const open = this.#peek();
    if (open === undefined || !Object.hasOwn(CLOSING, open)) return null;
    this.#enter();
    this.#at++;
    const items = open === "\\{" && this.#peek() === "\\}" ? [] : this.#tryItems(CLOSING[open]!);
    this.#depth--;
    const close = this.#peek();
    if (items === null || close === undefined || !CLOSING[open]!.includes(close)) return null;
    this.#at++;
    const next = this.#peek();
    if (next !== undefined && next !== "," && next !== ";" && !closing.includes(next)) return null;
    if (open === "\\{") return { kind: "set", items: flat(items) };
    return items.length < 2 ? null : { kind: "tuple", open, close, items };
  }

  #tryItems(closing: readonly string[]): MathValue[] | null {
    try {
      return this.#items(closing);
    } catch (error) {
      if (error instanceof Unreadable) return null;
      throw error;
    }
  }

  #sum(): Real {
    let sum = this.#product();
    for (;;) {
      if (this.#take("+")) sum = add(sum, this.#product());
      else if (this.#take("-")) sum = add(sum, negate(this.#product()));
      else if (this.#take("±")) sum = add(sum, this.#signed(this.#product()));
      else return sum;
    }
  }

  #signed(value: Real): Real {
    this.#sawSign = true;
    return this.#sign < 0n ? negate(value) : value;
  }

  #product(): Real {
    let product = this.#factor();
    for (;;) {
      if (this.#take("*")) product = multiply(product, this.#factor());
      else if (this.#take("/")) product = divide(product, this.#factor());
      else if (this.#startsAtom()) {
        const mixed = this.tokens[this.#at - 1]!.number && this.#peek() === "\\frac" &&
          product.exact?.d === 1n;
        const next = this.#power();
        if (mixed && next.exact !== null && next.approx > 0 && next.approx < 1) {
          // A mixed number: 1 and a half.
          product = product.approx < 0 ? add(product, negate(next)) : add(product, next);
        } else product = multiply(product, next);
      } else return product;
    }
  }

  /** What may follow without a sign of multiplication: anything but a second number. */
  #startsAtom(): boolean {
    const next = this.#peek();
    return next !== undefined && ["\\frac", "\\sqrt", "√", "π", "("].includes(next);
  }

  #factor(): Real {
    this.#enter();
    const value = this.#take("-")
      ? negate(this.#factor())
      : this.#take("+")
      ? this.#factor()
      : this.#take("±")
      ? this.#signed(this.#factor())
      : this.#power();
    this.#depth--;
    return value;
  }

  #power(): Real {
    const base = this.#atom();
    if (!this.#take("^")) return base;
    this.#enter();
    const exponent = this.#peek() === "-" ? this.#factor() : this.#power();
    this.#depth--;
    return power(base, exponent);
  }

  #atom(): Real {
    const token = this.tokens[this.#at++];
    if (token === undefined) throw new Unreadable();
    let value: Real;
    if (token.number) value = literal(token.text);
    else if (token.text === "π") value = irrational(Math.PI);
    else if (token.text === "∞") value = irrational(Infinity);
    else if (token.text === "\\frac") {
      const above = this.#argument();
      value = divide(above, this.#argument());
    } else if (token.text === "√") value = root(this.#argument(), 2n);
    else if (token.text === "\\sqrt") value = this.#root();
    else if (token.text === "(") value = this.#group(")");
    else if (token.text === "{") value = this.#group("}");
    else throw new Unreadable();
    return this.#take("%") ? divide(value, fraction(100n)) : value;
  }

  #root(): Real {
    let degree = 2n;
    if (this.#take("[")) {
      const given = this.#group("]");
      if (given.exact?.d !== 1n) throw new Unreadable();
      degree = given.exact.n;
    }
    return root(this.#argument(), degree);
  }

  /** `{…}`, or without braces a single digit or symbol: `\frac12` is a half. */
  #argument(): Real {
    const token = this.tokens[this.#at];
    if (token?.number && /^\d{2,}$/.test(token.text)) {
      const rest = { text: token.text.slice(1), number: true };
      (this.tokens as Token[]).splice(this.#at, 1, { text: token.text[0]!, number: true }, rest);
    }
    return this.#atom();
  }

  #group(close: string): Real {
    this.#enter();
    const value = this.#sum();
    this.#depth--;
    if (!this.#take(close)) throw new Unreadable();
    return value;
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH) throw new Unreadable();
  }

  #peek(): string | undefined {
    const token = this.tokens[this.#at];
    return token?.number ? "number" : token?.text;
  }

  #take(text: string): boolean {
    if (this.#peek() !== text) return false;
    this.#at++;
    return true;
  }
}

function literal(text: string): Real {
  const [, digits, exponent = "0"] = /^([^e]*)(?:e(.*))?$/.exec(text.replaceAll(",", ""))!;
  if (digits!.length > MAX_DIGITS) throw new Unreadable();
  const [whole, part = ""] = digits!.split(".");
  const shift = Number(exponent) - part.length;
  const all = BigInt(`${whole}${part}` || "0");
  return shift >= 0 ? fraction(all * 10n ** BigInt(shift)) : fraction(all, 10n ** BigInt(-shift));
}

/** Sets inside a set (of a ±) belong to it. */
function flat(items: readonly MathValue[]): MathValue[] {
  return items.flatMap((item) => item.kind === "set" ? item.items : [item]);
}
