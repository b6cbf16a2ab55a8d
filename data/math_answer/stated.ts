/**
 * Finds the answer that a completion states in words: "The answer is 72 clips.", "Answer: 5√2",
 * "**Final Answer:** $3$", a heading "Final Answer" with the answer below. The whole statement
 * counts, to the end of the sentence: 5 is not the answer of "the answer is 5√2".
 */
import { isBlank, strip } from "../../tasks/python/text.ts";
import { readFormulas, sentenceAt } from "./formula_spans.ts";

const VERB = String.raw`(?:is|are|was|equals?|becomes|(?:would|will|should|must)\s+be|` +
  String.raw`(?:comes|works|turns)\s+out\s+(?:to(?:\s+be)?|as))(?![A-Za-z'’])`;
const FILLER = String
  .raw`(?:\s+(?:equal\s+to|given\s+by|therefore|thus|then|hence|simply|indeed|that)(?![A-Za-z]))*`;
/** "answer (in metres) to the question is", "answer:", "answer =" and a heading "Answer". */
const STATES = String.raw`(?:\s*\([^()\n]{1,40}\))?` +
  String.raw`(?:\s+(?:to|for|of|in)\s[^.:=\n$]{1,50}?)?["*_]{0,2}\s*` +
  String.raw`(?::|=|(?<=\s)${VERB}${FILLER}|(?=\$|\\[(\[]))[\s:*_}]*`;
const HEADING = String.raw`[*_]{0,2}[ \t]*\n\s*`;

const WORD = /(?<![A-Za-z])(final\s+)?answers?/gi;
const ANNOUNCES = new RegExp(
  String.raw`(?:${STATES}|(?<=(?:^|\n)[#*_ \t]{0,8}(?:(?:the|my)\s+)?(?:final\s+)?answers?)` +
    String.raw`${HEADING})`,
  "iy",
);
/** A text may repeat the word very often; only the last ones count. */
const MAX_WORDS = 200;

/**
 * Where answers begin that the text announces: first after "final answer", which is more reliable,
 * then after any "answer".
 */
function starts(text: string): number[][] {
  const final: number[] = [], all: number[] = [];
  for (const word of [...text.matchAll(WORD)].slice(-MAX_WORDS)) {
    ANNOUNCES.lastIndex = word.index + word[0].length;
    const match = ANNOUNCES.exec(text);
    if (match === null) continue;
    all.push(match.index + match[0].length);
    if (word[1] !== undefined) final.push(all.at(-1)!);
  }
  return [final, all];
}

/** The beginning of mathematics, or of the letter of a choice. */
const MATHEMATICS =
  /[\s([{|$£€¥₹"'`*_+=√±−–-]{0,20}(?:\.?\d|[π∞¼-¾⅐-⅞０-９]|\\[;, !]|\\[A-Za-z{$]|(?!(?:an?|I)\s+[a-z]{2})[A-Za-z](?![A-Za-z’'])|(?:sqrt|pi|sin|cos|tan|cot|sec|csc|log|ln|exp)(?![A-Za-z])|(?:about|approximately|exactly|only)\s+\$?\d|[A-Za-z]{1,3}\s*=)/y;
/** A short answer in words, such as a name. */
const WORDS = /^[\p{L}’'-]+(?: [\p{L}’'-]+){0,3}$/u;
/** Bold type; not the power of Python's notation. */
const BOLD = /(?<![\w)])\*\*|\*\*(?![\w(-])|(?<!\w)__|__(?!\w)/g;

/** The formula after the last "final answer", or else after the last "answer". */
export function statedFormula(text: string): string | null {
  for (const kind of starts(text)) {
    const found = readFormulas(text, kind);
    if (found !== null) return found;
  }
  return null;
}

/**
 * The text after the last "final answer" or "answer", if it has no formula signs. Mathematics is
 * preferred to words.
 */
export function statedText(text: string): string | null {
  for (const kind of starts(text)) {
    const start = kind.findLast((at) => {
      MATHEMATICS.lastIndex = at;
      return MATHEMATICS.test(text);
    });
    const stated = start === undefined ? words(text, kind.at(-1)) : plain(text, start);
    if (stated !== null) return stated;
  }
  return saidBefore(text);
}

const SAID_BEFORE =
  /(?:\$([^$\n]{1,300})\$|\*\*([^*\n]{1,300})\*\*)\s+is\s+(?:the|our|my)\s+(?:final\s+|correct\s+)?answer/gi;

/** "So $5$ is the answer"; not the second of two. */
function saidBefore(text: string): string | null {
  const match = [...text.matchAll(SAID_BEFORE)].at(-1);
  if (match === undefined) return null;
  const before = text.slice(Math.max(0, match.index - 20), match.index);
  return /(?:(?<![A-Za-z])(?:and|or)|[,/])\s*$/i.test(before) ? null : match[1] ?? match[2]!;
}

/** Signs around an answer: quotation marks (also of JSON), a tick. */
const QUOTED = /^"([^"]*)"\s*\}?$/, TICK = /\s*[✓✔✅☑]\uFE0F?$/u;

function plain(text: string, start: number): string | null {
  const sentence = strip(sentenceAt(text, start).replace(BOLD, "")).replace(TICK, "");
  const stated = QUOTED.exec(sentence)?.[1] ?? sentence;
  return isBlank(stated) ? null : stated;
}

function words(text: string, start: number | undefined): string | null {
  const stated = start === undefined ? null : plain(text, start);
  return stated !== null && WORDS.test(stated) ? stated : null;
}
