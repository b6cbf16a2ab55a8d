/** Jinja's filters that work on texts. Another value is taken as what Jinja prints for it. */
import { codePoints, isBlank, PYTHON_SPACE, strip } from "../../../../tasks/python/text.ts";
import { takes, type Work } from "../call.ts";
import { binary } from "../operators.ts";
import {
  capitalize,
  filled,
  joinedBy,
  justify,
  replace,
  requireSize,
  splitLines,
  stripOf,
} from "../text/functions.ts";
import {
  type Call,
  compare,
  dict,
  integer,
  isText,
  isTrue,
  lengthOf,
  Markup,
  repr,
  str,
  text,
  tuple,
  typeName,
  type Value,
} from "../values.ts";
import { type Literal, PyDict, PyTuple } from "../../../../tasks/python/literals.ts";

/** A text with the mark of the value that it is made of. */
function like(value: Value, result: string): Value {
  return value instanceof Markup ? new Markup(result) : result;
}

function alone(work: (value: string) => string): Work<Value> {
  return takes("", (value) => like(value, work(str(value))));
}

/** @throws Error for a value that is no text */
function ofText(value: Value, name: string): string {
  if (isText(value)) return str(value);
  throw new Error(`${name} of ${typeName(value)} is not possible`);
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
  const blanks = typeof width === "string" ? width : filled(" ", integer(width, "width"));
  const [head = "", ...rest] = splitLines(ofText(value, "indent") + "\n", false);
  const keepsBlank = isTrue(blank);
  const isBare = (line: string) => line === "" && !keepsBlank;
  requireSize(str(value).length + blanks.length * rest.filter((line) => !isBare(line)).length);
  const lines = rest.map((line) => isBare(line) ? "" : blanks + line);
  return like(value, (isTrue(first) ? blanks : "") + [head, ...lines].join("\n"));
}

function truncate(
  value: Value,
  length: Value = 255n,
  kill: Value = false,
  end: Value = "...",
  leeway: Value = null,
): Value {
  const tail = text(end, "truncate's end");
  const size = integer(length, "truncate's length"), kept = size - codePoints(tail);
  const more = leeway === null ? 5 : integer(leeway, "truncate's leeway");
  if (kept < 0) throw new Error(`truncate to ${size} characters has no room for ${tail}`);
  if (more < 0) throw new Error("truncate's leeway is below 0");
  if (lengthOf(value) <= size + more) return value;
  const part = Array.from(ofText(value, "truncate")).slice(0, kept).join(""),
    blank = part.lastIndexOf(" ");
  return like(value, (isTrue(kill) || blank < 0 ? part : part.slice(0, blank)) + tail);
}

function wordWrap(
  value: Value,
  width: Value = 79n,
  long: Value = true,
  between: Value = null,
  hyphens: Value = true,
): Value {
  const line = between === null ? "\n" : text(between, "wordwrap's wrapstring");
  const style = {
    width: integer(width, "wordwrap's width"),
    breaksLongWords: isTrue(long),
    breaksAtHyphens: isTrue(hyphens),
  };
  return joinedBy(
    line,
    splitLines(ofText(value, "wordwrap"), false)
      .flatMap((one) => one === "" ? [""] : wrapped(one, style)),
  );
}

/** The values are named, or they have an order. */
function format(value: Value, { positional, named }: Call): Value {
  if (positional.length > 0 && named.size > 0) {
    throw new Error("format takes values in order or with names, not both");
  }
  return binary("%", str(value), named.size > 0 ? dict(named) : tuple(positional));
}

export const TEXT_FILTERS = {
  upper: alone((value) => value.toUpperCase()),
  lower: alone((value) => value.toLowerCase()),
  capitalize: alone(capitalize),
  title: takes("", title),
  indent: takes("[width] [first] [blank]", indent),
  truncate: takes("[length] [killwords] [end] [leeway]", truncate),
  wordwrap: takes("[width] [break_long_words] [wrapstring] [break_on_hyphens]", wordWrap),
  format,
  string: alone((value) => value),
  pprint: takes("", pretty),
  center: takes("[width]", (value: Value, width: Value = 80n) => {
    const size = integer(width, "center's width");
    return like(value, justify(str(value), size, " ", "middle"));
  }),
  trim: takes("[chars]", (value: Value, characters: Value = null) => {
    if (characters === null) return like(value, strip(str(value)));
    return like(value, stripOf(str(value), text(characters, "trim's argument"), true, true));
  }),
  replace: takes("old new [count]", (value: Value, old: Value, by: Value, most: Value = null) => {
    const limit = most === null ? -1 : integer(most, "replace's count");
    return replace(str(value), str(old), str(by), limit);
  }),
  wordcount: takes(
    "",
    (value: Value) => BigInt((str(value).match(/[\p{L}\p{N}_]+/gu) ?? []).length),
  ),
} satisfies Record<string, Work<Value>>;

