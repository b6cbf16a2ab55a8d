/**
 * A recursive-descent parser for formulas: numbers, powers, roots, fractions, functions and
 * unknowns, and tuples, intervals, sets, lists and ± of these. It evaluates a formula while it
 * reads it.
 */
import { applied, binomial, factorial } from "./functions.ts";
import {
  add,
  divide,
  fraction,
  irrational,
  magnitude,
  multiply,
  negate,
  power,
  type Real,
  root,
} from "./rational.ts";
import { type Token, Unreadable } from "./tokens.ts";
import { type Place, unknown } from "./unknowns.ts";
import type { MathValue } from "./value.ts";

const MAX_DIGITS = 500;
const MAX_DEPTH = 50;
const CLOSING: Readonly<Record<string, readonly string[]>> = {
  "(": [")", "]"],
  "[": ["]", ")"],
  "\\{": ["\\}"],
};

export class Parser {
  #at = 0;
  #depth = 0;
  /** Depth of |…|; inside of it a bar closes the absolute value and opens none. */
  #bars = 0;
  /** The sign that ± stands for in the current pass. */
  #sign = 1n;
  #sawSign = false;

  constructor(readonly tokens: Token[], readonly place: Place) {}

  /** @throws Unreadable; RangeError for numbers that do not exist, such as 1/0 */
  top(): MathValue {
    const items = this.#items([]);
    if (this.#at < this.tokens.length) throw new Unreadable();
    return items.length === 1
      ? items[0]!
      : { kind: "set", items: flat(items), bare: items.every((item) => item.kind !== "set") };
  }

  /** Values separated by commas, up to a closing token or the end. */
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

  /** A set, tuple or interval that is the whole item; null where the bracket groups a number. */
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
        const mixed = this.tokens[this.#at - 1]!.kind === "number" && this.#peek() === "\\frac" &&
          product.exact?.d === 1n;
        const next = this.#power();
        if (mixed && next.exact !== null && next.approx > 0 && next.approx < 1) {
          // A mixed number, such as 1½.
          product = product.approx < 0 ? add(product, negate(next)) : add(product, next);
        } else product = multiply(product, next);
      } else return product;
    }
  }

  /** Whether a factor follows without a multiplication sign; a second number cannot. */
  #startsAtom(): boolean {
    const next = this.#peek();
    return next !== undefined &&
      (["name", "function", "\\frac", "\\sqrt", "\\binom", "√", "π", "("].includes(next) ||
        (next === "|" && this.#bars === 0));
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
    return this.#take("^") ? power(base, this.#exponent()) : base;
  }

  #exponent(): Real {
    this.#enter();
    const exponent = this.#peek() === "-" ? this.#factor() : this.#power();
    this.#depth--;
    return exponent;
  }

  #atom(): Real {
    const token = this.tokens[this.#at++];
    if (token === undefined) throw new Unreadable();
    let value: Real;
    if (token.kind === "number") value = literal(token.text);
    else if (token.kind === "name") value = unknown(token.text, this.place);
    else if (token.kind === "function") value = this.#function(token.text);
    else if (token.text === "π") value = irrational(Math.PI);
    else if (token.text === "∞") value = irrational(Infinity);
    else if (token.text === "\\frac") {
      const above = this.#argument();
      value = divide(above, this.#argument());
    } else if (token.text === "\\binom") {
      const above = this.#argument();
      value = binomial(above, this.#argument());
    } else if (token.text === "√") value = root(this.#atom(), 2n);
    else if (token.text === "\\sqrt") value = this.#root();
    else if (token.text === "(") value = this.#group(")");
    else if (token.text === "{") value = this.#group("}");
    else if (token.text === "|") value = this.#absolute();
    else throw new Unreadable();
    while (this.#take("!")) value = factorial(value);
    return this.#take("%") ? divide(value, fraction(100n)) : value;
  }

  /** A function of what is in brackets, or of a product without signs: sin 2x. */
  #function(name: string): Real {
    this.#enter();
    const base = name === "log" && this.#take("_") ? this.#argument() : null;
    const exponent = this.#take("^") ? this.#exponent() : null;
    // sin⁻¹ may be the inverse function or the reciprocal.
    if (exponent !== null && exponent.approx < 0) throw new Unreadable();
    const bracket = this.#peek() === "(" || this.#peek() === "{";
    let argument = bracket ? this.#atom() : this.#factor();
    while (!bracket && (this.#peek() === "name" || this.#peek() === "π")) {
      argument = multiply(argument, this.#power());
    }
    this.#depth--;
    const value = applied(name, argument, base);
    return exponent === null ? value : power(value, exponent);
  }

  #root(): Real {
    let degree = 2n;
    if (this.#take("[")) {
      const given = this.#group("]");
      if (given.exact?.d !== 1n) throw new Unreadable();
      degree = given.exact.n;
    }
    // \sqrt13 means √13, not √1·3.
    return root(this.#atom(), degree);
  }

  /** An argument in braces, or a single digit or symbol without them: `\frac12` is a half. */
  #argument(): Real {
    const token = this.tokens[this.#at];
    if (token?.kind === "number" && /^\d{2,}$/.test(token.text)) {
      const [first, rest] = [token.text[0]!, token.text.slice(1)];
      this.tokens.splice(
        this.#at,
        1,
        { kind: "number", text: first },
        { kind: "number", text: rest },
      );
    }
    return this.#atom();
  }

  #group(close: string): Real {
    this.#enter();
    const bars = this.#bars;
    this.#bars = 0;
    const value = this.#sum();
    this.#bars = bars;
    this.#depth--;
    if (!this.#take(close)) throw new Unreadable();
    return value;
  }

  #absolute(): Real {
    this.#enter();
    this.#bars++;
    const value = this.#sum();
    this.#bars--;
    this.#depth--;
    if (!this.#take("|")) throw new Unreadable();
    return magnitudeOf(value);
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH) throw new Unreadable();
  }

  /** The next token: its text for a sign, else its kind. */
  #peek(): string | undefined {
    const token = this.tokens[this.#at];
    return token?.kind === "sign" ? token.text : token?.kind;
  }

  #take(sign: string): boolean {
    if (this.#peek() !== sign) return false;
    this.#at++;
    return true;
  }
}

function magnitudeOf({ exact, approx }: Real): Real {
  return exact === null ? irrational(Math.abs(approx)) : fraction(magnitude(exact.n), exact.d);
}

function literal(text: string): Real {
  const [, digits, exponent = "0"] = /^([^e]*)(?:e(.*))?$/i.exec(text.replaceAll(",", ""))!;
  if (digits!.length > MAX_DIGITS) throw new Unreadable();
  const [whole, part = ""] = digits!.split(".");
  const shift = Number(exponent) - part.length;
  const all = BigInt(`${whole}${part}` || "0");
  return shift >= 0 ? fraction(all * 10n ** BigInt(shift)) : fraction(all, 10n ** BigInt(-shift));
}

/** The items of nested sets, which come from ±, become items of the outer set. */
function flat(items: readonly MathValue[]): MathValue[] {
  return items.flatMap((item) => item.kind === "set" ? item.items : [item]);
}
