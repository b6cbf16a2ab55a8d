/** Jinja's filters for HTML and addresses, as far as they may be useful in a prompt. */
import { PyDict } from "../../../../tasks/python/literals.ts";
import { words } from "../../../../tasks/python/text.ts";
import { takes } from "../call.ts";
import {
  described,
  escaped,
  isIterable,
  isText,
  isTrue,
  itemsOf,
  Markup,
  str,
  Undefined,
  type Value,
} from "../values.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

/** Characters of which `striptags` removes tags. */
const MAX_TAGGED = 1 << 16;

/** A text without tags and comments, with single blanks, and with entities as characters. */
function striptags(value: Value): Value {
  const text = str(value);
  // Each tag that is removed copies the rest of the text.
  if (text.length > MAX_TAGGED) {
    throw new Error(`striptags of more than ${MAX_TAGGED} characters is not supported`);
  }
  const bare = removed(removed(text, "<!--", "-->"), "<", ">");
  return words(bare).join(" ").replace(
    /&(?:#(x?)([0-9a-f]+)|([a-z]\w*));?/gi,
    (whole, x, digits, name) => {
      const point = name === undefined ? parseInt(digits, x === "" ? 10 : 16) : NaN;
      const character = name === undefined && point < 0x110000 && point > 0
        ? String.fromCodePoint(point)
        : whole.endsWith(";")
        ? ENTITIES[name]
        : undefined;
      if (character === undefined) throw new Error(`striptags of ${whole} is not supported`);
      return character;
    },
  );
}

/** A text without what stands between two marks, and without these. */
function removed(text: string, open: string, close: string): string {
  let rest = text;
  for (let from; (from = rest.indexOf(open)) >= 0;) {
    const to = rest.indexOf(close, from);
    if (to < 0) break;
    rest = rest.slice(0, from) + rest.slice(to + close.length);
  }
  return rest;
}

function xmlAttributes(value: Value, space: Value = true): Value {
  if (!(value instanceof PyDict)) throw new Error(`xmlattr of ${described(value)} is not possible`);
  const parts = value.entries.flatMap(([key, one]: [Value, Value]) => {
    if (one === null || one instanceof Undefined) return [];
    if (typeof key !== "string" || /[\s/>=]/.test(key)) {
      throw new Error(`${str(key)} is no name of an attribute`);
    }
    return `${escaped(key).text}="${escaped(one).text}"`;
  });
  return (isTrue(space) && parts.length > 0 ? " " : "") + parts.join(" ");
}

/** As Python's `urllib.parse.quote`. */
function quoted(value: Value, isQuery: boolean): string {
  const all = encodeURIComponent(str(value))
    .replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return isQuery ? all.replaceAll("%20", "+") : all.replaceAll("%2F", "/");
}

function urlEncode(value: Value): Value {
  if (isText(value) || !isIterable(value)) return quoted(value, false);
  const pairs = value instanceof PyDict ? value.entries : itemsOf(value).map(itemsOf);
  return pairs.map((pair) => {
    if (pair.length !== 2) throw new Error("urlencode needs pairs");
    return `${quoted(pair[0]!, true)}=${quoted(pair[1]!, true)}`;
  }).join("&");
}

export const HTML_FILTERS = {
  striptags: takes("", striptags),
  xmlattr: takes("[autospace]", xmlAttributes),
  urlencode: takes("", urlEncode),
  escape: takes("", escaped),
  e: takes("", escaped),
  forceescape: takes("", (value: Value) => escaped(str(value))),
  safe: takes("", (value: Value) => new Markup(str(value))),
};
