/** The methods of Python's texts, and of texts that are marked as safe. */
import { PyDict, PyTuple } from "../../../../tasks/python/literals.ts";
import { bind, bindUnnamed } from "../call.ts";
import {
  capitalize,
  caseFold,
  CLASSES,
  count,
  expandTabs,
  joinedBy,
  justify,
  replace,
  searched,
  split,
  splitFromEnd,
  splitLines,
  stripOf,
  swapCase,
  title,
  zeroFill,
} from "./functions.ts";
import {
  type Call,
  escaped,
  integer,
  isTrue,
  iterate,
  Markup,
  text,
  tuple,
  unmarked,
  type Value,
} from "../values.ts";

export type TextMethod = (self: string, given: Call) => Value;

/** An optional text that may also be None. */
function optionalText(value: Value | undefined, what: string): string | null {
  return value === undefined || value === null ? null : text(value, what);
}

function strips(name: string, left: boolean, right: boolean): TextMethod {
  return (self, given) => {
    const [characters] = bindUnnamed(name, given, ["chars"]);
    return stripOf(self, optionalText(characters, `${name}'s argument`), left, right);
  };
}

function splits(name: string, work: typeof split): TextMethod {
  return (self, given) => {
    const [separator, limit] = bind(name, given, ["sep", "maxsplit"]);
    const most = limit === undefined ? -1 : integer(limit, "maxsplit");
    return work(self, optionalText(separator, `${name}'s separator`), most);
  };
}

/** The part of a text between two bounds, as Python's slices; null where there is none. */
function between(
  self: string,
  from: Value | undefined,
  to: Value | undefined,
): { part: string; start: number } | null {
  const all = Array.from(self), n = all.length;
  const place = (bound: Value | undefined, other: number) => {
    const at = bound === undefined || bound === null ? other : integer(bound, "a bound");
    return at < 0 ? Math.max(0, at + n) : at;
  };
  const start = place(from, 0), end = Math.min(n, place(to, n));
  return start > end ? null : { part: all.slice(start, end).join(""), start };
}

/** `startswith` and `endswith`, whose argument may be a tuple. */
function begins(name: string, test: (self: string, part: string) => boolean): TextMethod {
  return (self, given) => {
    const [wanted, from, to] = bindUnnamed(name, given, ["prefix", "start", "end"], 1);
    const parts = wanted instanceof PyTuple ? wanted.items : [wanted!];
    const place = between(self, from, to);
    return parts.map((one) => text(one, `${name}'s argument`))
      .some((one) => place !== null && test(place.part, one));
  };
}

/** `find` and others: a place as code points, −1 where the text is not. */
function finds(name: string, find: (self: string, part: string) => number): TextMethod {
  return (self, given) => {
    const [wanted, from, to] = bindUnnamed(name, given, ["sub", "start", "end"], 1);
    const part = text(wanted!, `${name}'s argument`), place = between(self, from, to);
    const at = place === null ? -1 : find(place.part, searched(place.part, part));
    if (at >= 0) return BigInt(place!.start + Array.from(place!.part.slice(0, at)).length);
    if (name.endsWith("index")) throw new Error(`${name}: the text is not in it`);
    return -1n;
  };
}

/** A method with one text as its argument. */
function withText(name: string, work: (self: string, part: string) => Value): TextMethod {
  return (self, given) =>
    work(self, text(bindUnnamed(name, given, ["text"], 1)[0]!, `${name}'s argument`));
}

function alone(name: string, work: (self: string) => Value): TextMethod {
  return (self, given) => {
    bind(name, given, []);
    return work(self);
  };
}

function parts(self: string, at: number, separator: string, none: readonly string[]): Value {
  if (separator === "") throw new Error("partition at an empty text");
  return tuple(at < 0 ? none : [self.slice(0, at), separator, self.slice(at + separator.length)]);
}

function justifies(name: string, side: "left" | "middle" | "right"): TextMethod {
  return (self, given) => {
    const [width, fill = " "] = bindUnnamed(name, given, ["width", "fillchar"], 1);
    const size = integer(width!, `${name}'s width`);
    return justify(self, size, text(fill, `${name}'s fill`), side);
  };
}

