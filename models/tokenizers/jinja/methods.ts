/**
 * Attributes of values: the methods of Python's texts, dicts and lists, and the fields of Jinja's
 * own objects. What the sandbox forbids is undefined, as in Jinja: it may be printed, and calling
 * it is an error.
 */
import { PyDict, PyTuple } from "../../../tasks/python/literals.ts";
import { words } from "../../../tasks/python/text.ts";
import { itemAt, keyOf } from "./operators.ts";
import {
  capitalize,
  CLASSES,
  count,
  joinedBy,
  replace,
  searched,
  splitLines,
  stripOf,
} from "./text.ts";
import {
  type Call,
  Callable,
  described,
  equal,
  integer,
  isTrue,
  itemsOf,
  Lazy,
  Namespace,
  str,
  takes,
  text,
  tuple,
  typeName,
  Undefined,
  type Value,
  type Work,
} from "./values.ts";

/** Methods that would change a value, which the sandbox forbids, and others that are not here. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  dict: ["clear", "copy", "fromkeys", "pop", "popitem", "setdefault", "update"],
  list: ["append", "clear", "copy", "extend", "insert", "pop", "remove", "reverse", "sort"],
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
  const own = ownAttribute(object, key);
  return own === undefined ? missing(object, key) : own;
}

function missing(object: Value, name: string): Undefined {
  if (object instanceof Undefined && !(name.startsWith("__") && name.endsWith("__"))) {
    throw new Error(`${object.what} is undefined: it has no ${name}`);
  }
  return new Undefined(name);
}

/** The attribute itself, also where there is an item of that name. */
function ownAttribute(object: Value, name: string): Value | undefined {
  if (object instanceof Namespace) return object.get(name);
  const type = typeName(object), methods = METHODS[type];
  if (methods !== undefined && Object.hasOwn(methods, name)) {
    return new Callable(name, (given) => methods[name]!(object, given, name));
  }
  if (!FORBIDDEN[type]?.includes(name)) return undefined;
  return new Undefined(`${type}.${name}, which a template may not use,`);
}

/** An optional text that may also be None. */
function optionalText(value: Value | undefined, what: string): string | null {
  return value === undefined || value === null ? null : text(value, what);
}

function strips(left: boolean, right: boolean): Work<string> {
  return takes(
    "[chars]",
    (self: string, characters?: Value) =>
      stripOf(self, optionalText(characters, "what is stripped"), left, right),
  );
}

/** `split(separator, limit)` and `rsplit`; without a separator at white space. */
function splits(fromEnd: boolean): Work<string> {
  return takes("[sep] [maxsplit]", (self: string, given?: Value, most: Value = -1n) => {
    const separator = optionalText(given, "the separator"), limit = integer(most, "maxsplit");
    if (separator === "") throw new Error("split at an empty text");
    if (separator === null) {
      if (limit >= 0) throw new Error("a limited split at white space is not supported");
      return words(self);
    }
    const parts = self.split(searched(self, separator));
    if (limit < 0 || parts.length <= limit + 1) return parts;
    if (!fromEnd) return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
    const kept = parts.length - limit;
    return [parts.slice(0, kept).join(separator), ...parts.slice(kept)];
  });
}

/** `startswith` and `endswith`, whose argument may be a tuple. */
function begins(test: (self: string, part: string) => boolean): Work<string> {
  return takes("prefix", (self: string, wanted: Value) => {
    const parts = wanted instanceof PyTuple ? wanted.items : [wanted];
    return parts.map((one) => text(one, "what a text begins or ends with"))
      .some((one) => test(self, one));
  });
}

/** A method with one text as its argument. */
function withText(work: (self: string, part: string) => Value): Work<string> {
  return takes("text", (self: string, part: Value) => work(self, text(part, "its argument")));
}

/** `find` and `rfind`: a place as code points, −1 where the text is not. */
function finds(find: (self: string, part: string) => number): Work<string> {
  return withText((self, part) => {
    const at = find(self, searched(self, part));
    return at < 0 ? -1n : BigInt(Array.from(self.slice(0, at)).length);
  });
}

