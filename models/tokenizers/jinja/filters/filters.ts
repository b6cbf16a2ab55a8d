/**
 * Jinja's filters and tests by their names: what may stand after `|` and after `is`, and the
 * filters that run others by name. What is not here is an error.
 */
import { didYouMean } from "../../../../core/suggest.ts";
import { PyDict, PyFloat } from "../../../../tasks/python/literals.ts";
import { Endless, MAX_TAKEN_APART } from "../budget.ts";
import { takes, type Work } from "../call.ts";
import { ownAttribute } from "../methods.ts";
import { binary, compares, isHashable } from "../operators.ts";
import { CLASSES } from "../text/functions.ts";
import { keyAt } from "./attributes.ts";
import { HTML_FILTERS } from "./html_filters.ts";
import { LIST_FILTERS } from "./list_filters.ts";
import { NUMBER_FILTERS } from "./number_filters.ts";
import { TEXT_FILTERS } from "./text_filters.ts";
import { toJson } from "./to_json.ts";
import {
  type Call,
  Callable,
  equal,
  Instance,
  isIterable,
  isNumber,
  isSequence,
  isText,
  isTrue,
  iterate,
  Lazy,
  Markup,
  str,
  text,
  typeName,
  Undefined,
  type Value,
} from "../values.ts";

type Filter = Work<Value>;
type Test = Work<Value, boolean>;

const defaulted = takes(
  "[default_value] [boolean]",
  (value: Value, other: Value = "", onFalse: Value = false) =>
    value instanceof Undefined || (isTrue(onFalse) && !isTrue(value)) ? other : value,
);

function refused(reason: string): Filter {
  return () => {
    throw new Error(reason);
  };
}

/** `map("filter", …)`, or `map(attribute="name", default=…)`. */
function* mapped(value: Value, given: Call): Generator<Value> {
  if (!isTrue(value)) return;
  const work = mapping(given);
  for (const one of iterate(value)) yield work(one);
}

const attributeOf = takes(
  "attribute [default]",
  (_, attribute: Value, other?: Value) => keyAt(attribute, other),
);

function mapping({ positional: [name, ...positional], named }: Call): (value: Value) => Value {
  const given = { positional, named };
  if (name === undefined) return attributeOf(null, given, "map");
  const filter = text(name, "the name of a filter");
  return (one) => runFilter(filter, one, given);
}

/** `select` and `reject`, and with an attribute's name first `selectattr` and `rejectattr`. */
function selecting(keep: boolean, ofAttribute: boolean): Filter {
  return (value, { positional, named }) => new Lazy(chosen(value, positional, named));

  function* chosen(
    value: Value,
    positional: Call["positional"],
    named: Call["named"],
  ): Generator<Value> {
    if (!isTrue(value)) return;
    if (ofAttribute && positional.length === 0) {
      throw new Error("the name of an attribute is missing");
    }
    const key = ofAttribute ? keyAt(positional[0]) : (one: Value) => one;
    const holds = testing({ positional: ofAttribute ? positional.slice(1) : positional, named });
    for (const one of iterate(value)) if (holds(key(one)) === keep) yield one;
  }
}

/** The test that `select` and others name: the truth of the value where they name none. */
function testing({ positional: [name, ...positional], named }: Call): (value: Value) => boolean {
  if (name === undefined) return isTrue;
  const test = text(name, "the name of a test");
  return (value) => runTest(test, value, { positional, named });
}

const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>(Object.entries({
  ...TEXT_FILTERS,
  ...LIST_FILTERS,
  ...HTML_FILTERS,
  ...NUMBER_FILTERS,
  default: defaulted,
  d: defaulted,
  map: (value, given) => new Lazy(mapped(value, given)),
  select: selecting(true, false),
  reject: selecting(false, false),
  selectattr: selecting(true, true),
  rejectattr: selecting(false, true),
  tojson: toJson,
  attr: takes("name", (value: Value, given: Value) => {
    const name = text(given, "attr's name");
    if (value instanceof Undefined) {
      throw new Error(`${value.what} is undefined: it has no ${name}`);
    }
    return ownAttribute(value, name) ?? new Undefined(name);
  }),
  random: refused("the filter random is not supported: a prompt would differ from call to call"),
  urlize: refused("the filter urlize is not supported: it writes HTML"),
}));

