/**
 * Pre-tokenizers: how a tokenizer cuts a text into words before its model sees it, as Hugging
 * Face's tokenizers do. Left out, and refused by their names: what only encoders use, such as
 * BERT's.
 */
import { toByteCharacters } from "./byte_alphabet.ts";
import { componentOf, type Json } from "./component.ts";
import type { Matcher } from "../../linear_pattern.ts";
import { eachMatch, patternOf, WORD_CHARACTERS } from "./patterns.ts";

/** Cuts a text into words. @param first whether nothing stands before this text */
export type PreTokenizer = (text: string, first: boolean) => string[];

const NOT_SPACES = /\P{White_Space}+/gu;
/** GPT-2's words: English endings, and runs of letters, of numbers, of other signs, of spaces. */
const GPT2 = new RegExp(
  String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+` +
    String.raw`|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+`,
  "gu",
);
/** Runs of letters, digits, marks and connectors, or of what is neither that nor a space. */
const WORDS = new RegExp(
  String.raw`[${WORD_CHARACTERS}]+|[^${WORD_CHARACTERS}\p{White_Space}]+`,
  "gu",
);
const PUNCTUATION = /[\p{P}!-/:-@[-`{-~]/gu;

/** @throws NotSupported for an unknown kind, Error for one that is not as it should be */
export function preTokenizerOf(json: unknown): PreTokenizer | null {
  return componentOf<PreTokenizer>(json, {
    kinds: {
      Split: ({ pattern, behavior, invert }) =>
        splitter(patternOf(pattern, "Split"), String(behavior), invert === true),
      ByteLevel: (part) =>
        byteLevel(part["add_prefix_space"] === true, part["use_regex"] !== false),
      Metaspace: metaspace,
      Digits: (part) =>
        splitter(part["individual_digits"] === true ? /\p{N}/gu : /\p{N}+/gu, "Isolated"),
      Punctuation: (part) => splitter(PUNCTUATION, String(part["behavior"] ?? "Isolated")),
      Whitespace: () => (text) => text.match(WORDS) ?? [],
      WhitespaceSplit: () => (text) => text.match(NOT_SPACES) ?? [],
    },
    key: "pretokenizers",
    name: "pre_tokenizer",
    inTurn,
  });
}

/** Each pre-tokenizer cuts the words of the one before it. */
function inTurn(parts: readonly PreTokenizer[]): PreTokenizer {
  return (text, first) => {
    let words = [text];
    for (const cut of parts) {
      const cuts: string[] = [];
      words.forEach((word, i) => {
        for (const one of cut(word, first && i === 0)) cuts.push(one);
      });
      words = cuts;
    }
    return words;
  };
}

/** A stretch of a text that is a match of a pattern, or lies between two matches. */
interface Stretch {
  from: number;
  to: number;
  isMatch: boolean;
}

/** Whether a stretch belongs to the word of the stretch before it, by the name of the behavior. */
const JOINS: Readonly<Record<string, (before: Stretch, stretch: Stretch) => boolean>> = {
  isolated: () => false,
  contiguous: (before, stretch) => before.isMatch === stretch.isMatch,
  mergedwithprevious: (before, stretch) => stretch.isMatch && !before.isMatch,
  mergedwithnext: (before, stretch) => before.isMatch && !stretch.isMatch,
};

/**
 * Cuts around the matches of a pattern.
 * @param behavior what becomes of the matches, by its name in the file
 * @param invert whether what lies between the matches counts as the matches
 * @throws Error for an unknown behavior
 */
function splitter(pattern: Matcher, behavior: string, invert = false): PreTokenizer {
  const name = behavior.replaceAll("_", "").toLowerCase();
  if (name === "isolated") return (text) => isolated(text, pattern);
  if (name === "removed") return (text) => removed(text, pattern, invert);
  const joins = JOINS[name];
  if (joins === undefined) {
    throw new Error(`the behavior ${JSON.stringify(behavior)} of a pre_tokenizer is not known`);
  }
  return (text) => {
    const words: string[] = [];
    let start = 0, before: Stretch | null = null;
    for (const stretch of stretches(text, pattern, invert)) {
      if (before !== null && !joins(before, stretch)) {
        if (stretch.from > start) words.push(text.slice(start, stretch.from));
        start = stretch.from;
      }
      before = stretch;
    }
    if (start < text.length) words.push(text.slice(start));
    return words;
  };
}

function stretches(text: string, pattern: Matcher, invert: boolean): Stretch[] {
  const found: Stretch[] = [];
  let at = 0;
  eachMatch(text, pattern, (from, to) => {
    if (from > at) found.push({ from: at, to: from, isMatch: invert });
    found.push({ from, to, isMatch: !invert });
    at = to;
  });
  if (at < text.length) found.push({ from: at, to: text.length, isMatch: invert });
  return found;
}

/** Matches, and what lies between them: each is a word. */
function isolated(text: string, pattern: Matcher): string[] {
  const words: string[] = [];
  let at = 0;
  eachMatch(text, pattern, (from, to) => {
    if (from > at) words.push(text.slice(at, from));
    if (to > from) words.push(text.slice(from, to));
    at = to;
  });
  if (at < text.length) words.push(text.slice(at));
  return words;
}

function removed(text: string, pattern: Matcher, invert: boolean): string[] {
  return stretches(text, pattern, invert)
    .filter(({ from, to, isMatch }) => !isMatch && to > from)
    .map(({ from, to }) => text.slice(from, to));
}

function byteLevel(hasPrefix: boolean, cutsWords: boolean): PreTokenizer {
  return (text) => {
    const whole = hasPrefix && !text.startsWith(" ") ? ` ${text}` : text;
    return cutsWords ? isolated(whole, GPT2).map(toByteCharacters) : [toByteCharacters(whole)];
  };
}

function metaspace(part: Json): PreTokenizer {
  const mark = typeof part["replacement"] === "string" ? part["replacement"] : "▁";
  // Older files have a flag in place of the scheme.
  const scheme = part["prepend_scheme"] ??
    (part["add_prefix_space"] === false ? "never" : "always");
  const cut = part["split"] === false
    ? (text: string) => [text]
    : splitter(new RegExp(RegExp.escape(mark), "gu"), "MergedWithNext");
  return (text, first) => {
    const marked = text.replaceAll(" ", mark);
    const hasPrefix = scheme === "always" || scheme === "first" && first;
    return cut(hasPrefix && !marked.startsWith(mark) ? mark + marked : marked, first);
  };
}
