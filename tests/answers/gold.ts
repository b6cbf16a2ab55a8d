/** Reads gold answers exactly, for the fuzzer. What it does not know is a text. */
import {
  add,
  approximate,
  inverse,
  multiply,
  negate,
  power,
  rational,
  rootOf,
  subtract,
  term,
  type Value,
} from "./exact.ts";

/** null: no bound. */
export interface Interval {
  low: Value | null;
  high: Value | null;
  lowIn: boolean;
  highIn: boolean;
}

export type Gold =
  | { kind: "number"; value: Value; unit: string }
  | { kind: "tuple" | "list"; items: Value[] }
  | { kind: "intervals"; parts: Interval[] }
  | { kind: "matrix"; rows: Value[][] }
  | { kind: "equation"; left: Value; right: Value }
  | { kind: "text"; text: string };

const UNIT = /(?:\\circ|\\text\{[^{}]*\}|\\mbox\{[^{}]*\})/;
const WITH_UNIT = new RegExp(`^(.*?)\\s*(\\^?\\{?${UNIT.source}\\}?(?:\\^\\d)?)$`);

export function readGold(text: string): Gold {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return { kind: "text", text };
    throw error;
  }
}

function read(text: string): Gold {
  const plain = text.replace(/\\left|\\right|\\!|\\\$/g, "").replace(/\\[dt]frac/g, "\\frac")
    .replace(/^-?\d{1,3}(?:,\s*\d{3})+$/, (number) => number.replace(/,\s*/g, "")).trim();
  if (/\\begin\{pmatrix\}/.test(plain)) {
    const body = /^\\begin\{pmatrix\}(.*)\\end\{pmatrix\}$/.exec(plain);
    if (body === null) throw new SyntaxError("a matrix in a formula");
    const rows = body[1]!.split("\\\\").map((row) => row.split("&").map(readValue));
    return { kind: "matrix", rows };
  }
  const range = /^(?:x\s*\\in\s*)?([([].*[)\]])$/.exec(plain);
  if (range !== null && /\\cup|\\infty|^\[|\]$|\\in/.test(plain)) {
    return { kind: "intervals", parts: range[1]!.split("\\cup").map(readInterval) };
  }
  if (/^\(.*,.*\)$/.test(plain)) {
    return { kind: "tuple", items: plain.slice(1, -1).split(",").map(readValue) };
  }
  const items = plain.replace(/^\\\{(.*)\\\}$/, "$1").split(",");
  if (items.length > 1 || /\\pm/.test(plain)) {
    return { kind: "list", items: items.flatMap(readBoth) };
  }
  const sides = plain.split("=");
  if (sides.length === 2 && !/^[a-z]$/.test(sides[0]!.trim())) {
    return { kind: "equation", left: readValue(sides[0]!), right: readValue(sides[1]!) };
  }
  if (sides.length > 2) throw new SyntaxError("several equations");
  if (sides.length === 2 && /[a-z]/.test(sides[1]!)) {
    return { kind: "equation", left: readValue(sides[0]!), right: readValue(sides[1]!) };
  }
  const [, number = sides.at(-1)!, unit = ""] = WITH_UNIT.exec(sides.at(-1)!) ?? [];
  if (number.trim() === "") throw new SyntaxError("no number");
  return { kind: "number", value: readValue(number), unit };
}

function readBoth(text: string): Value[] {
  const [first, second] = text.split("\\pm");
  if (second === undefined) return [readValue(text)];
  const middle = first!.trim() === "" ? [] : readValue(first!), part = readValue(second);
  return [add(middle, part), subtract(middle, part)];
}

function readInterval(text: string): Interval {
  const [, open, low, high, close] = /^\s*([([])([^,]*),([^,]*)([)\]])\s*$/.exec(text) ?? [];
  if (open === undefined) throw new SyntaxError("no interval");
  const bound = (side: string) => side.includes("\\infty") ? null : readValue(side);
  const part = { low: bound(low!), high: bound(high!), lowIn: open === "[", highIn: close === "]" };
  if (part.low !== null && part.high !== null && approximate(part.low) >= approximate(part.high)) {
    throw new SyntaxError("no interval");
  }
  return part;
}

