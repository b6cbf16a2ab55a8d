/**
 * Jinja's filters and tests by their names: those that chat templates use. What is not here is an
 * error. Filters that are generators in Jinja give something to go through here, too.
 */
import { didYouMean } from "../../../core/suggest.ts";
import { parseFinite } from "../../../tasks/python/decimals.ts";
import { parseInteger } from "../../../tasks/python/integers.ts";
import { type Literal, PyDict, PyFloat, PyTuple } from "../../../tasks/python/literals.ts";
import { reprFloat, round } from "../../../tasks/python/repr.ts";
import { PYTHON_SPACE, strip } from "../../../tasks/python/text.ts";
import { Endless, MAX_TAKEN_APART } from "./budget.ts";
import { item } from "./methods.ts";
import { binary, compares, isHashable, keyOf } from "./operators.ts";
import { capitalize, filled, joinedBy, replace, requireSize, splitLines, stripOf } from "./text.ts";
import {
  type Call,
  Callable,
  compare,
  described,
  equal,
  integer,
  isIterable,
  isNumber,
  isSequence,
  isText,
  isTrue,
  itemsOf,
  Lazy,
  lengthOf,
  Markup,
  numberOf,
  orUndefined,
  str,
  takes,
  text,
  tuple,
  typeName,
  Undefined,
  unmarked,
  type Value,
  type Work,
} from "./values.ts";

type Filter = Work<Value>;

type Key = (value: Value) => Value;

/**
 * What stands at a path such as `function.name`, in which whole numbers are indices.
 * @param attribute the path, an index, or None for the value itself
 * @param other stands for what is undefined on the way
 */
function keyAt(attribute: Value = null, other: Value = null): Key {
  const parts: readonly Value[] = attribute === null
    ? []
    : typeof attribute !== "string"
    ? [attribute]
    : attribute.split(".").map((part) => /^\d+$/.test(part) ? BigInt(part) : part);
  return (value) =>
    parts.reduce((inner, part) => {
      const found = item(inner, part);
      return found instanceof Undefined && other !== null ? other : found;
    }, value);
}

/** As `keyAt`, without regard to case unless a filter is told otherwise. */
function caseKey(sensitive: Value = false, attribute?: Value): Key {
  const key = keyAt(attribute);
  if (isTrue(sensitive)) return key;
  return (value) => {
    const found = key(value);
    return isText(found) ? str(found).toLowerCase() : found;
  };
}

const attributeOf = takes(
  "attribute [default]",
  (_, attribute: Value, other?: Value) => keyAt(attribute, other),
);

/** `map("filter", …)`, or `map(attribute="name", default=…)`. */
function map(value: Value, all: Call): Value {
  const [name, ...positional] = all.positional, given = { ...all, positional };
  const work = name === undefined
    ? attributeOf(null, given, "map")
    : (one: Value) => runFilter(text(name, "the name of a filter"), one, given);
  return new Lazy(isTrue(value) ? itemsOf(value).map((one) => all.count(work(one))) : []);
}

/** `select` and `reject`, and with an attribute's name first `selectattr` and `rejectattr`. */
function selecting(keep: boolean, ofAttribute: boolean): Filter {
  return (value, { positional, named, count }) => {
    if (!isTrue(value)) return new Lazy([]);
    if (ofAttribute && positional.length === 0) {
      throw new Error("the name of an attribute is missing");
    }
    const key = ofAttribute ? keyAt(positional[0]) : (one: Value) => one;
    const [name, ...rest] = positional.slice(ofAttribute ? 1 : 0);
    const test = name === undefined ? null : text(name, "the name of a test");
    const holds = (one: Value) =>
      test === null ? isTrue(one) : runTest(test, one, { positional: rest, named, count });
    return new Lazy(itemsOf(value).filter((one) => holds(key(count(one))) === keep));
  };
}

function sorted(items: readonly Value[], key: Key, reverse: boolean): Value[] {
  const keyed = items.map((value) => ({ value, key: key(value) }));
  // Python keeps the order of equal items also in reverse.
  keyed.sort((a, b) => reverse ? compare(b.key, a.key) : compare(a.key, b.key));
  return keyed.map(({ value }) => value);
}

