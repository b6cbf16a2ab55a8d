/** Python's operators: arithmetic, comparison, membership, indices and slices. */
import { type Literal, PyDict, PyFloat, PyTuple } from "../../../tasks/python/literals.ts";
import { searched } from "./text.ts";
import {
  Callable,
  compare,
  described,
  equal,
  escaped,
  integer,
  isText,
  itemsOf,
  Lazy,
  lengthOf,
  Markup,
  Namespace,
  numberOf,
  tuple,
  typeName,
  Undefined,
  unmarked,
  type Value,
} from "./values.ts";
import { MAX_SIZE } from "./budget.ts";

/** Bits of an int that an operator may make. */
const MAX_BITS = 1 << 16;

/**
 * A comparison, or `in`.
 * @throws Error for operands that Python does not take
 */
export function compares(operator: string, left: Value, right: Value): boolean {
  switch (operator) {
    case "==":
      return equal(left, right);
    case "!=":
      return !equal(left, right);
    case "<":
      return compare(left, right) < 0;
    case "<=":
      return compare(left, right) <= 0;
    case ">":
      return compare(left, right) > 0;
    case ">=":
      return compare(left, right) >= 0;
    case "in":
      return contains(right, left);
    case "not in":
      return !contains(right, left);
  }
  throw new Error(`there is no comparison ${operator}`);
}

/** @throws Error for operands that Python does not take */
export function binary(operator: string, left: Value, right: Value): Value {
  const x = numberOf(left), y = numberOf(right);
  if (x !== null && y !== null) {
    return typeof x === "bigint" && typeof y === "bigint"
      ? integers(operator, x, y)
      : floats(operator, real(x), real(y));
  }
  if (operator === "*") {
    if (typeof x === "bigint") return repeated(right, x);
    if (typeof y === "bigint") return repeated(left, y);
  }
  if (operator === "+") {
    if (typeof left === "string" && typeof right === "string") return joined(left, right);
    if (isText(left) && isText(right)) {
      return new Markup(joined(escaped(left).text, escaped(right).text));
    }
    if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right];
    if (left instanceof PyTuple && right instanceof PyTuple) {
      return tuple([...left.items, ...right.items]);
    }
  }
  throw new Error(`${described(left)} ${operator} ${described(right)} is not possible`);
}

/** @param operator `not` is none of them */
export function unary(operator: string, value: Value): Value {
  const number = numberOf(value);
  if (number === null) throw new Error(`${operator}${described(value)} is not possible`);
  if (operator === "+") return number;
  return typeof number === "bigint" ? -number : new PyFloat(-number.value);
}

export function contains(given: Value, wanted: Value): boolean {
  const container = unmarked(given), value = unmarked(wanted);
  if (typeof container === "string") {
    if (typeof value === "string") return container.includes(searched(container, value));
    throw new Error(`${described(value)} cannot be in a text`);
  }
  if (container instanceof PyDict) {
    if (!isHashable(value)) throw new Error(`${typeName(value)} is no key`);
    return container.get(keyOf(value)) !== undefined;
  }
  return itemsOf(container).some((item) => equal(item, value));
}

/** Python's `value[start:stop:step]`, for texts by code points. */
export function slice(value: Value, bounds: readonly Value[]): Value {
  if (!isIndexed(value)) throw new Error(`${described(value)} cannot be sliced`);
  const n = lengthOf(value);
  const [start, stop, given] = bounds.map((bound) =>
    bound === null ? null : integer(bound, "a bound of a slice")
  );
  const step = given ?? 1;
  if (step === 0) throw new Error("a slice has a step of 0");
  const [low, high] = step > 0 ? [0, n] : [-1, n - 1];
  const place = (bound: number | null | undefined, other: number) =>
    bound == null ? other : Math.min(Math.max(bound < 0 ? bound + n : bound, low), high);
  const first = place(start, step > 0 ? 0 : n - 1), end = place(stop, step > 0 ? n : -1);
  // Most texts have one unit a character, and need no list of their characters.
  if (typeof value === "string" && step === 1 && n === value.length) {
    return value.slice(first, Math.max(first, end));
  }
  const items = itemsOf(value), taken: Value[] = [];
  for (let i = first; step > 0 ? i < end : i > end; i += step) taken.push(items[i]!);
  if (typeof value === "string") return taken.join("");
  return Array.isArray(value) ? taken : tuple(taken);
}

export function isHashable(value: Value): boolean {
  if (value instanceof PyTuple) return value.items.every(isHashable);
  return !(Array.isArray(value) || value instanceof PyDict);
}

/** A key as dicts compare it. What cannot be a key here stands for itself, and is in no dict. */
export function keyOf(value: Value): Literal {
  const key = unmarked(value);
  const isOwn = key instanceof Undefined || key instanceof Callable || key instanceof Namespace ||
    key instanceof Lazy;
  return isOwn ? `\udfff${typeName(key)}` : key as Literal;
}

/** The item at an index; undefined where there is none. */
export function itemAt(value: Value, index: Value): Value | undefined {
  if (value instanceof PyDict) return isHashable(index) ? value.get(keyOf(index)) : undefined;
  const at = numberOf(index);
  const isRange = value instanceof Lazy && value.kind === "range";
  if (typeof at !== "bigint" || !(isRange || isIndexed(value))) return undefined;
  return itemsOf(value).at(Number(at));
}

function isIndexed(value: Value): boolean {
  return typeof value === "string" || Array.isArray(value) || value instanceof PyTuple;
}

export function joined(left: string, right: string): string {
  if (left.length + right.length > MAX_SIZE) throw new Error("a text of the template is too long");
  return left + right;
}

function repeated(value: Value, times: bigint): Value {
  if (typeof value !== "string") throw new Error(`${described(value)} * int is not possible`);
  const count = times < 0n ? 0 : Number(times);
  if (count * value.length > MAX_SIZE) {
    throw new Error(`a value of the template is too long: it is repeated ${times} times`);
  }
  return value.repeat(value === "" ? 0 : count);
}

/** Python's arithmetic of ints: `//` and `%` round down, `/` gives a float. */
function integers(operator: string, x: bigint, y: bigint): Value {
  switch (operator) {
    case "+":
      return x + y;
    case "-":
      return x - y;
    case "*":
      if (bits(x) + bits(y) > MAX_BITS) throw new Error("* is too large");
      return x * y;
    case "/":
      return floats("/", Number(x), Number(y));
  }
  if (y === 0n) throw new Error(`a division ${operator} by 0`);
  const rest = x % y, isOff = rest !== 0n && (rest < 0n) !== (y < 0n);
  if (operator === "%") return isOff ? rest + y : rest;
  return isOff ? x / y - 1n : x / y;
}

/** About the bits of a number: at most 3 too many. */
function bits(number: bigint): number {
  return number.toString(16).length * 4;
}

function floats(operator: string, x: number, y: number): PyFloat {
  switch (operator) {
    case "+":
      return new PyFloat(x + y);
    case "-":
      return new PyFloat(x - y);
    case "*":
      return new PyFloat(x * y);
    case "/":
      if (y === 0) throw new Error("a division / by 0");
      return new PyFloat(x / y);
  }
  throw new Error(`${operator} of a float is not supported`);
}

function real(number: bigint | PyFloat): number {
  return typeof number === "bigint" ? Number(number) : number.value;
}
