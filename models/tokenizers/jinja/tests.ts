/** Jinja's tests by their names: what may stand after `is`. What is not here is an error. */
import { PyDict, PyFloat } from "../../../tasks/python/literals.ts";
import { takes, type Work } from "./call.ts";
import { binary, compares } from "./operators.ts";
import {
  type Call,
  Callable,
  equal,
  isIterable,
  isNumber,
  isSequence,
  isText,
  Undefined,
  type Value,
} from "./values.ts";

type Test = Work<Value, boolean>;

const alone = (test: (value: Value) => boolean): Test => takes("", test);
const comparing = (operator: string): Test =>
  takes("value", (a: Value, b: Value) => compares(operator, a, b));
const hasRest = (value: Value, divisor: Value, rest: bigint) =>
  equal(binary("%", value, divisor), rest);

/** Each comparison's operator, its short and its long name. */
const COMPARISONS: readonly (readonly string[])[] = [
  ["==", "eq", "equalto"],
  ["!=", "ne"],
  ["<", "lt", "lessthan"],
  ["<=", "le"],
  [">", "gt", "greaterthan"],
  [">=", "ge"],
];

const TESTS: ReadonlyMap<string, Test> = new Map(Object.entries({
  defined: alone((value) => !(value instanceof Undefined)),
  undefined: alone((value) => value instanceof Undefined),
  none: alone((value) => value === null),
  boolean: alone((value) => typeof value === "boolean"),
  true: alone((value) => value === true),
  false: alone((value) => value === false),
  integer: alone((value) => typeof value === "bigint"),
  float: alone((value) => value instanceof PyFloat),
  number: alone(isNumber),
  string: alone(isText),
  mapping: alone((value) => value instanceof PyDict),
  iterable: alone(isIterable),
  sequence: alone(isSequence),
  callable: alone((value) => value instanceof Callable || value instanceof Undefined),
  odd: alone((value) => hasRest(value, 2n, 1n)),
  even: alone((value) => hasRest(value, 2n, 0n)),
  divisibleby: takes("num", (value: Value, by: Value) => hasRest(value, by, 0n)),
  in: takes("seq", (value: Value, container: Value) => compares("in", value, container)),
  ...Object.fromEntries(
    COMPARISONS.flatMap((names) => names.map((name) => [name, comparing(names[0]!)])),
  ),
}));

/** @throws Error for a test that is not known here, or with too many or too few arguments */
export function runTest(name: string, value: Value, given: Call): boolean {
  const test = TESTS.get(name);
  if (test === undefined) throw new Error(`there is no test ${JSON.stringify(name)}`);
  return test(value, given, `the test ${name}`);
}