/** The first of the smallest or of the largest values. */
function extreme(isMax: boolean): Filter {
  return takes("[case_sensitive] [attribute]", (value, sensitive?: Value, attribute?: Value) => {
    const [first] = sorted(itemsOf(value), caseKey(sensitive, attribute), isMax);
    return orUndefined(first, `the ${isMax ? "max" : "min"} of nothing`);
  });
}

function last(value: Value): Value {
  if (value instanceof Lazy && value.kind === "generator") {
    throw new Error("a generator has no last item");
  }
  return orUndefined(itemsOf(value).at(-1), "the last item");
}

function reverse(value: Value): Value {
  const turned = itemsOf(value).toReversed();
  if (typeof value === "string") return turned.join("");
  return value instanceof Lazy && value.kind === "generator" ? turned : new Lazy(turned);
}

function unique(value: Value, sensitive?: Value, attribute?: Value): Value {
  const items = itemsOf(value), key = caseKey(sensitive, attribute);
  const keys = items.map((one): Literal => {
    const found = key(one);
    if (!isHashable(found)) throw new Error(`unique of ${typeName(found)} is not possible`);
    return keyOf(found);
  });
  // The last index that a dict gets for a key stays, so the items go from the end.
  const firsts = new PyDict(keys.map((one, i) => [one, i] as const).reverse());
  return new Lazy(items.filter((_, i) => firsts.get(keys[i]!) === i));
}

function dictSort(
  value: Value,
  sensitive?: Value,
  by: Value = "key",
  turned: Value = false,
): Value {
  if (by !== "key" && by !== "value") throw new Error('dictsort: by is neither "key" nor "value"');
  const key = caseKey(sensitive, by === "key" ? 0n : 1n);
  return sorted(entriesOf(value, "dictsort"), key, isTrue(turned));
}

function entriesOf(value: Value, what: string): Value[] {
  if (value instanceof PyDict) return value.entries.map((entry) => tuple(entry));
  throw new Error(`${what} of ${described(value)} is not possible`);
}

// Texts. Another value is taken as what Jinja prints for it.

/** A text with the mark of the value that it is made of. */
function like(value: Value, result: string): Value {
  return value instanceof Markup ? new Markup(result) : result;
}

function alone(work: (value: string) => string): Filter {
  return takes("", (value) => like(value, work(str(value))));
}

const WORD_BEGIN = new RegExp(`([-${PYTHON_SPACE}({\\[<]+)`);

/** Jinja's own title: a word begins after white space, `-` or an opening bracket. */
function title(value: Value): Value {
  return str(value).split(WORD_BEGIN).map((word) => {
    const [first = "", ...rest] = Array.from(word);
    return first.toUpperCase() + rest.join("").toLowerCase();
  }).join("");
}

function indent(
  value: Value,
  width: Value = 4n,
  first: Value = false,
  blank: Value = false,
): Value {
  if (!isText(value)) throw new Error(`indent of ${typeName(value)} is not possible`);
  const blanks = typeof width === "string" ? width : filled(" ", integer(width, "width"));
  const [head = "", ...rest] = splitLines(str(value) + "\n", false), keepsBlank = isTrue(blank);
  const isBare = (line: string) => line === "" && !keepsBlank;
  requireSize(str(value).length + blanks.length * rest.filter((line) => !isBare(line)).length);
  const lines = rest.map((line) => isBare(line) ? "" : blanks + line);
  return like(value, (isTrue(first) ? blanks : "") + [head, ...lines].join("\n"));
}

function trim(value: Value, characters: Value = null): Value {
  if (characters === null) return like(value, strip(str(value)));
  return like(value, stripOf(str(value), text(characters, "trim's argument"), true, true));
}

/** The number of a text, or of a number; null where Python reads none. */
function floatOf(value: Value): number | null {
  if (value instanceof Undefined) throw new Error(`${value.what} is undefined`);
  const number = numberOf(value);
  if (number !== null) return number instanceof PyFloat ? number.value : Number(number);
  if (typeof value !== "string") return null;
  if (/^[+-]?(inf|infinity|nan)$|_/i.test(strip(value))) {
    throw new Error(`the number ${strip(value)} is not supported`);
  }
  return parseFinite(value);
}

function toFloat(value: Value, other: Value = new PyFloat(0)): Value {
  const number = floatOf(unmarked(value));
  return number === null ? other : new PyFloat(number);
}

