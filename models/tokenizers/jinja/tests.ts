/** Jinja's tests: what may stand after `is`, and what `select` takes. */
import { PyDict, PyFloat } from "../../../tasks/python/literals.ts";
import { binary, contains } from "./operators.ts";
import {
  Callable,
  equal,
  isTrue,
  Lazy,
  Markup,
  Namespace,
  Sequence,
  str,
  text,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

export type Test = (value: Value, ...args: readonly Value[]) => boolean;

const isInteger = (value: Value) => typeof value === "bigint";
const isNumber = (value: Value) =>
  isInteger(value) || typeof value === "boolean" || value instanceof PyFloat;
const isText = (value: Value) => typeof value === "string" || value instanceof Markup;

function isIterable(value: Value): boolean {
  if (value === null || isNumber(value) || value instanceof Namespace) return false;
  return !(value instanceof Callable);
}

/** What has a length and can be indexed. */
function isSequence(value: Value): boolean {
  const isView = value instanceof Sequence && value.kind !== "range";
  return isIterable(value) && !isView && !(value instanceof Lazy);
}

/** Python's `is`, which is plain for None and the two bools only. */
function isSame(a: Value, b: Value): boolean {
  const isSingle = (value: Value) => value === null || typeof value === "boolean";
  if (!isSingle(a) && !isSingle(b)) throw new Error(`sameas of ${typeName(a)} is not supported`);
  return a === b;
}

function compares(operator: string): Test {
  return (a, b) => binary(operator, a, b!) === true;
}

function rest(value: Value, divisor: bigint): bigint {
  const found = binary("%", value, divisor);
  if (typeof found === "bigint") return found;
  if (found instanceof PyFloat && Number.isInteger(found.value)) return BigInt(found.value);
  if (found instanceof PyFloat) return -1n;
  throw new Error(`${typeName(value)} is no number`);
}

const equals = compares("=="), differs = compares("!=");
const less = compares("<"), atMost = compares("<="), more = compares(">"), atLeast = compares(">=");

const ONE: Readonly<Record<string, Test>> = {
  defined: (value) => !(value instanceof Undefined),
  undefined: (value) => value instanceof Undefined,
  none: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  true: (value) => value === true,
  false: (value) => value === false,
  integer: isInteger,
  float: (value) => value instanceof PyFloat,
  number: isNumber,
  string: isText,
  mapping: (value) => value instanceof PyDict,
  iterable: isIterable,
  sequence: isSequence,
  callable: (value) => value instanceof Callable || value instanceof Undefined,
  escaped: (value) => value instanceof Markup,
  odd: (value) => rest(value, 2n) === 1n,
  even: (value) => rest(value, 2n) === 0n,
  lower: (value) => str(value) === str(value).toLowerCase() && hasCase(str(value)),
  upper: (value) => str(value) === str(value).toUpperCase() && hasCase(str(value)),
};

const TWO: Readonly<Record<string, Test>> = {
  divisibleby: (value, by) => equal(binary("%", value, by!), 0n),
  "==": equals,
  eq: equals,
  equalto: equals,
  "!=": differs,
  ne: differs,
  "<": less,
  lt: less,
  lessthan: less,
  "<=": atMost,
  le: atMost,
  ">": more,
  gt: more,
  greaterthan: more,
  ">=": atLeast,
  ge: atLeast,
  in: (value, container) => contains(container!, value),
  sameas: (value, other) => isSame(value, other!),
};

function hasCase(value: string): boolean {
  return value.toLowerCase() !== value.toUpperCase();
}

/** @throws Error for a test that Jinja does not have, or with too many or too few arguments */
export function runTest(name: string, value: Value, args: readonly Value[]): boolean {
  const test = Object.hasOwn(ONE, name) ? ONE[name] : Object.hasOwn(TWO, name) ? TWO[name] : null;
  if (test == null) throw new Error(`there is no test ${JSON.stringify(name)}`);
  const needed = test === ONE[name] ? 0 : 1;
  if (args.length !== needed) throw new Error(`the test ${name} takes ${needed} arguments`);
  return test(value, ...args);
}

/** The test that `select` and others name: the truth of the value where they name none. */
export function selects(args: readonly Value[]): (value: Value) => boolean {
  const [name, ...others] = args;
  if (name === undefined) return isTrue;
  const test = text(name, "the name of a test");
  return (value) => runTest(test, value, others);
}
