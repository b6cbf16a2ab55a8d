/**
 * How a tokenizer cuts text into words before its model sees it: the pre-tokenizers of a `tokenizer.json`, as
 * Hugging Face's tokenizers compute them. The library's own take JavaScript's idea of a space, a digit or a letter
 * for Unicode's, and do not know all the ways to cut. Only its translation of expressions is used.
 * Left out: UnicodeScripts, which is refused by its name.
 */
import { SplitPreTokenizer } from "@huggingface/tokenizers";
import { NotSupported, WORD_CHARACTERS } from "./tokenizer_parts.ts";

/** Pieces of a text. @param first nothing stands before the text */
export type PreTokenizer = (text: string, first: boolean) => string[];

/** As the file has it: nothing of it is certain. */
interface Part {
  type?: unknown;
  pretokenizers?: unknown;
  pattern?: { String?: unknown; Regex?: unknown };
  behavior?: unknown;
  invert?: unknown;
  individual_digits?: unknown;
  delimiter?: unknown;
  length?: unknown;
  add_prefix_space?: unknown;
  use_regex?: unknown;
  replacement?: unknown;
  prepend_scheme?: unknown;
  split?: unknown;
}

const SPACES = /\p{White_Space}+/gu;
const NOT_SPACES = /\P{White_Space}+/gu;
const GPT2 =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
/** Runs of letters, digits, marks and connectors, or of what is neither that nor a space. */
const WORDS = new RegExp(
  String.raw`[${WORD_CHARACTERS}]+|[^${WORD_CHARACTERS}\p{White_Space}]+`,
  "gu",
);
const PUNCTUATION = /[\p{P}!-/:-@[-`{-~]/gu;

/** @throws NotSupported for a part that is not known, Error for one that is not as it should be */
export function preTokenizer(json: unknown): PreTokenizer | null {
  if (json === null || json === undefined) return null;
  const part = Object(json) as Part;
  switch (part.type) {
    case "Sequence":
      return sequence(part.pretokenizers);
    case "Split":
      return cutter(compiled(part.pattern), String(part.behavior), part.invert === true);
    case "ByteLevel":
      return byteLevel(part.add_prefix_space === true, part.use_regex !== false);
    case "Metaspace":
      return metaspace(part);
    case "Digits":
      return cutter(part.individual_digits === true ? /\p{N}/gu : /\p{N}+/gu, "Isolated");
    case "Punctuation":
      return cutter(PUNCTUATION, String(part.behavior ?? "Isolated"));
    case "Whitespace":
      return (text) => text.match(WORDS) ?? [];
    case "WhitespaceSplit":
      return (text) => text.match(NOT_SPACES) ?? [];
    case "BertPreTokenizer":
      return inTurn([cutter(SPACES, "Removed"), cutter(PUNCTUATION, "Isolated")]);
    case "CharDelimiterSplit":
      return cutter(compiled({ String: part.delimiter }), "Removed");
    case "FixedLength":
      return fixedLength(Number(part.length ?? 5));
    default:
      throw new NotSupported(`the pre_tokenizer ${JSON.stringify(part.type)}`);
  }
}

function sequence(parts: unknown): PreTokenizer {
  if (!Array.isArray(parts)) throw new Error("a Sequence of pre_tokenizers without any");
  return inTurn(parts.map(preTokenizer).filter((part) => part !== null));
}

/** Each cuts the pieces of the one before it. */
function inTurn(parts: readonly PreTokenizer[]): PreTokenizer {
  return (text, first) =>
    parts.reduce(
      (pieces, cut) => pieces.flatMap((piece, i) => cut(piece, first && i === 0)),
      [text],
    );
}

function compiled(pattern: Part["pattern"]): RegExp {
  const { Regex, String } = pattern ?? {};
  if (typeof String === "string") return new RegExp(RegExp.escape(String), "gu");
  if (typeof Regex !== "string") throw new Error("a Split without a pattern");
  const split = new SplitPreTokenizer({ type: "Split", pattern: { Regex }, behavior: "Isolated" });
  return (split as unknown as { pattern: RegExp }).pattern;
}

/** A part of a text, and whether it is a match. */
type Stretch = [from: number, to: number, match: boolean];

function stretches(text: string, pattern: RegExp, invert: boolean): Stretch[] {
  const found: Stretch[] = [];
  let at = 0;
  for (const { index, 0: match } of text.matchAll(pattern)) {
    if (index > at) found.push([at, index, invert]);
    found.push([index, at = index + match.length, !invert]);
  }
  if (at < text.length) found.push([at, text.length, invert]);
  return found;
}

/** What becomes of the matches, by the names of the format. @throws Error for another name */
function cutter(pattern: RegExp, behavior: string, invert = false): PreTokenizer {
  const how = behavior.replaceAll("_", "").toLowerCase();
  const joined = JOINED[how];
  if (joined === undefined && how !== "removed") {
    throw new Error(`the behavior ${JSON.stringify(behavior)} of a pre_tokenizer is not known`);
  }
  return (text) => {
    const all = stretches(text, pattern, invert), kept: Stretch[] = [];
    all.forEach((stretch, i) => {
      if (joined === undefined) {
        if (!stretch[2]) kept.push(stretch);
      } else if (i > 0 && joined(all[i - 1]!, stretch, all, i)) kept.at(-1)![1] = stretch[1];
      else kept.push([...stretch]);
    });
    return kept.filter(([from, to]) => to > from).map(([from, to]) => text.slice(from, to));
  };
}

/** Whether a stretch is of one piece with the one before it. */
const JOINED: Readonly<
  Record<string, (before: Stretch, own: Stretch, all: readonly Stretch[], i: number) => boolean>
> = {
  isolated: () => false,
  contiguous: (before, own) => before[2] === own[2],
  mergedwithprevious: (before, own) => own[2] && !before[2],
  mergedwithnext: (before, own) => before[2] && !own[2],
};

/** The character that stands for each byte: itself where it can be seen. */
export const BYTES = (() => {
  const seen = (byte: number) =>
    byte > 0x20 && byte < 0x7f || byte > 0xa0 && byte < 0x100 && byte !== 0xad;
  let next = 0x100;
  return Array.from(
    { length: 256 },
    (_, byte) => String.fromCharCode(seen(byte) ? byte : next++),
  );
})();

function byteLevel(prefix: boolean, words: boolean): PreTokenizer {
  const encoder = new TextEncoder();
  const inBytes = (text: string) => {
    let out = "";
    for (const byte of encoder.encode(text)) out += BYTES[byte]!;
    return out;
  };
  return (text) => {
    const whole = prefix && !text.startsWith(" ") ? ` ${text}` : text;
    return words ? (whole.match(GPT2) ?? []).map(inBytes) : [inBytes(whole)];
  };
}

function metaspace({ replacement, prepend_scheme, add_prefix_space, split }: Part): PreTokenizer {
  const mark = typeof replacement === "string" ? replacement : "▁";
  // Older files have a flag in place of the scheme.
  const scheme = prepend_scheme ?? (add_prefix_space === false ? "never" : "always");
  const cut = split === false
    ? (text: string) => [text]
    : cutter(new RegExp(RegExp.escape(mark), "gu"), "MergedWithNext");
  return (text, first) => {
    const marked = text.replaceAll(" ", mark);
    const asked = scheme === "always" || scheme === "first" && first;
    return cut(asked && !marked.startsWith(mark) ? mark + marked : marked, first);
  };
}

function fixedLength(length: number): PreTokenizer {
  if (!(Number.isInteger(length) && length > 0)) throw new Error(`pieces of ${length} characters`);
  return (text) => {
    const chars = Array.from(text), pieces: string[] = [];
    for (let at = 0; at < chars.length; at += length) {
      pieces.push(chars.slice(at, at + length).join(""));
    }
    return pieces;
  };
}
