/**
 * A recursive-descent parser for formulas: numbers, powers, roots, fractions, functions and
 * unknowns, and tuples, intervals, sets, lists and ± of these.
 */
import type { Expr, Operation } from "../formulas/expression.ts";
import { call, hasNames, number, written } from "../formulas/expression.ts";
import type { MathValue } from "../formulas/value.ts";
import { fraction } from "../numbers/rational.ts";
import { type Token, Unreadable } from "./tokens.ts";

const MAX_DEPTH = 50;
const CLOSING: Readonly<Record<string, readonly string[]>> = {
  "(": [")", "]"],
  "[": ["]", ")"],
  "\\{": ["\\}"],
};
const STARTS = [
  "name",
  "function",
  "\\frac",
  "\\sqrt",
  "\\binom",
  "\\lfloor",
  "\\lceil",
  "√",
  "π",
  "(",
];
const ANGLES = /^(?:sin|cos|tan|cot|sec|csc)$/;
/** Functions with a known inverse, \arcsin and so on. */
const INVERTED = /^(?:sin|cos|tan)$/;
const MINUS_ONE = written(call("negate", number(1n)));

export class Parser {
  #at = 0;
  #depth = 0;
  /** Depth of |…|; inside of it a bar closes the absolute value and opens none. */
  #bars = 0;
  /** Depth of arguments of sin, cos …, in which a degree is π/180. */
  #angles = 0;
  /** The sign of ± in the current pass. */
  #minus = false;
  #sawSign = false;
  #sawDegree = false;

  /** @param functions names that stand for functions */
  constructor(readonly tokens: Token[], readonly functions: ReadonlySet<string>) {}

  /** @throws Unreadable */
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
    this.#sawSign = this.#sawDegree = false;
    const plus = this.#number(this.#sum());
    if (!this.#sawSign) return plus;
    this.#at = start;
    this.#minus = true;
    const minus = this.#number(this.#sum());
    this.#minus = false;
    return { kind: "set", items: [plus, minus], signs: true };
  }

