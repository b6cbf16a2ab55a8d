/** Jinja's tests: what may stand after `is`, and what `select` takes. */
import { PyDict, PyFloat } from "../../../tasks/python/literals.ts";
import { bind } from "./call.ts";
import { isFilterName } from "./filter_names.ts";
import { binary, compares, isHashable } from "./operators.ts";
import { CLASSES } from "./text/functions.ts";
import {
  type Call,
  Callable,
  equal,
  Instance,
  isTrue,
  Lazy,
  Markup,
  Namespace,
  str,
  text,
  typeName,
  Undefined,
  type Value,
  View,
} from "./values.ts";

type Test = (value: Value, given: Call) => boolean;

const isInteger = (value: Value) => typeof value === "bigint";
const isNumber = (value: Value) =>
  isInteger(value) || typeof value === "boolean" || value instanceof PyFloat;
const isText = (value: Value) => typeof value === "string" || value instanceof Markup;

/** What a loop can go through. */
export function isIterable(value: Value): boolean {
  if (value instanceof Instance) return value.kind === "LoopContext";
  return !(value === null || isNumber(value) || value instanceof Namespace ||
    value instanceof Callable);
}

/** What has a length and can be indexed. */
function isSequence(value: Value): boolean {
  return isIterable(value) &&
    !(value instanceof View || value instanceof Lazy || value instanceof Instance);
}

/** Python's `is`. Whether equal texts or large numbers are one object is Python's own affair. */
function isSame(a: Value, b: Value): boolean {
  if (a === b && (a === null || typeof a === "boolean" || typeof a === "object")) return true;
  const isSmall = typeof a === "bigint" && a >= -5n && a <= 256n;
  if (a === b && isSmall) return true;
  const isOneType = typeName(a) === typeName(b);
  if (!isOneType || Array.isArray(a) || a instanceof PyDict || !equal(a, b)) return false;
  throw new Error(`sameas of two equal values of type ${typeName(a)} is not supported`);
}

function alone(name: string, test: (value: Value) => boolean): Test {
  return (value, given) => {
    bind(`the test ${name}`, given, []);
    return test(value);
  };
}

function two(name: string, parameter: string, test: (a: Value, b: Value) => boolean): Test {
  return (value, given) => test(value, bind(`the test ${name}`, given, [parameter], 1)[0]!);
}

function comparing(name: string, operator: string): Test {
  return two(name, "value", (a, b) => compares(operator, a, b));
}

const hasRest = (value: Value, divisor: Value, rest: bigint) =>
  equal(binary("%", value, divisor), rest);

/** @throws Error for a value that Python cannot look up */
function hashable(value: Value): Value {
  if (isHashable(value)) return value;
  throw new Error(`${typeName(value)} is no name`);
}

const ALONE: Readonly<Record<string, (value: Value) => boolean>> = {
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
  callable: (value) =>
    value instanceof Callable || value instanceof Undefined ||
    (value instanceof Instance && value.call !== undefined),
  escaped: (value) => value instanceof Markup,
  odd: (value) => hasRest(value, 2n, 1n),
  even: (value) => hasRest(value, 2n, 0n),
  lower: (value) => CLASSES.islower!(str(value)),
  upper: (value) => CLASSES.isupper!(str(value)),
  filter: (value) => isText(hashable(value)) && isFilterName(str(value)),
  test: (value) => isText(hashable(value)) && isTestName(str(value)),
};

/** Each comparison has an operator, a short and perhaps a long name. */
const COMPARISONS: Readonly<Record<string, string>> = {
  eq: "==",
  equalto: "==",
  ne: "!=",
  lt: "<",
  lessthan: "<",
  le: "<=",
  gt: ">",
  greaterthan: ">",
  ge: ">=",
  "==": "==",
  "!=": "!=",
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
};

const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ...Object.entries(ALONE).map(([name, test]) => [name, alone(name, test)] as const),
  ...Object.entries(COMPARISONS).map(([name, sign]) => [name, comparing(name, sign)] as const),
  ["divisibleby", two("divisibleby", "num", (value, by) => hasRest(value, by, 0n))],
  ["in", two("in", "seq", (value, container) => compares("in", value, container))],
  ["sameas", two("sameas", "other", isSame)],
]);

export function isTestName(name: string): boolean {
  return TESTS.has(name);
}

/** @throws Error for a test that Jinja does not have, or with too many or too few arguments */
export function runTest(name: string, value: Value, given: Call): boolean {
  const test = TESTS.get(name);
  if (test === undefined) throw new Error(`there is no test ${JSON.stringify(name)}`);
  return test(value, given);
}

/** The test that `select` and others name: the truth of the value where they name none. */
export function selects({ positional, named }: Call): (value: Value) => boolean {
  const [name, ...others] = positional;
  if (name === undefined) return isTrue;
  const test = text(name, "the name of a test");
  return (value) => runTest(test, value, { positional: others, named });
}
