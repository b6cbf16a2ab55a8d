/** Jinja's filters that work on texts. Another value is taken as what Jinja prints for it. */
import { codePoints } from "../../../tasks/python/text.ts";
import { bind } from "./call.ts";
import { percentFormat } from "./percent_format.ts";
import { capitalize, replace, splitLines, stripOf } from "./text_functions.ts";
import {
  type Call,
  escaped,
  integer,
  isTrue,
  Markup,
  str,
  text,
  tuple,
  type Value,
} from "./values.ts";

type TextFilter = (value: Value, given: Call) => Value;

/** @throws Error for a text that is marked as safe, whose parts Jinja would escape later */
function plain(value: Value): string {
  if (value instanceof Markup) throw new Error("a filter of a text that is marked as safe");
  return str(value);
}

function alone(name: string, work: (value: string) => string): TextFilter {
  return (value, given) => {
    bind(name, given, []);
    return work(plain(value));
  };
}

/** Jinja's own title: a word begins after white space, `-` or an opening bracket. */
function title(value: string): string {
  return value.split(/([-\s({[<]+)/).map((word) => {
    const [first = "", ...rest] = Array.from(word);
    return first.toUpperCase() + rest.join("").toLowerCase();
  }).join("");
}

function indent(value: Value, given: Call): Value {
  const [width = 4n, first = false, blank = false] = bind("indent", given, [
    "width",
    "first",
    "blank",
  ]);
  const blanks = typeof width === "string"
    ? width
    : " ".repeat(Math.max(0, integer(width, "width")));
  const [head = "", ...rest] = splitLines(plain(value) + "\n", false);
  const keepsBlank = isTrue(blank);
  const lines = rest.map((line) => line === "" && !keepsBlank ? "" : blanks + line);
  return (isTrue(first) ? blanks : "") + [head, ...lines].join("\n");
}

/** A text in the middle of a width, as Python's `str.center`. */
function center(value: Value, given: Call): Value {
  const [width = 80n] = bind("center", given, ["width"]), inner = plain(value);
  const whole = integer(width, "center's width"), missing = Math.max(0, whole - codePoints(inner));
  const left = Math.floor(missing / 2) + (missing & whole & 1);
  return " ".repeat(left) + inner + " ".repeat(missing - left);
}

export const TEXT_FILTERS: Readonly<Record<string, TextFilter>> = {
  upper: alone("upper", (value) => value.toUpperCase()),
  lower: alone("lower", (value) => value.toLowerCase()),
  capitalize: alone("capitalize", capitalize),
  title: alone("title", title),
  string: (value, given) => {
    bind("string", given, []);
    return value instanceof Markup ? value : str(value);
  },
  safe: (value, given) => {
    bind("safe", given, []);
    return new Markup(str(value));
  },
  escape: (value, given) => {
    bind("escape", given, []);
    return escaped(value);
  },
  trim: (value, given) => {
    const [characters = null] = bind("trim", given, ["chars"]);
    const set = characters === null ? null : text(characters, "trim's argument");
    const stripped = stripOf(str(value), set, true, true);
    return value instanceof Markup ? new Markup(stripped) : stripped;
  },
  replace: (value, given) => {
    const [old, by, most] = bind("replace", given, ["old", "new", "count"], 2);
    const limit = most === undefined || most === null ? -1 : integer(most, "replace's count");
    return replace(str(value), str(old!), str(by!), limit);
  },
  wordcount: (value, given) => {
    bind("wordcount", given, []);
    return BigInt((plain(value).match(/[\p{L}\p{N}_]+/gu) ?? []).length);
  },
  indent,
  center,
  format: (value, { positional, named }) => {
    if (named.size > 0) throw new Error("format with named values is not supported");
    return percentFormat(plain(value), tuple(positional));
  },
};
