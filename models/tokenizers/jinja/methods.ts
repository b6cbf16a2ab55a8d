/**
 * Attributes of values: the methods of Python's texts, dicts and lists, and the fields of Jinja's
 * own objects. What the sandbox forbids is undefined, as in Jinja: it may be printed, and calling
 * it is an error.
 */
import { PyDict, type PyFloat, PyTuple } from "../../../tasks/python/literals.ts";
import { takesUnnamed, type Work } from "./call.ts";
import { itemAt, keyOf } from "./operators.ts";
import { braceFormat } from "./text/brace_format.ts";
import { markupMethod, TEXT_METHODS } from "./text/methods.ts";
import {
  Callable,
  described,
  dict,
  equal,
  Instance,
  integer,
  itemsOf,
  Markup,
  Namespace,
  Range,
  str,
  tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from "./values.ts";

/** Python's methods and fields that are not done here. */
const OTHER: Readonly<Record<string, string>> = {
  str: "encode maketrans translate",
  Markup: "encode maketrans translate format format_map escape striptags unescape",
  int: "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag numerator " +
    "real to_bytes",
  float: "as_integer_ratio conjugate fromhex hex imag real",
  dict_items: "isdisjoint mapping",
  dict_keys: "isdisjoint mapping",
  dict_values: "mapping",
  function: "arguments caller catch_kwargs catch_varargs explicit_caller name",
};

/** Methods that would change a value: the sandbox forbids them. */
const FORBIDDEN: Readonly<Record<string, string>> = {
  dict: "clear pop popitem setdefault update",
  list: "append clear extend insert pop remove reverse sort",
};

/** `object.name`: Python's attribute first, then the item of that name. */
export function attribute(object: Value, name: string): Value {
  const own = ownAttribute(object, name);
  if (own !== undefined) return own;
  const field = object instanceof PyDict ? object.get(name) : undefined;
  return field === undefined ? missing(object, name) : field;
}

/** `object[key]`: the item first, then the attribute of that name. */
export function item(object: Value, key: Value): Value {
  if (object instanceof Undefined) throw new Error(`${object.what} is undefined`);
  const found = itemAt(object, key);
  if (found !== undefined) return found;
  if (typeof key !== "string") return new Undefined(`the item at ${described(key)}`);
  return ownAttribute(object, key) ?? missing(object, key);
}

function missing(object: Value, name: string): Undefined {
  if (object instanceof Undefined && !(name.startsWith("__") && name.endsWith("__"))) {
    throw new Error(`${object.what} is undefined: it has no ${name}`);
  }
  return new Undefined(name);
}

/**
 * The attribute itself, also where there is an item of that name.
 * @throws Error for a name that Python has and that is not done here
 */
export function ownAttribute(object: Value, name: string): Value | undefined {
  if (object instanceof Namespace) return object.fields.get(name);
  if (object instanceof Instance) return object.field(name);
  const type = typeName(object), own = METHODS[type];
  if (own !== undefined && Object.hasOwn(own, name)) {
    return new Callable(name, (given) => own[name]!(object, given, name));
  }
  const isText = object instanceof Markup && Object.hasOwn(TEXT_METHODS, name);
  if (isText) return new Callable(name, (given) => markupMethod(name, object, given));
  if (object instanceof PyTuple && "names" in object) {
    const at = (object.names as readonly string[]).indexOf(name);
    if (at >= 0) return object.items[at];
  }
  if (object instanceof Range && (name === "start" || name === "stop" || name === "step")) {
    return BigInt(object[name]);
  }
  if (FORBIDDEN[type]?.split(" ").includes(name)) {
    return new Undefined(`${type}.${name}, which a template may not use,`);
  }
  if (OTHER[type === "bool" ? "int" : type]?.split(" ").includes(name)) {
    throw new Error(`${type}.${name} is not supported`);
  }
  return undefined;
}

const access = { attribute, item };

const TEXT: Readonly<Record<string, Work<string>>> = {
  ...TEXT_METHODS,
  format: (self, given) => braceFormat(self, given, access),
  format_map: takesUnnamed("mapping", (self: string, values: Value) => {
    if (!(values instanceof PyDict)) throw new Error("format_map needs a dict");
    const named = values.entries.map(([key, value]) => [str(key), value] as const);
    return braceFormat(self, { positional: [], named: new Map(named) }, access);
  }),
};

const view = (kind: View["kind"], itemsOf: (self: PyDict) => readonly Value[]) =>
  takesUnnamed("", (self: PyDict) => new View(kind, itemsOf(self)));

const DICT: Readonly<Record<string, Work<PyDict>>> = {
  items: view("dict_items", (self) => self.entries.map((entry) => tuple(entry))),
  keys: view("dict_keys", (self) => self.entries.map(([key]) => key)),
  values: view("dict_values", (self) => self.entries.map(([, value]) => value)),
  copy: takesUnnamed("", (self: PyDict) => dict(self.entries)),
  get: takesUnnamed(
    "key [default]",
    (self: PyDict, key: Value, other: Value = null) => self.get(keyOf(key)) ?? other,
  ),
  fromkeys: takesUnnamed(
    "iterable [value]",
    (_, keys: Value, value: Value = null) =>
      dict(itemsOf(keys).map((key) => [key, value] as const)),
  ),
};

function indexIn(self: Value, one: Value, from: Value = 0n, to?: Value): Value {
  const all = itemsOf(self), n = all.length;
  const place = (bound: Value) => {
    const at = integer(bound, "a bound of index");
    return at < 0 ? Math.max(0, at + n) : at;
  };
  const end = to === undefined ? n : place(to), start = place(from);
  const at = all.findIndex((other, i) => i >= start && i < end && equal(other, one));
  if (at < 0) throw new Error("index: the value is not in the list");
  return BigInt(at);
}

const LIST: Readonly<Record<string, Work<Value>>> = {
  count: takesUnnamed(
    "value",
    (self: Value, one: Value) => BigInt(itemsOf(self).filter((other) => equal(other, one)).length),
  ),
  index: takesUnnamed("value [start] [stop]", indexIn),
};

// deno-lint-ignore no-explicit-any -- the type's name says which value a method gets
const METHODS: Readonly<Record<string, Readonly<Record<string, Work<any>>>>> = {
  str: TEXT,
  dict: DICT,
  list: { ...LIST, copy: takesUnnamed("", (self: Value) => [...itemsOf(self)]) },
  tuple: LIST,
  range: {
    count: LIST.count!,
    index: takesUnnamed("value", (self: Value, one: Value) => indexIn(self, one)),
  },
  float: { is_integer: takesUnnamed("", (self: PyFloat) => Number.isInteger(self.value)) },
};
