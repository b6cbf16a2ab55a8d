/**
 * Attributes of values: the methods of Python's texts, dicts and lists, as far as templates use
 * them. Another method of Python is an error, and any other name is undefined, as in Jinja.
 */
import { PyDict, PyTuple } from "../../../tasks/python/literals.ts";
import { bind } from "./call.ts";
import { contains, itemAt } from "./operators.ts";
import {
  capitalize,
  CLASSES,
  count,
  formatBraces,
  pointIndex,
  replace,
  split,
  splitFromEnd,
  splitLines,
  stripOf,
  title,
} from "./text_functions.ts";
import {
  type Call,
  Callable,
  described,
  equal,
  integer,
  isTrue,
  itemsOf,
  Markup,
  Namespace,
  Sequence,
  str,
  text,
  tuple,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

type Method<T> = (self: T, given: Call) => Value;

/** Python's methods that are not done here. */
const OTHER: Readonly<Record<string, string>> = {
  str: "casefold center encode expandtabs format_map isidentifier isprintable istitle ljust " +
    "maketrans rjust swapcase translate zfill",
  dict: "clear copy fromkeys pop popitem setdefault update",
  list: "append clear copy extend insert pop remove reverse sort",
  tuple: "",
  int: "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag numerator " +
    "real to_bytes is_integer",
  float: "as_integer_ratio conjugate fromhex hex imag is_integer real",
  dict_items: "isdisjoint mapping",
  dict_keys: "isdisjoint mapping",
  dict_values: "mapping",
  range: "count index start step stop",
};

/** `object.name`: Python's attribute first, then the item of that name. */
export function attribute(object: Value, name: string): Value {
  const method = methodOf(object, name);
  if (method !== undefined) return method;
  const field = fieldOf(object, name);
  return field === undefined ? missing(object, name) : field;
}

/** `object[key]`: the item first, then the attribute of that name. */
export function item(object: Value, key: Value): Value {
  if (object instanceof Undefined) throw new Error(`${object.what} is undefined`);
  const found = itemAt(object, key);
  if (found !== undefined) return found;
  if (typeof key !== "string") return new Undefined(`the item ${str(key)}`);
  if (object instanceof Namespace) return attribute(object, key);
  return methodOf(object, key) ?? missing(object, key);
}

function missing(object: Value, name: string): Undefined {
  if (object instanceof Undefined) {
    throw new Error(`${object.what} is undefined: it has no ${name}`);
  }
  return new Undefined(name);
}

function fieldOf(object: Value, name: string): Value | undefined {
  if (object instanceof Namespace) return object.fields.get(name);
  return object instanceof PyDict ? object.get(name) : undefined;
}

/** @throws Error for a name that Python has and that is not done here */
function methodOf(object: Value, name: string): Value | undefined {
  if (name.startsWith("__") && !(object instanceof PyDict && object.get(name) !== undefined)) {
    throw new Error(`the attribute ${name} may not be read`);
  }
  const type = typeName(object), own = METHODS[type];
  if (own !== undefined && Object.hasOwn(own, name)) {
    return new Callable(name, (given) => own[name]!(object, given));
  }
  if (OTHER[type === "bool" ? "int" : type]?.split(" ").includes(name)) {
    throw new Error(`${type}.${name} is not supported, or a template may not use it`);
  }
  if (object instanceof Callable || object instanceof Markup) {
    throw new Error(`${described(object)}.${name} is not supported`);
  }
  return undefined;
}

/** An optional text that may also be None. */
function optionalText(value: Value | undefined, what: string): string | null {
  return value === undefined || value === null ? null : text(value, what);
}

function strips(left: boolean, right: boolean): Method<string> {
  return (self, given) => {
    const [characters] = bind("strip", given, ["chars"]);
    return stripOf(self, optionalText(characters, "strip's argument"), left, right);
  };
}

function splits(work: typeof split): Method<string> {
  return (self, given) => {
    const [separator, limit] = bind("split", given, ["sep", "maxsplit"]);
    const most = limit === undefined ? -1 : integer(limit, "maxsplit");
    return work(self, optionalText(separator, "split's separator"), most);
  };
}

/** `startswith` and `endswith`, whose argument may be a tuple. */
function begins(name: string, test: (self: string, part: string) => boolean): Method<string> {
  return (self, given) => {
    const [part] = bind(name, given, ["prefix"], 1);
    const parts = part instanceof PyTuple ? part.items : [part!];
    return parts.some((one) => test(self, text(one, `${name}'s argument`)));
  };
}

/** A method with one text as its argument. */
function withText(name: string, work: (self: string, part: string) => Value): Method<string> {
  return (self, given) =>
    work(self, text(bind(name, given, ["text"], 1)[0]!, `${name}'s argument`));
}

function alone<T>(name: string, work: (self: T) => Value): Method<T> {
  return (self, given) => {
    bind(name, given, []);
    return work(self);
  };
}

function found(name: string, at: number): number {
  if (at < 0) throw new Error(`${name}: the text is not in it`);
  return at;
}

const position = (self: string, at: number) => BigInt(pointIndex(self, at));

function parts(self: string, at: number, separator: string, none: readonly string[]): Value {
  if (separator === "") throw new Error("partition at an empty text");
  return tuple(at < 0 ? none : [self.slice(0, at), separator, self.slice(at + separator.length)]);
}

const TEXT: Readonly<Record<string, Method<string>>> = {
  strip: strips(true, true),
  lstrip: strips(true, false),
  rstrip: strips(false, true),
  split: splits(split),
  rsplit: splits(splitFromEnd),
  startswith: begins("startswith", (self, part) => self.startsWith(part)),
  endswith: begins("endswith", (self, part) => self.endsWith(part)),
  upper: alone("upper", (self) => self.toUpperCase()),
  lower: alone("lower", (self) => self.toLowerCase()),
  title: alone("title", title),
  capitalize: alone("capitalize", capitalize),
  splitlines: (self, given) => {
    const [keep = false] = bind("splitlines", given, ["keepends"]);
    return splitLines(self, isTrue(keep));
  },
  replace: (self, given) => {
    const [old, by, most] = bind("replace", given, ["old", "new", "count"], 2);
    const limit = most === undefined ? -1 : integer(most, "replace's count");
    return replace(self, text(old!, "replace's old text"), text(by!, "replace's new text"), limit);
  },
  find: withText("find", (self, part) => position(self, self.indexOf(part))),
  rfind: withText("rfind", (self, part) => position(self, self.lastIndexOf(part))),
  index: withText("index", (self, part) => position(self, found("index", self.indexOf(part)))),
  rindex: withText(
    "rindex",
    (self, part) => position(self, found("rindex", self.lastIndexOf(part))),
  ),
  count: withText("count", (self, part) => BigInt(count(self, part))),
  partition: withText(
    "partition",
    (self, part) => parts(self, self.indexOf(part), part, [self, "", ""]),
  ),
  rpartition: withText(
    "rpartition",
    (self, part) => parts(self, self.lastIndexOf(part), part, ["", "", self]),
  ),
  removeprefix: withText(
    "removeprefix",
    (self, part) => self.startsWith(part) ? self.slice(part.length) : self,
  ),
  removesuffix: withText(
    "removesuffix",
    (self, part) => self.endsWith(part) ? self.slice(0, self.length - part.length) : self,
  ),
  join: (self, given) =>
    itemsOf(bind("join", given, ["iterable"], 1)[0]!).map((one) => text(one, "an item of join"))
      .join(self),
  format: (self, { positional, named }) =>
    formatBraces(
      self,
      positional.map(str),
      new Map([...named].map(([name, one]) => [name, str(one)])),
    ),
  ...Object.fromEntries(Object.entries(CLASSES).map(([name, test]) => [name, alone(name, test)])),
};

const view = (kind: Sequence["kind"], items: readonly Value[]) => new Sequence(kind, items, "");

const DICT: Readonly<Record<string, Method<PyDict>>> = {
  items: alone("items", (self) => view("dict_items", self.entries.map((entry) => tuple(entry)))),
  keys: alone("keys", (self) => view("dict_keys", self.entries.map(([key]) => key))),
  values: alone("values", (self) => view("dict_values", self.entries.map(([, value]) => value))),
  get: (self, given) => {
    const [key, other = null] = bind("get", given, ["key", "default"], 1);
    const value = self.get(key as never);
    return value === undefined ? other : value;
  },
};

const LIST: Readonly<Record<string, Method<Value>>> = {
  count: (self, given) => {
    const [one] = bind("count", given, ["value"], 1);
    return BigInt(itemsOf(self).filter((other) => equal(other, one!)).length);
  },
  index: (self, given) => {
    const [one] = bind("index", given, ["value"], 1);
    if (!contains(self, one!)) throw new Error("index: the value is not in the list");
    return BigInt(itemsOf(self).findIndex((other) => equal(other, one!)));
  },
};

// deno-lint-ignore no-explicit-any -- the type's name says which value a method gets
const METHODS: Readonly<Record<string, Readonly<Record<string, Method<any>>>>> = {
  str: TEXT,
  dict: DICT,
  list: LIST,
  tuple: LIST,
};
