/** The methods of Python's texts, and of texts that are marked as safe. */
import { PyDict, PyTuple } from "../../../../tasks/python/literals.ts";
import { takes, takesUnnamed, type Work } from "../call.ts";
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

type TextMethod = Work<string>;

/** An optional text that may also be None. */
function optionalText(value: Value | undefined, what: string): string | null {
  return value === undefined || value === null ? null : text(value, what);
}

function strips(left: boolean, right: boolean): TextMethod {
  return takesUnnamed(
    "[chars]",
    (self: string, characters?: Value) =>
      stripOf(self, optionalText(characters, "what is stripped"), left, right),
  );
}

function splits(work: typeof split): TextMethod {
  return takes("[sep] [maxsplit]", (self: string, separator?: Value, limit?: Value) => {
    const most = limit === undefined ? -1 : integer(limit, "maxsplit");
    return work(self, optionalText(separator, "the separator"), most);
  });
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
function begins(test: (self: string, part: string) => boolean): TextMethod {
  return takesUnnamed(
    "prefix [start] [end]",
    (self: string, wanted: Value, from?: Value, to?: Value) => {
      const parts = wanted instanceof PyTuple ? wanted.items : [wanted];
      const place = between(self, from, to);
      return parts.map((one) => text(one, "what a text begins or ends with"))
        .some((one) => place !== null && test(place.part, one));
    },
  );
}

/**
 * `find` and others: a place as code points, −1 where the text is not.
 * @param isSure whether it is an error where the text is not
 */
function finds(find: (self: string, part: string) => number, isSure = false): TextMethod {
  return takesUnnamed(
    "sub [start] [end]",
    (self: string, wanted: Value, from?: Value, to?: Value) => {
      const part = text(wanted, "what is looked for"), place = between(self, from, to);
      const at = place === null ? -1 : find(place.part, searched(place.part, part));
      if (at >= 0) return BigInt(place!.start + Array.from(place!.part.slice(0, at)).length);
      if (isSure) throw new Error("index: the text is not in it");
      return -1n;
    },
  );
}

/** A method with one text as its argument. */
function withText(work: (self: string, part: string) => Value): TextMethod {
  return takesUnnamed(
    "text",
    (self: string, part: Value) => work(self, text(part, "its argument")),
  );
}

const alone = (work: (self: string) => Value): TextMethod => takes("", work);

function parts(self: string, at: number, separator: string, none: readonly string[]): Value {
  if (separator === "") throw new Error("partition at an empty text");
  return tuple(at < 0 ? none : [self.slice(0, at), separator, self.slice(at + separator.length)]);
}

function justifies(side: "left" | "middle" | "right"): TextMethod {
  return takesUnnamed(
    "width [fillchar]",
    (self: string, width: Value, fill: Value = " ") =>
      justify(self, integer(width, "the width"), text(fill, "the fill"), side),
  );
}

/** Methods whose result is marked as safe where their text is. */
const PLAIN: Readonly<Record<string, TextMethod>> = {
  strip: strips(true, true),
  lstrip: strips(true, false),
  rstrip: strips(false, true),
  upper: alone((self) => self.toUpperCase()),
  lower: alone((self) => self.toLowerCase()),
  title: alone(title),
  capitalize: alone(capitalize),
  swapcase: alone(swapCase),
  casefold: alone(caseFold),
  center: justifies("middle"),
  ljust: justifies("left"),
  rjust: justifies("right"),
  zfill: takesUnnamed(
    "width",
    (self: string, width: Value) => zeroFill(self, integer(width, "zfill's width")),
  ),
  expandtabs: takes(
    "[tabsize]",
    (self: string, size: Value = 8n) => expandTabs(self, integer(size, "tabsize")),
  ),
  replace: takesUnnamed("old new [count]", (self: string, old: Value, by: Value, most?: Value) => {
    const limit = most === undefined ? -1 : integer(most, "replace's count");
    return replace(self, text(old, "replace's old text"), text(by, "replace's new text"), limit);
  }),
  removeprefix: withText((self, part) => self.startsWith(part) ? self.slice(part.length) : self),
  removesuffix: withText((self, part) =>
    self.endsWith(part) ? self.slice(0, self.length - part.length) : self
  ),
  join: takesUnnamed(
    "iterable",
    (self: string, items: Value) =>
      joinedBy(self, Array.from(iterate(items), (one) => text(one, "an item of join"))),
  ),
  split: splits(split),
  rsplit: splits(splitFromEnd),
  splitlines: takes(
    "[keepends]",
    (self: string, keep: Value = false) => splitLines(self, isTrue(keep)),
  ),
  partition: withText((self, part) =>
    parts(self, self.indexOf(searched(self, part)), part, [self, "", ""])
  ),
  rpartition: withText((self, part) =>
    parts(self, self.lastIndexOf(searched(self, part)), part, ["", "", self])
  ),
};

/** Methods that ask something of a text. */
const ASKING: Readonly<Record<string, TextMethod>> = {
  startswith: begins((self, part) => self.startsWith(part)),
  endswith: begins((self, part) => self.endsWith(part)),
  find: finds((self, part) => self.indexOf(part)),
  rfind: finds((self, part) => self.lastIndexOf(part)),
  index: finds((self, part) => self.indexOf(part), true),
  rindex: finds((self, part) => self.lastIndexOf(part), true),
  count: takesUnnamed(
    "sub [start] [end]",
    (self: string, wanted: Value, from?: Value, to?: Value) => {
      const part = text(wanted, "count's argument"), place = between(self, from, to);
      return place === null ? 0n : BigInt(count(place.part, part));
    },
  ),
  ...Object.fromEntries(Object.entries(CLASSES).map(([name, test]) => [name, alone(test)])),
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
    const plain = { ...given, positional: given.positional.map(unmarked) };
    return ASKING[name]!(self.text, plain, name);
  }
  const positional = name === "join"
    ? given.positional.map((one) => Array.from(iterate(one), safe))
    : given.positional.map(safe);
  return marked(PLAIN[name]!(self.text, { ...given, positional }, name));
}

function marked(value: Value): Value {
  if (typeof value === "string") return new Markup(value);
  if (value instanceof PyTuple) return tuple(value.items.map(marked));
  return Array.isArray(value) && !(value instanceof PyDict) ? value.map(marked) : value;
}
