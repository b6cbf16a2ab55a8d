/**
 * The values that a Jinja template works with: Python's values, and those that only templates have.
 * What is not done here as in Python throws, so that a prompt is never silently another one.
 */
import {
  type Literal,
  literalsEqual,
  PyDict,
  PyFloat,
  PyTuple,
} from "../../../tasks/python/literals.ts";
import { reprOr } from "../../../tasks/python/repr.ts";
import { codePoints } from "../../../tasks/python/text.ts";

/** An int is a bigint here, a float a PyFloat. */
export type Value =
  | Literal
  | Value[]
  | Undefined
  | Callable
  | Namespace
  | Lazy
  | Markup;

/** What a name or an attribute gives that is not there. */
export class Undefined {
  constructor(readonly what: string) {}
}

export class Callable {
  constructor(readonly name: string, readonly call: (given: Call) => Value) {}
}

export interface Call {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
  /** Counts a value that the call makes or goes through, and gives it. */
  readonly count: (value: Value) => Value;
}

/** Jinja's `namespace(…)`, the only value whose fields a template may set, or its `loop`. */
export class Namespace {
  readonly #fields = new Map<string, Value>();

  constructor(fields: Iterable<readonly [string, Value]>) {
    for (const [name, value] of fields) this.set(name, value);
  }

  get(name: string): Value | undefined {
    return this.#fields.get(name);
  }

  /** @throws Error for a name that transformers refuses */
  set(name: string, value: Value): void {
    if (name.startsWith("_")) {
      throw new Error(`a namespace has no field ${name}, with an underscore`);
    }
    this.#fields.set(name, value);
  }
}

/**
 * What is gone through, and neither printed nor indexed: what filters such as `map` give, the keys,
 * values or items of a dict, and a range.
 */
export class Lazy {
  /** A generator has no length, and can be gone through once. */
  constructor(
    readonly items: readonly Value[],
    readonly kind: "generator" | "view" | "range" = "generator",
  ) {}

  #isTaken = false;

  take(): readonly Value[] {
    if (this.kind !== "generator") return this.items;
    const items = this.#isTaken ? [] : this.items;
    this.#isTaken = true;
    return items;
  }
}

/** A text that needs no escapes: what `safe` and `escape` give. Texts added to it are escaped. */
export class Markup {
  constructor(readonly text: string) {}
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "'": "&#39;",
  '"': "&#34;",
};

export function escaped(value: Value): Markup {
  if (value instanceof Markup) return value;
  return new Markup(str(value).replace(/[&<>'"]/g, (one) => ESCAPES[one]!));
}

/** A text that is marked as safe, as a text; any other value as it is. */
export function unmarked(value: Value): Value {
  return value instanceof Markup ? value.text : value;
}

export const tuple = (items: readonly Value[]) => new PyTuple(items as readonly Literal[]);

/** @throws Error for a key that Python cannot hash */
export const dict = (entries: Iterable<readonly [Value, Value]>) =>
  new PyDict(entries as Iterable<readonly [Literal, Literal]>);

/**
 * The template's value for one of JavaScript: a whole number is an int, and a function is one of
 * texts.
 */
export function fromJson(value: unknown): Value {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") {
    return Number.isInteger(value) ? BigInt(value) : new PyFloat(value);
  }
  if (typeof value === "bigint") return value;
  if (Array.isArray(value)) return value.map(fromJson);
  if (typeof value === "function") {
    return new Callable(
      value.name,
      ({ positional }) => fromJson(value(...positional.map((one) => text(one, "the argument")))),
    );
  }
  if (typeof value === "object") {
    const given = Object.entries(value).filter(([, item]) => item !== undefined);
    return dict(given.map(([key, item]) => [key, fromJson(item)] as const));
  }
  throw new Error(`a template cannot read a ${typeof value}`);
}

/** Python's name of a value's type. */
export function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint" || typeof value === "number") return "int";
  if (typeof value === "string") return "str";
  if (Array.isArray(value)) return "list";
  if (value instanceof PyFloat) return "float";
  if (value instanceof PyTuple) return "tuple";
  if (value instanceof PyDict) return "dict";
  if (value instanceof Markup) return "Markup";
  if (value instanceof Undefined) return "Undefined";
  if (value instanceof Callable) return "function";
  if (value instanceof Namespace) return "Namespace";
  return value instanceof Lazy ? value.kind : "set";
}

/** A Python number's value; a bool is one. Null for other values. */
export function numberOf(value: Value): bigint | PyFloat | null {
  if (typeof value === "bigint" || value instanceof PyFloat) return value;
  return typeof value === "boolean" ? BigInt(value) : null;
}

export function isNumber(value: Value): boolean {
  return numberOf(value) !== null;
}

export function isText(value: Value): boolean {
  return typeof value === "string" || value instanceof Markup;
}

/** What a loop can go through. */
export function isIterable(value: Value): boolean {
  return !(value === null || isNumber(value) || value instanceof Namespace ||
    value instanceof Callable);
}

/** What has a length and can be indexed. */
export function isSequence(value: Value): boolean {
  return isIterable(value) && !(value instanceof Lazy && value.kind !== "range");
}

/** @throws Error for a value that is no int */
export function integer(value: Value, what: string): number {
  const number = numberOf(value);
  if (typeof number !== "bigint") throw new Error(`${what} is ${typeName(value)}, expected an int`);
  return Number(number);
}

/** @throws Error for a value that is no text */
export function text(value: Value, what: string): string {
  if (typeof value === "string") return value;
  throw new Error(`${what} is ${described(value)}, expected a text`);
}

/** A value in a message. */
export function described(value: Value): string {
  return value instanceof Undefined ? `${value.what}, which is undefined,` : typeName(value);
}

/** Python's `bool(value)`. */
export function isTrue(value: Value): boolean {
  if (value === null || value instanceof Undefined) return false;
  if (typeof value === "boolean") return value;
  if (typeof value === "bigint") return value !== 0n;
  if (value instanceof PyFloat) return value.value !== 0;
  if (isText(value)) return str(value) !== "";
  const hasLength = isSequence(value) || (value instanceof Lazy && value.kind !== "generator");
  return hasLength ? lengthOf(value) > 0 : true;
}

/** Python's `len(value)`. */
export function lengthOf(value: Value): number {
  if (value instanceof Undefined) return 0;
  if (typeof value === "string") return codePoints(value);
  if (value instanceof PyDict) return value.size;
  if (value instanceof Lazy && value.kind === "generator") {
    throw new Error("a generator has no length");
  }
  return itemsOf(value).length;
}

/** What `for` gives of a value: the characters of a text, the keys of a dict. */
export function itemsOf(value: Value): readonly Value[] {
  if (typeof value === "string") return Array.from(value);
  if (value instanceof Markup) return Array.from(value.text);
  if (Array.isArray(value)) return value;
  if (value instanceof PyTuple) return value.items;
  if (value instanceof PyDict) return value.entries.map(([key]) => key);
  if (value instanceof Lazy) return value.take();
  if (value instanceof Undefined) return [];
  throw new Error(`${typeName(value)} cannot be looped over`);
}

/** Python's `==`. */
export function equal(a: Value, b: Value): boolean {
  if (a instanceof Undefined || b instanceof Undefined) {
    return a instanceof Undefined && b instanceof Undefined;
  }
  const left = unmarked(a), right = unmarked(b);
  if (left instanceof Lazy && right instanceof Lazy && left !== right) {
    throw new Error(`${typeName(left)} and ${typeName(right)} cannot be compared`);
  }
  return literalsEqual(left as Literal, right as Literal);
}

/**
 * Python's order: below 0 where a < b.
 * @throws Error for values that have no order
 */
export function compare(one: Value, other: Value): number {
  const a = unmarked(one), b = unmarked(other);
  const x = numberOf(a), y = numberOf(b);
  if (x !== null && y !== null) {
    const left = x instanceof PyFloat ? x.value : x, right = y instanceof PyFloat ? y.value : y;
    return left < right ? -1 : left > right ? 1 : left == right ? 0 : NaN;
  }
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  throw new Error(`${described(a)} and ${described(b)} have no order`);
}

/** By code points, not by UTF-16 units. */
function compareTexts(a: string, b: string): number {
  const left = Array.from(a), right = Array.from(b);
  for (let i = 0; i < left.length && i < right.length; i++) {
    const step = left[i]!.codePointAt(0)! - right[i]!.codePointAt(0)!;
    if (step !== 0) return step;
  }
  return left.length - right.length;
}

/** What Jinja prints for a value: Python's `str`, and nothing for what is not there. */
export function str(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Undefined) return "";
  return value instanceof Markup ? value.text : repr(value);
}