function toInt(given: Value, other: Value = 0n): Value {
  const value = unmarked(given), whole = typeof value === "string" ? parseInteger(value) : null;
  if (whole !== null) return whole;
  if (typeof value === "bigint") return value;
  const number = floatOf(value);
  if (number !== null && !Number.isFinite(number)) {
    throw new Error("int of no finite number is not possible");
  }
  return number === null ? other : BigInt(Math.trunc(number));
}

function absolute(value: Value): Value {
  const number = numberOf(value);
  if (number === null) throw new Error(`abs of ${described(value)} is not possible`);
  if (number instanceof PyFloat) return new PyFloat(Math.abs(number.value));
  return number < 0n ? -number : number;
}

function rounded(value: Value, precision: Value = 0n, how: Value = "common"): Value {
  if (how !== "common" && how !== "ceil" && how !== "floor") {
    throw new Error("round's method is not common, ceil or floor");
  }
  const number = numberOf(value), digits = integer(precision, "round's precision");
  if (number === null) throw new Error(`round of ${described(value)} is not possible`);
  if (digits < 0 || digits > 99) throw new Error(`round to ${digits} digits is not supported`);
  if (how === "common") {
    return typeof number === "bigint" ? number : new PyFloat(round(number.value, digits));
  }
  const scale = 10 ** digits, real = number instanceof PyFloat ? number.value : Number(number);
  if (!Number.isFinite(real * scale)) throw new Error(`round of ${real} is not possible`);
  return new PyFloat((Math[how](real * scale) + 0) / scale);
}

// The filter `tojson` of transformers: Python's `json.dumps` with `ensure_ascii=False`.

interface JsonStyle {
  ascii: boolean;
  sorted: boolean;
  /** Blanks for one level; null = all in one line. */
  indent: string | null;
  between: string;
  afterKey: string;
}

/** @throws Error for a value that JSON does not have */
function toJson(
  value: Value,
  ascii: Value = false,
  indent: Value = null,
  separators: Value = null,
  sorted: Value = false,
): Value {
  const [between, afterKey] = separators === null
    ? [indent === null ? ", " : ",", ": "]
    : itemsOf(separators);
  return jsonOf(value, {
    ascii: isTrue(ascii),
    sorted: isTrue(sorted),
    indent: indent === null || typeof indent === "string"
      ? indent
      : filled(" ", integer(indent, "tojson's indent")),
    between: text(between ?? null, "tojson's separator"),
    afterKey: text(afterKey ?? null, "tojson's separator"),
  }, "\n");
}

/** @param line the line end before the value's own level */
function jsonOf(given: Value, style: JsonStyle, line: string): string {
  const value = unmarked(given);
  if (value === null) return "null";
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value instanceof PyFloat) return jsonFloat(value.value);
  if (typeof value === "string") return quoted(value, style);
  const inner = line + (style.indent ?? "");
  const block = (open: string, parts: readonly string[], close: string) => {
    if (parts.length === 0) return open + close;
    if (style.indent === null) return open + joinedBy(style.between, parts) + close;
    return open + inner + joinedBy(style.between + inner, parts) + line + close;
  };
  if (Array.isArray(value) || value instanceof PyTuple) {
    return block("[", itemsOf(value).map((one) => jsonOf(one, style, inner)), "]");
  }
  if (value instanceof PyDict) {
    const entries = style.sorted
      ? value.entries.toSorted(([a], [b]) => compare(a, b))
      : value.entries;
    const parts = entries.map(([key, one]) =>
      quoted(keyText(key), style) + style.afterKey + jsonOf(one, style, inner)
    );
    return block("{", parts, "}");
  }
  throw new Error(`tojson of ${typeName(value)} is not possible`);
}

function keyText(key: Value): string {
  if (typeof key === "string" || typeof key === "bigint") return String(key);
  throw new Error(`tojson of a key of type ${typeName(key)} is not supported`);
}

function jsonFloat(number: number): string {
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number < 0 ? "-Infinity" : "Infinity";
  return reprFloat(number);
}

function quoted(value: string, { ascii }: JsonStyle): string {
  const plain = JSON.stringify(value);
  if (!ascii) return plain;
  const escape = (unit: string) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
  return plain.replace(/[\x7f-\uffff]/g, escape);
}

