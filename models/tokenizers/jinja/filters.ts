/** Jinja's filters: what may stand after `|`. A filter that is not here is an error. */
import { PyDict } from "../../../tasks/python/literals.ts";
import { bind } from "./call.ts";
import { item } from "./methods.ts";
import { absolute, rounded, toFloat, toInt } from "./number_filters.ts";
import { binary } from "./operators.ts";
import { selects } from "./tests.ts";
import { TEXT_FILTERS } from "./text_filters.ts";
import { toJson } from "./to_json.ts";
import {
  type Call,
  compare,
  described,
  equal,
  isTrue,
  itemsOf,
  Lazy,
  lengthOf,
  orUndefined,
  str,
  text,
  tuple,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

export type Filter = (value: Value, given: Call) => Value;

/** @throws Error for a filter that is not known here, or for arguments that it does not take */
export function runFilter(name: string, value: Value, given: Call): Value {
  const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (filter === undefined) throw new Error(`the filter ${name} is not known or not supported`);
  return filter(value, given);
}

/** The value at a path such as `function.name`, in which whole numbers are indices. */
function atPath(value: Value, path: string): Value {
  return path.split(".").reduce(
    (inner, part) => item(inner, /^\d+$/.test(part) ? BigInt(part) : part),
    value,
  );
}

function keyOf(attribute: Value | undefined, other: Value | undefined) {
  if (attribute === undefined || attribute === null) return (value: Value) => value;
  const path = typeof attribute === "bigint" ? String(attribute) : text(attribute, "attribute");
  return (value: Value) => {
    const found = atPath(value, path);
    return found instanceof Undefined && other !== undefined ? other : found;
  };
}

/** Texts are sorted and compared without regard to case, unless a filter is told otherwise. */
function caseKey(sensitive: Value | undefined, attribute: Value | undefined) {
  const key = keyOf(attribute, undefined);
  return (value: Value) => {
    const found = key(value);
    return typeof found === "string" && !isTrue(sensitive ?? false) ? found.toLowerCase() : found;
  };
}

function sorted(items: readonly Value[], key: (value: Value) => Value, reverse: boolean): Value[] {
  const keyed = items.map((value) => ({ value, key: key(value) }));
  // Python keeps the order of equal items also in reverse.
  keyed.sort((a, b) => reverse ? compare(b.key, a.key) : compare(a.key, b.key));
  return keyed.map(({ value }) => value);
}

function extreme(name: string, sign: number): Filter {
  return (value, given) => {
    const [sensitive, attribute] = bind(name, given, ["case_sensitive", "attribute"]);
    const items = itemsOf(value), key = caseKey(sensitive, attribute);
    if (items.length === 0) return new Undefined(`the ${name} of nothing`);
    return items.reduce((best, one) => compare(key(one), key(best)) * sign > 0 ? one : best);
  };
}

function selecting(keep: boolean): Filter {
  return (value, { positional, named }) => {
    if (named.size > 0) throw new Error("select and reject take no named arguments");
    const holds = selects(positional);
    return new Lazy(itemsOf(value).filter((one) => holds(one) === keep));
  };
}

function selectingAttribute(keep: boolean): Filter {
  return (value, { positional: [name, ...test], named }) => {
    if (name === undefined || named.size > 0) {
      throw new Error("selectattr and rejectattr need the name of an attribute");
    }
    const key = keyOf(name, undefined), holds = selects(test);
    return new Lazy(itemsOf(value).filter((one) => holds(key(one)) === keep));
  };
}

/** `map("filter", …)`, or `map(attribute="name", default=…)`. */
function map(value: Value, given: Call): Value {
  if (given.positional.length === 0) {
    const [attribute, other] = bind("map", given, ["attribute", "default"], 1);
    return new Lazy(itemsOf(value).map(keyOf(attribute, other)));
  }
  const [name, ...positional] = given.positional, filter = text(name!, "the name of a filter");
  return new Lazy(
    itemsOf(value).map((one) => runFilter(filter, one, { positional, named: given.named })),
  );
}

function join(value: Value, given: Call): Value {
  const [between = "", attribute] = bind("join", given, ["d", "attribute"]);
  const parts = itemsOf(value).map(keyOf(attribute, undefined));
  return parts.map(str).join(str(between));
}

function defaulted(value: Value, given: Call): Value {
  const [other = "", onFalse = false] = bind("default", given, ["default_value", "boolean"]);
  return value instanceof Undefined || (isTrue(onFalse) && !isTrue(value)) ? other : value;
}

function end(name: "first" | "last"): Filter {
  return (value, given) => {
    bind(name, given, []);
    if (name === "last" && value instanceof Lazy) throw new Error("a generator has no last item");
    return orUndefined(itemsOf(value).at(name === "first" ? 0 : -1), `the ${name} item`);
  };
}

function length(value: Value, given: Call): Value {
  bind("length", given, []);
  return BigInt(lengthOf(value));
}

function reverse(value: Value, given: Call): Value {
  bind("reverse", given, []);
  const turned = itemsOf(value).toReversed();
  return typeof value === "string" ? turned.join("") : new Lazy(turned);
}

function sum(value: Value, given: Call): Value {
  const [attribute, start = 0n] = bind("sum", given, ["attribute", "start"]);
  if (typeof start === "string") throw new Error("sum of texts is not possible");
  return itemsOf(value).map(keyOf(attribute, undefined)).reduce(
    (total, one) => binary("+", total, one),
    start,
  );
}

function unique(value: Value, given: Call): Value {
  const key = caseKey(...bind("unique", given, ["case_sensitive", "attribute"]) as [Value, Value]);
  const seen: Value[] = [];
  return new Lazy(
    itemsOf(value).filter((one) => {
      const found = key(one), isNew = !seen.some((other) => equal(other, found));
      if (isNew) seen.push(found);
      return isNew;
    }),
  );
}

function entries(value: Value): readonly (readonly [Value, Value])[] {
  if (value instanceof PyDict) return value.entries;
  if (value instanceof Undefined) return [];
  throw new Error(`${typeName(value)} has no keys and values`);
}

function dictSort(value: Value, given: Call): Value {
  const names = ["case_sensitive", "by", "reverse"];
  const [sensitive, by = "key", turned = false] = bind("dictsort", given, names);
  if (by !== "key" && by !== "value") throw new Error('dictsort: by is neither "key" nor "value"');
  if (!(value instanceof PyDict)) {
    throw new Error(`dictsort of ${described(value)} is not possible`);
  }
  const key = caseKey(sensitive, by === "key" ? 0n : 1n);
  return sorted(value.entries.map((entry) => tuple(entry)), key, isTrue(turned));
}

const FILTERS: Readonly<Record<string, Filter>> = {
  ...TEXT_FILTERS,
  e: TEXT_FILTERS.escape!,
  abs: absolute,
  round: rounded,
  int: toInt,
  float: toFloat,
  length,
  count: length,
  default: defaulted,
  d: defaulted,
  first: end("first"),
  last: end("last"),
  join,
  reverse,
  sum,
  unique,
  map,
  min: extreme("min", -1),
  max: extreme("max", 1),
  select: selecting(true),
  reject: selecting(false),
  selectattr: selectingAttribute(true),
  rejectattr: selectingAttribute(false),
  dictsort: dictSort,
  tojson: toJson,
  items: (value, given) => {
    bind("items", given, []);
    return new Lazy(entries(value).map((entry) => tuple(entry)));
  },
  list: (value, given) => {
    bind("list", given, []);
    return [...itemsOf(value)];
  },
  sort: (value, given) => {
    const names = ["reverse", "case_sensitive", "attribute"];
    const [turned = false, sensitive, attribute] = bind("sort", given, names);
    return sorted(itemsOf(value), caseKey(sensitive, attribute), isTrue(turned));
  },
};