/** Methods whose result is marked as safe where their text is. */
const PLAIN: Readonly<Record<string, TextMethod>> = {
  strip: strips("strip", true, true),
  lstrip: strips("lstrip", true, false),
  rstrip: strips("rstrip", false, true),
  upper: alone("upper", (self) => self.toUpperCase()),
  lower: alone("lower", (self) => self.toLowerCase()),
  title: alone("title", title),
  capitalize: alone("capitalize", capitalize),
  swapcase: alone("swapcase", swapCase),
  casefold: alone("casefold", caseFold),
  center: justifies("center", "middle"),
  ljust: justifies("ljust", "left"),
  rjust: justifies("rjust", "right"),
  zfill: (self, given) => {
    const [width] = bindUnnamed("zfill", given, ["width"], 1);
    return zeroFill(self, integer(width!, "zfill's width"));
  },
  expandtabs: (self, given) => {
    const [size = 8n] = bind("expandtabs", given, ["tabsize"]);
    return expandTabs(self, integer(size, "tabsize"));
  },
  replace: (self, given) => {
    const [old, by, most] = bindUnnamed("replace", given, ["old", "new", "count"], 2);
    const limit = most === undefined ? -1 : integer(most, "replace's count");
    return replace(self, text(old!, "replace's old text"), text(by!, "replace's new text"), limit);
  },
  removeprefix: withText(
    "removeprefix",
    (self, part) => self.startsWith(part) ? self.slice(part.length) : self,
  ),
  removesuffix: withText(
    "removesuffix",
    (self, part) => self.endsWith(part) ? self.slice(0, self.length - part.length) : self,
  ),
  join: (self, given) => {
    const [items] = bindUnnamed("join", given, ["iterable"], 1);
    return joinedBy(self, Array.from(iterate(items!), (one) => text(one, "an item of join")));
  },
  split: splits("split", split),
  rsplit: splits("rsplit", splitFromEnd),
  splitlines: (self, given) => {
    const [keep = false] = bind("splitlines", given, ["keepends"]);
    return splitLines(self, isTrue(keep));
  },
  partition: withText(
    "partition",
    (self, part) => parts(self, self.indexOf(searched(self, part)), part, [self, "", ""]),
  ),
  rpartition: withText(
    "rpartition",
    (self, part) => parts(self, self.lastIndexOf(searched(self, part)), part, ["", "", self]),
  ),
};

/** Methods that ask something of a text. */
const ASKING: Readonly<Record<string, TextMethod>> = {
  startswith: begins("startswith", (self, part) => self.startsWith(part)),
  endswith: begins("endswith", (self, part) => self.endsWith(part)),
  find: finds("find", (self, part) => self.indexOf(part)),
  rfind: finds("rfind", (self, part) => self.lastIndexOf(part)),
  index: finds("index", (self, part) => self.indexOf(part)),
  rindex: finds("rindex", (self, part) => self.lastIndexOf(part)),
  count: (self, given) => {
    const [wanted, from, to] = bindUnnamed("count", given, ["sub", "start", "end"], 1);
    const part = text(wanted!, "count's argument"), place = between(self, from, to);
    return place === null ? 0n : BigInt(count(place.part, part));
  },
  ...Object.fromEntries(Object.entries(CLASSES).map(([name, test]) => [name, alone(name, test)])),
};

export const TEXT_METHODS: Readonly<Record<string, TextMethod>> = { ...PLAIN, ...ASKING };

/** Methods of a safe text that take texts as they are. */
const UNESCAPED = ["split", "rsplit", "splitlines"];

/** What a method of a safe text gives: arguments are escaped first, and texts are safe again. */
export function markupMethod(name: string, self: Markup, given: Call): Value {
  const safe = (one: Value) => {
    const isText = typeof one === "string" || one instanceof Markup;
    return isText && !UNESCAPED.includes(name) ? escaped(one).text : unmarked(one);
  };
  if (Object.hasOwn(ASKING, name)) {
    return ASKING[name]!(self.text, { ...given, positional: given.positional.map(unmarked) });
  }
  const positional = name === "join"
    ? given.positional.map((one) => Array.from(iterate(one), safe))
    : given.positional.map(safe);
  return marked(PLAIN[name]!(self.text, { ...given, positional }));
}

function marked(value: Value): Value {
  if (typeof value === "string") return new Markup(value);
  if (value instanceof PyTuple) return tuple(value.items.map(marked));
  return Array.isArray(value) && !(value instanceof PyDict) ? value.map(marked) : value;
}