  #number(expr: Expr): MathValue {
    return { kind: "number", expr, ...(this.#sawDegree && { unit: "°" }) };
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

  #sum(): Expr {
    let sum = this.#product();
    for (;;) {
      if (this.#take("+")) sum = call("+", sum, this.#product());
      else if (this.#take("-")) sum = call("+", sum, call("negate", this.#product()));
      else if (this.#take("±")) sum = call("+", sum, this.#signed(this.#product()));
      else if (this.#take("∓")) sum = call("+", sum, call("negate", this.#signed(this.#product())));
      else return sum;
    }
  }

  #signed(value: Expr): Expr {
    this.#sawSign = true;
    return this.#minus ? call("negate", value) : value;
  }

  #product(): Expr {
    let product = this.#factor();
    for (;;) {
      if (this.#take("*")) product = call("*", product, this.#factor());
      else if (this.#take("/")) product = call("/", product, this.#factor());
      else if (this.#startsAtom()) product = call("*", product, this.#power());
      else return product;
    }
  }

  /** Whether a factor follows without a multiplication sign; a number cannot follow a number so. */
  #startsAtom(): boolean {
    const next = this.#peek();
    if (next === undefined) return false;
    // 6 − i5
    if (next === "number") {
      return this.tokens[this.#at - 1]!.text === "i" &&
        this.tokens[this.#at - 2]?.kind !== "number";
    }
    return STARTS.includes(next) || (next === "|" && this.#bars === 0);
  }

  #factor(): Expr {
    this.#enter();
    const value = this.#take("-")
      ? call("negate", this.#factor())
      : this.#take("+")
      ? this.#factor()
      : this.#take("±")
      ? this.#signed(this.#factor())
      : this.#take("∓")
      ? call("negate", this.#signed(this.#factor()))
      : this.#power();
    this.#depth--;
    return value;
  }

  #power(): Expr {
    const base = this.#postfixed(this.#atom());
    if (!this.#take("^")) return base;
    const value = call("^", base, this.#exponent());
    // 2^3! may be (2^3)! or 2^(3!).
    if (this.#peek() === "!") throw new Unreadable();
    return this.#postfixed(value);
  }

  #postfixed(value: Expr): Expr {
    for (;;) {
      if (this.#take("!")) {
        // A double factorial is another function.
        if (this.#peek() === "!") throw new Unreadable();
        value = call("!", value);
      } else if (this.#take("%")) value = call("/", value, number(100n));
      else if (this.#take("°")) {
        if (this.#angles > 0) value = call("*", value, call("/", PI, number(180n)));
        else this.#sawDegree = true;
        if (this.#peek() === "°") throw new Unreadable();
      } else return value;
    }
  }

  #exponent(): Expr {
    this.#enter();
    let exponent: Expr;
    if (this.#take("-")) exponent = call("negate", this.#exponent());
    else if (this.#take("+")) exponent = this.#exponent();
    else {
      exponent = this.#atom();
      if (this.#take("^")) exponent = call("^", exponent, this.#exponent());
    }
    this.#depth--;
    return exponent;
  }

  #atom(): Expr {
    const token = this.tokens[this.#at++];
    if (token === undefined) throw new Unreadable();
    if (token.kind === "number") return this.#mixed(token.text);
    if (token.kind === "name") return this.#name(token.text);
    if (token.kind === "function") return this.#function(token.text);
    switch (token.text) {
      case "π":
        return PI;
      case "∞":
        return { kind: "constant", name: "∞" };
      case "\\frac": {
        const above = this.#argument();
        return call("/", above, this.#argument());
      }
      case "\\binom": {
        const above = this.#argument();
        return call("binomial", above, this.#argument());
      }
      case "√":
        return call("root", this.#argumentOrNumber(), number(2n));
      case "\\sqrt": {
        const degree = this.#take("[") ? this.#group("]") : number(2n);
        // \sqrt13 means √13, not √1·3.
        return call("root", this.#argumentOrNumber(), degree);
      }
      case "(":
        return this.#group(")");
      case "{":
        return this.#group("}");
      case "\\lfloor":
        return call("floor", this.#group("\\rfloor"));
      case "\\lceil":
        return call("ceil", this.#group("\\rceil"));
      case "|":
        return this.#absolute();
      default:
        throw new Unreadable();
    }
  }

  /** A number, or a mixed number such as 1\frac{1}{2}, which binds closer than any sign. */
  #mixed(text: string): Expr {
    const whole = literal(text);
    if (whole.value.d !== 1n || /[.eE]/.test(text) || this.#peek() !== "\\frac") return whole;
    const start = this.#at++;
    const above = this.#argument(), below = this.#argument();
    if (above.kind !== "number" || below.kind !== "number") {
      this.#at = start;
      return whole;
    }
    // 11\frac{6}{6} may be a product or 12.
    const proper = above.value.n > 0n && above.value.n < below.value.n;
    if (!proper || whole.value.n === 0n) throw new Unreadable();
    return call("+", whole, call("/", above, below));
  }

  #name(name: string): Expr {
    const start = this.#at;
    if (this.functions.has(name)) {
      const power = this.#take("^") ? this.#exponent() : null;
      if (this.#take("(")) {
        const args = [this.#inner()];
        while (this.#take(",")) args.push(this.#inner());
        if (!this.#take(")")) throw new Unreadable();
        // f^{-1}(x) and f^2(x) may be other functions than 1/f(x) and f(x)².
        const key = power === null ? name : `${name}^${JSON.stringify(power, digitsOf)}`;
        return { kind: "unknown function", name: key, args };
      }
      this.#at = start;
    }
    if (name === "e" || name === "i") return { kind: "constant", name };
    return { kind: "name", name };
  }

  /** A function whose argument is in brackets, or is a product without signs: sin 2x. */
  #function(name: string): Expr {
    this.#enter();
    const base = name === "log" && this.#take("_") ? this.#argument() : number(10n);
    const exponent = this.#take("^") ? this.#exponent() : null;
    // sin⁻¹ is the inverse function (the reciprocal is csc or (sin x)⁻¹); csc⁻¹ may be either.
    const inverse = exponent !== null && written(exponent) === MINUS_ONE && INVERTED.test(name);
    if (!inverse && exponent !== null && (exponent.kind === "call" || hasNames(exponent))) {
      throw new Unreadable();
    }
    const value = name === "min" || name === "max"
      ? this.#extreme(name)
      : this.#applied(inverse ? `arc${name}` : name, base);
    this.#depth--;
    return exponent === null || inverse ? value : call("^", value, exponent);
  }

  #applied(name: string, base: Expr): Expr {
    const angles = this.#angles;
    this.#angles = ANGLES.test(name) ? 1 : 0;
    const bracket = this.#peek() === "(" || this.#peek() === "{";
    let argument = bracket ? this.#atom() : this.#factor();
    while (!bracket && (this.#peek() === "name" || this.#peek() === "π")) {
      argument = call("*", argument, this.#power());
    }
    // sin (30)°
    if (bracket && this.#peek() === "°") argument = this.#postfixed(argument);
    this.#angles = angles;
    return name === "log" || name === "lg"
      ? call("log", argument, base)
      : call(name as Operation, argument);
  }

  #extreme(name: "min" | "max"): Expr {
    const close = this.#take("(") ? ")" : this.#take("\\{") ? "\\}" : null;
    if (close === null) throw new Unreadable();
    const args = [this.#inner()];
    while (this.#take(",")) args.push(this.#inner());
    if (!this.#take(close) || args.length < 2) throw new Unreadable();
    return call(name, ...args);
  }

  /** An argument in braces, or a single digit or symbol without them: `\frac12` is a half. */
  #argument(): Expr {
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
    return this.#argumentOrNumber();
  }

  #argumentOrNumber(): Expr {
    const token = this.tokens[this.#at];
    if (token?.kind !== "number") return this.#atom();
    this.#at++;
    return literal(token.text);
  }

  #group(close: string): Expr {
    const value = this.#inner();
    if (!this.#take(close)) throw new Unreadable();
    return value;
  }

  /** A sum inside of brackets. */
  #inner(): Expr {
    this.#enter();
    const bars = this.#bars;
    this.#bars = 0;
    const value = this.#sum();
    this.#bars = bars;
    this.#depth--;
    return value;
  }

  #absolute(): Expr {
    this.#enter();
    this.#bars++;
    const value = this.#sum();
    this.#bars--;
    this.#depth--;
    if (!this.#take("|")) throw new Unreadable();
    return call("abs", value);
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

const PI: Expr = { kind: "constant", name: "π" };

const digitsOf = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;

/** The two values of a ± sign become items of the set around them. */
function flat(items: readonly MathValue[]): MathValue[] {
  return items.flatMap((item) => item.kind === "set" && item.signs ? item.items : [item]);
}

/** Numbers as they are written. */

const MAX_DIGITS = 500;

/** @throws Unreadable for a number that is too long */
function literal(text: string): Extract<Expr, { kind: "number" }> {
  const [, digits, exponent = "0"] = /^([^e]*)(?:e(.*))?$/i.exec(text.replaceAll(",", ""))!;
  if (digits!.length > MAX_DIGITS) throw new Unreadable();
  const [whole, part] = digits!.split(".");
  const shift = Number(exponent) - (part ?? "").length;
  const all = BigInt(`${whole}${part ?? ""}` || "0");
  const value = shift >= 0
    ? fraction(all * 10n ** BigInt(shift))
    : fraction(all, 10n ** BigInt(-shift));
  if (part === undefined) return { kind: "number", value };
  return { kind: "number", value, digits: { after: -shift, significant: String(all).length } };
}