const alone = (work: (self: string) => Value): Work<string> => takes("", work);

/** `"{} {name}".format(…)`: fields with a specification, an attribute or a number are refused. */
function format(self: string, { positional, named }: Call): string {
  const values = positional.values(), parts: string[] = [];
  for (const [part, open, name, close] of self.matchAll(/([{}])\1|\{(\w*)\}|([{}])|[^{}]+/g)) {
    if (close !== undefined || /^\d/.test(name ?? "")) {
      throw new Error(`format() of ${JSON.stringify(self)} is not supported`);
    }
    const value = name === "" ? values.next().value : named.get(name!);
    if (name !== undefined && value === undefined) {
      throw new Error(`format() got no value for ${part}`);
    }
    parts.push(name === undefined ? open ?? part : str(value!));
  }
  return joinedBy("", parts);
}

const TEXT: Readonly<Record<string, Work<string>>> = {
  strip: strips(true, true),
  lstrip: strips(true, false),
  rstrip: strips(false, true),
  upper: alone((self) => self.toUpperCase()),
  lower: alone((self) => self.toLowerCase()),
  // A letter with a case begins a word after another character.
  title: alone((self) => self.replace(/\p{Cased}+/gu, capitalize)),
  capitalize: alone(capitalize),
  replace: takes("old new [count]", (self: string, old: Value, by: Value, most: Value = -1n) => {
    const limit = integer(most, "replace's count");
    return replace(self, text(old, "replace's old text"), text(by, "replace's new text"), limit);
  }),
  removeprefix: withText((self, part) => self.startsWith(part) ? self.slice(part.length) : self),
  removesuffix: withText((self, part) =>
    self.endsWith(part) ? self.slice(0, self.length - part.length) : self
  ),
  join: takes(
    "iterable",
    (self: string, items: Value) =>
      joinedBy(self, itemsOf(items).map((one) => text(one, "an item of join"))),
  ),
  split: splits(false),
  rsplit: splits(true),
  splitlines: takes(
    "[keepends]",
    (self: string, keep: Value = false) => splitLines(self, isTrue(keep)),
  ),
  startswith: begins((self, part) => self.startsWith(part)),
  endswith: begins((self, part) => self.endsWith(part)),
  find: finds((self, part) => self.indexOf(part)),
  rfind: finds((self, part) => self.lastIndexOf(part)),
  count: withText((self, part) => BigInt(count(self, part))),
  format,
  ...Object.fromEntries(Object.entries(CLASSES).map(([name, test]) => [name, alone(test)])),
};

const view = (itemsOf: (self: PyDict) => readonly Value[]) =>
  takes("", (self: PyDict) => new Lazy(itemsOf(self), "view"));

const DICT: Readonly<Record<string, Work<PyDict>>> = {
  items: view((self) => self.entries.map((entry) => tuple(entry))),
  keys: view((self) => self.entries.map(([key]) => key)),
  values: view((self) => self.entries.map(([, value]) => value)),
  get: takes("key [default]", (self: PyDict, key: Value, other: Value = null) => {
    const found = self.get(keyOf(key));
    return found === undefined ? other : found;
  }),
};

const LIST: Readonly<Record<string, Work<Value>>> = {
  count: takes(
    "value",
    (self: Value, one: Value) => BigInt(itemsOf(self).filter((other) => equal(other, one)).length),
  ),
  index: takes("value", (self: Value, one: Value) => {
    const at = itemsOf(self).findIndex((other) => equal(other, one));
    if (at < 0) throw new Error("index: the value is not in the list");
    return BigInt(at);
  }),
};

// deno-lint-ignore no-explicit-any -- the type's name says which value a method gets
const METHODS: Readonly<Record<string, Readonly<Record<string, Work<any>>>>> = {
  str: TEXT,
  dict: DICT,
  list: LIST,
  tuple: LIST,
};