const TOKEN = /\s*(\d+(?:\.\d*)?|\.\d+|\\frac|\\sqrt|\\pi|\\cdot|[A-Za-z]|[-+/^{}()])/y;

function readValue(text: string): Value {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw new SyntaxError(`cannot read ${text}`);
    tokens.push(token);
  }
  const reader = new Reader(tokens);
  const value = reader.sum();
  if (tokens.length > 0) throw new SyntaxError(`cannot read ${text}`);
  return value;
}

class Reader {
  constructor(readonly tokens: string[]) {}

  #take(token: string): boolean {
    if (this.tokens[0] !== token) return false;
    this.tokens.shift();
    return true;
  }

  #expect(token: string): void {
    if (!this.#take(token)) throw new SyntaxError(`expected ${token}`);
  }

  sum(): Value {
    let sum: Value = this.#take("-") ? negate(this.#product()) : this.#product();
    for (;;) {
      if (this.#take("+")) sum = add(sum, this.#product());
      else if (this.#take("-")) sum = subtract(sum, this.#product());
      else return sum;
    }
  }

  #product(): Value {
    let whole = /^\d+$/.test(this.tokens[0] ?? "");
    let product = this.#power();
    while (this.tokens.length > 0 && !/^[-+})]$/.test(this.tokens[0]!)) {
      if (this.#take("/")) {
        product = multiply(product, inverse(this.#power()));
        continue;
      }
      this.#take("\\cdot");
      const mixed = whole && this.tokens[0] === "\\frac";
      const next = this.#power();
      product = mixed ? add(product, next) : multiply(product, next);
      whole = false;
    }
    return product;
  }

  #power(): Value {
    const base = this.#atom();
    if (!this.#take("^")) return base;
    return power(base, this.#take("{") ? this.#exponent("}") : this.#exponent());
  }

  #exponent(close?: string): number {
    const sign = this.#take("-") ? -1 : 1, digits = this.tokens.shift() ?? "";
    if (!/^\d+$/.test(digits)) throw new SyntaxError("expected an exponent");
    if (close !== undefined) this.#expect(close);
    else if (digits.length > 1) this.tokens.unshift(digits.slice(1));
    return sign * Number(close === undefined ? digits[0] : digits);
  }

  #atom(): Value {
    const token = this.tokens.shift();
    if (token === undefined) throw new SyntaxError("the end");
    if (/\d/.test(token)) return decimal(token);
    if (token === "\\pi") return term({ above: 1n, below: 1n, root: 1n, pi: 1, names: {} });
    if (token === "\\frac") {
      const above = this.#argument();
      return multiply(above, inverse(this.#argument()));
    }
    if (token === "\\sqrt") {
      const inner = this.#argument()[0];
      if (inner === undefined || inner.above < 0n) throw new SyntaxError("a root");
      return rootOf(inner.above, inner.below);
    }
    if (token === "(" || token === "{") {
      const value = this.sum();
      this.#expect(token === "(" ? ")" : "}");
      return value;
    }
    if (!/^[A-Za-z]$/.test(token)) throw new SyntaxError(`found ${token}`);
    return term({ above: 1n, below: 1n, root: 1n, pi: 0, names: { [token]: 1 } });
  }

  /** An argument in braces, or one digit. */
  #argument(): Value {
    const token = this.tokens[0] ?? "";
    if (!/^\d{2,}$/.test(token)) return this.#atom();
    this.tokens[0] = token.slice(1);
    return rational(BigInt(token[0]!));
  }
}

function decimal(text: string): Value {
  const [whole, part = ""] = text.split(".");
  return rational(BigInt(`${whole}${part}`), 10n ** BigInt(part.length));
}