const length = takes("", (value: Value) => BigInt(lengthOf(value)));
const defaulted = takes(
  "[default_value] [boolean]",
  (value: Value, other: Value = "", onFalse: Value = false) =>
    value instanceof Undefined || (isTrue(onFalse) && !isTrue(value)) ? other : value,
);

const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>(Object.entries({
  default: defaulted,
  d: defaulted,
  map,
  select: selecting(true, false),
  reject: selecting(false, false),
  selectattr: selecting(true, true),
  rejectattr: selecting(false, true),
  first: takes("", (value) => orUndefined(itemsOf(value)[0], "the first item")),
  last: takes("", last),
  length,
  count: length,
  join: takes(
    "[d] [attribute]",
    (value, between: Value = "", attribute?: Value) =>
      joinedBy(str(between), itemsOf(value).map(keyAt(attribute)).map(str)),
  ),
  reverse: takes("", reverse),
  sum: takes(
    "[attribute] [start]",
    (value, attribute?: Value, start: Value = 0n) =>
      itemsOf(value).map(keyAt(attribute)).reduce((total, one) => {
        if (numberOf(total) === null) throw new Error(`sum of ${typeName(total)} is not supported`);
        return binary("+", total, one);
      }, start),
  ),
  unique: takes("[case_sensitive] [attribute]", unique),
  min: extreme(false),
  max: extreme(true),
  dictsort: takes("[case_sensitive] [by] [reverse]", dictSort),
  items: takes(
    "",
    (value) => new Lazy(value instanceof Undefined ? [] : entriesOf(value, "items")),
  ),
  list: takes("", (value) => [...itemsOf(value)]),
  sort: takes(
    "[reverse] [case_sensitive] [attribute]",
    (value, turned: Value = false, sensitive?: Value, attribute?: Value) =>
      sorted(itemsOf(value), caseKey(sensitive, attribute), isTrue(turned)),
  ),
  upper: alone((value) => value.toUpperCase()),
  lower: alone((value) => value.toLowerCase()),
  capitalize: alone(capitalize),
  title: takes("", title),
  string: alone((value) => value),
  safe: takes("", (value: Value) => new Markup(str(value))),
  indent: takes("[width] [first] [blank]", indent),
  trim: takes("[chars]", trim),
  replace: takes("old new [count]", (value: Value, old: Value, by: Value, most: Value = -1n) => {
    return replace(str(value), str(old), str(by), integer(most, "replace's count"));
  }),
  int: takes("[default]", toInt),
  float: takes("[default]", toFloat),
  abs: takes("", absolute),
  round: takes("[precision] [method]", rounded),
  tojson: takes("[ensure_ascii] [indent] [separators] [sort_keys]", toJson),
}));

/** These make a value of each character or word of a text. */
const TAKES_APART: ReadonlySet<string> = new Set(["max", "min", "sort", "title", "unique"]);

/**
 * @throws Error for a filter that is not known here, or for arguments that it does not take
 * @throws Endless for a text that would take seconds
 */
export function runFilter(name: string, value: Value, given: Call): Value {
  const filter = FILTERS.get(name);
  if (filter === undefined) {
    throw new Error(`there is no filter ${name}${didYouMean(name, [...FILTERS.keys()])}`);
  }
  if (isText(value) && TAKES_APART.has(name) && str(value).length > MAX_TAKEN_APART) {
    throw new Endless(`${name} gets a text of more than ${MAX_TAKEN_APART} characters`);
  }
  return filter(value, given, name);
}

// Jinja's tests by their names: what may stand after `is`. What is not here is an error.

type Test = Work<Value, boolean>;

const of = (test: (value: Value) => boolean): Test => takes("", test);
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
  defined: of((value) => !(value instanceof Undefined)),
  undefined: of((value) => value instanceof Undefined),
  none: of((value) => value === null),
  boolean: of((value) => typeof value === "boolean"),
  true: of((value) => value === true),
  false: of((value) => value === false),
  integer: of((value) => typeof value === "bigint"),
  float: of((value) => value instanceof PyFloat),
  number: of(isNumber),
  string: of(isText),
  mapping: of((value) => value instanceof PyDict),
  iterable: of(isIterable),
  sequence: of(isSequence),
  callable: of((value) => value instanceof Callable || value instanceof Undefined),
  odd: of((value) => hasRest(value, 2n, 1n)),
  even: of((value) => hasRest(value, 2n, 0n)),
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