// Python's `pprint.pformat`, for values that fit on one line.

const WIDTH = 80;

/** @throws Error for a value whose text Python would break into lines */
function pretty(value: Value): string {
  const line = repr(ordered(value));
  if (codePoints(line) <= WIDTH) return line;
  throw new Error(`pprint of more than ${WIDTH} characters is not supported, use tojson(indent=1)`);
}

/** The value with its dicts in the order of their keys. */
function ordered(value: Value): Value {
  if (Array.isArray(value)) return value.map(ordered);
  if (value instanceof PyTuple) return tuple(value.items.map(ordered));
  if (!(value instanceof PyDict)) return value;
  const entries = value.entries.map(([key, one]) => [key, ordered(one) as Literal] as const);
  return dict(entries.toSorted(([a], [b]) => compare(a, b)));
}

// Python's `textwrap.wrap`, with the tabs and line ends of a text as they are.

const WORD = "[\\p{L}\\p{N}_]", PUNCTUATED = `[\\p{L}\\p{N}_!"'&.,?]`;
const LETTER = "[\\p{L}\\p{Nl}\\p{No}_]",
  BLANK = "[\\t\\n\\v\\f\\r ]",
  OTHER = "[^\\t\\n\\v\\f\\r ]";
const CHUNK = new RegExp(
  `(${BLANK}+|(?<=${PUNCTUATED})-{2,}(?=${WORD})|${OTHER}+?(?:` +
    `-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${LETTER}-))(?=${LETTER}-?${LETTER})` +
    `|(?=${BLANK}|$)|(?<=${PUNCTUATED})(?=-{2,}${WORD})))`,
  "u",
);
const SIMPLE = new RegExp(`(${BLANK}+)`);

interface WrapStyle {
  /** Characters of a line. */
  readonly width: number;
  readonly breaksLongWords: boolean;
  readonly breaksAtHyphens: boolean;
}

/** A word, or the blanks between two. Its begin may stand on a line already. */
interface Chunk {
  readonly characters: readonly string[];
  /** Index of the last character that is not white space; −1 where all are. */
  readonly lastInk: number;
  /** The first character that is on no line. */
  from: number;
}

/** The lines of a text. */
function wrapped(text: string, style: WrapStyle): string[] {
  const { width, breaksAtHyphens } = style;
  if (!(width > 0)) throw new Error(`a text cannot be wrapped at ${width}`);
  const chunks = text.split(breaksAtHyphens ? CHUNK : SIMPLE)
    .filter((one) => one !== undefined && one !== "")
    .map(chunkOf).reverse();
  const lines: string[] = [];
  while (chunks.length > 0) {
    const line: string[] = [];
    let used = 0;
    const first = chunks.at(-1)!;
    if (lines.length > 0 && first.lastInk < first.from) chunks.pop();
    while (chunks.length > 0 && used + sizeOf(chunks.at(-1)!) <= width) {
      used += sizeOf(chunks.at(-1)!);
      line.push(restOf(chunks.pop()!));
    }
    if (chunks.length > 0 && sizeOf(chunks.at(-1)!) > width) breakWord(chunks, line, used, style);
    if (line.length > 0 && isBlank(line.at(-1)!)) line.pop();
    if (line.length > 0) lines.push(line.join(""));
  }
  return lines;
}

function chunkOf(text: string): Chunk {
  const characters = Array.from(text);
  return { characters, lastInk: characters.findLastIndex((one) => !isBlank(one)), from: 0 };
}

function sizeOf({ characters, from }: Chunk): number {
  return characters.length - from;
}

/** What is on no line yet. */
function restOf({ characters, from }: Chunk): string {
  return characters.slice(from).join("");
}

/** Puts the begin of a word that is longer than a line on it. */
function breakWord(
  chunks: Chunk[],
  line: string[],
  used: number,
  { width, breaksLongWords, breaksAtHyphens }: WrapStyle,
): void {
  const word = chunks.at(-1)!, left = width - used;
  if (!breaksLongWords) {
    if (line.length === 0) line.push(restOf(chunks.pop()!));
    return;
  }
  const begin = word.characters.slice(word.from, word.from + left);
  const hyphen = begin.lastIndexOf("-");
  const isInside = hyphen > 0 && begin.slice(0, hyphen).some((one) => one !== "-");
  const end = breaksAtHyphens && sizeOf(word) > left && isInside ? hyphen + 1 : left;
  line.push(begin.slice(0, end).join(""));
  word.from += end;
}
