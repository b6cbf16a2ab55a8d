/** Python's `textwrap.wrap`, with the tabs and line ends of a text as they are. */
import { isBlank } from "../../../../tasks/python/text.ts";

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

export interface WrapStyle {
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
export function wrapped(text: string, style: WrapStyle): string[] {
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
    while (chunks.length > 0 && used + lengthOf(chunks.at(-1)!) <= width) {
      used += lengthOf(chunks.at(-1)!);
      line.push(restOf(chunks.pop()!));
    }
    if (chunks.length > 0 && lengthOf(chunks.at(-1)!) > width) breakWord(chunks, line, used, style);
    if (line.length > 0 && isBlank(line.at(-1)!)) line.pop();
    if (line.length > 0) lines.push(line.join(""));
  }
  return lines;
}

function chunkOf(text: string): Chunk {
  const characters = Array.from(text);
  return { characters, lastInk: characters.findLastIndex((one) => !isBlank(one)), from: 0 };
}

function lengthOf({ characters, from }: Chunk): number {
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
  const end = breaksAtHyphens && lengthOf(word) > left && isInside ? hyphen + 1 : left;
  line.push(begin.slice(0, end).join(""));
  word.from += end;
}