export function isFilterName(name: string): boolean {
  return FILTERS.has(name);
}

/** What is said about a filter that there is not. */
export function noFilter(name: string): string {
  return `there is no filter ${name}${didYouMean(name, [...FILTERS.keys()])}`;
}

/** These make a value of each character or word of a text. */
const TAKES_APART: ReadonlySet<string> = new Set(
  ["batch", "groupby", "max", "min", "slice", "sort", "title", "unique", "wordwrap"],
);

/**
 * @throws Error for a filter that is not known here, or for arguments that it does not take
 * @throws Endless for a text that would take seconds
 */
export function runFilter(name: string, value: Value, given: Call): Value {
  const filter = FILTERS.get(name);
  if (filter === undefined) throw new Error(noFilter(name));
  if (isText(value) && TAKES_APART.has(name) && str(value).length > MAX_TAKEN_APART) {
    throw new Endless(`${name} gets a text of more than ${MAX_TAKEN_APART} characters`);
  }
  return filter(value, given, name);
}

const alone = (test: (value: Value) => boolean): Test => takes("", test);
const comparing = (operator: string): Test =>
  takes("value", (a: Value, b: Value) => compares(operator, a, b));

const hasRest = (value: Value, divisor: Value, rest: bigint) =>
  equal(binary("%", value, divisor), rest);

/** Python's `is`. Whether equal texts or large numbers are one object is Python's own affair. */
function isSame(a: Value, b: Value): boolean {
  if (a === b && (a === null || typeof a === "boolean" || typeof a === "object")) return true;
  const isSmall = typeof a === "bigint" && a >= -5n && a <= 256n;
  if (a === b && isSmall) return true;
  const isOneType = typeName(a) === typeName(b);
  if (!isOneType || Array.isArray(a) || a instanceof PyDict || !equal(a, b)) return false;
  throw new Error(`sameas of two equal values of type ${typeName(a)} is not supported`);
}

/** @throws Error for a value that Python cannot look up */
function isNameOf(value: Value, isName: (name: string) => boolean): boolean {
  if (!isHashable(value)) throw new Error(`${typeName(value)} is no name`);
  return isText(value) && isName(str(value));
}

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
  callable: alone((value) =>
    value instanceof Callable || value instanceof Undefined ||
    (value instanceof Instance && value.call !== undefined)
  ),
  escaped: alone((value) => value instanceof Markup),
  odd: alone((value) => hasRest(value, 2n, 1n)),
  even: alone((value) => hasRest(value, 2n, 0n)),
  lower: alone((value) => CLASSES.islower!(str(value))),
  upper: alone((value) => CLASSES.isupper!(str(value))),
  filter: alone((value) => isNameOf(value, isFilterName)),
  test: alone((value) => isNameOf(value, isTestName)),
  divisibleby: takes("num", (value: Value, by: Value) => hasRest(value, by, 0n)),
  in: takes("seq", (value: Value, container: Value) => compares("in", value, container)),
  sameas: takes("other", isSame),
  // Each comparison has an operator, a short and perhaps a long name.
  eq: comparing("=="),
  equalto: comparing("=="),
  ne: comparing("!="),
  lt: comparing("<"),
  lessthan: comparing("<"),
  le: comparing("<="),
  gt: comparing(">"),
  greaterthan: comparing(">"),
  ge: comparing(">="),
  ...Object.fromEntries(["==", "!=", "<", "<=", ">", ">="].map((sign) => [sign, comparing(sign)])),
}));

export function isTestName(name: string): boolean {
  return TESTS.has(name);
}

/** @throws Error for a test that Jinja does not have, or with too many or too few arguments */
export function runTest(name: string, value: Value, given: Call): boolean {
  const test = TESTS.get(name);
  if (test === undefined) throw new Error(`there is no test ${JSON.stringify(name)}`);
  return test(value, given, `the test ${name}`);
}