/** Python's `repr`. */
export function repr(value: Value): string {
  return reprOr<Value>(value, repr, () => {
    if (value instanceof Undefined) return "Undefined";
    throw new Error(`${typeName(value)} cannot be printed`);
  });
}

/** A value that may be None; undefined where there is no value. */
export function orUndefined(value: Value | undefined, what: string): Value {
  return value === undefined ? new Undefined(what) : value;
}

// Arguments of functions, filters, tests and methods, and how their tables declare them.

/** A filter, a test or a method: what it makes of a value and of the arguments of a call. */
export type Work<Self, Result = Value> = (self: Self, given: Call, name: string) => Result;

/**
 * Work with these arguments.
 * @param parameters their names; those in brackets may be left out, and are undefined then
 */
export function takes<Self, Given extends readonly (Value | undefined)[], Result>(
  parameters: string,
  work: (self: Self, ...given: Given) => Result,
): Work<Self, Result> {
  const { names, required } = parametersOf(parameters);
  return (self, given, name) =>
    work(self, ...bind(name, given, names, required) as unknown as Given);
}

/** "old new [count]": three names, of which two are required. */
function parametersOf(parameters: string): { names: readonly string[]; required: number } {
  const parts = parameters.split(" ").filter((part) => part !== "");
  const required = parts.filter((part) => !part.startsWith("[")).length;
  return { names: parts.map((part) => part.replace(/[[\]]/g, "")), required };
}

/**
 * The arguments in the order of the parameters; undefined where one is not given.
 * @param required how many of them must be given
 * @throws Error for an argument too many, too few, or of another name
 */
export function bind(
  what: string,
  { positional, named }: Pick<Call, "positional" | "named">,
  names: readonly string[],
  required = 0,
): (Value | undefined)[] {
  if (positional.length > names.length) {
    throw new Error(`${what} got ${positional.length} arguments, at most ${names.length} are read`);
  }
  for (const name of named.keys()) {
    const at = names.indexOf(name);
    if (at < 0) throw new Error(`${what} has no argument ${JSON.stringify(name)}`);
    if (at < positional.length) throw new Error(`${what} got its argument ${name} twice`);
  }
  const given = names.map((name, i) => i < positional.length ? positional[i] : named.get(name));
  const missing = given.slice(0, required).indexOf(undefined);
  if (missing >= 0) throw new Error(`${what} needs its argument ${names[missing]}`);
  return given;
}
