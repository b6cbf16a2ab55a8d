/** Python's `textwrap.wrap`, with the tabs and line ends of a text as they are. */
import { isBlank } from "../../../../tasks/python/text.ts";

const WORD = "[\\p{L}\\p{N}_]", PUNCTUATED = `[\\p{L}\\p{N}_!"'&.,?]`;
const LETTER = "[\\p{L}\\p{Nl}\\p{No}_]",
  BLANK = "[\\t\\n\\v\\f\\r ]",
  OTHER = "[^\\t\\n\\v\\f\\r ]";
const CHUNK = new RegExp(
  `(${BLANK}+|(?<=${PUNCTUATED})-{2,}(?=${WORD})|${OTHER}+?(?:` +
    `-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${PUNCTUATED}-))(?=${LETTER}-?${LETTER})` +
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

/** The lines of a text. */
export function wrapped(text: string, style: WrapStyle): string[] {
  const { width, breaksAtHyphens } = style;
  if (!(width > 0)) throw new Error(`a text cannot be wrapped at ${width}`);
  const chunks = text.split(breaksAtHyphens ? CHUNK : SIMPLE)
    .filter((one) => one !== undefined && one !== "").map((one) => Array.from(one)).reverse();
  const lines: string[] = [];
  const isWhite = (chunk: readonly string[]) => isBlank(chunk.join(""));
  while (chunks.length > 0) {
    const line: string[][] = [];
    let used = 0;
    if (lines.length > 0 && isWhite(chunks.at(-1)!)) chunks.pop();
    while (chunks.length > 0 && used + chunks.at(-1)!.length <= width) {
      used += chunks.at(-1)!.length;
      line.push(chunks.pop()!);
    }
    if (chunks.length > 0 && chunks.at(-1)!.length > width) breakWord(chunks, line, used, style);
    if (line.length > 0 && isWhite(line.at(-1)!)) line.pop();
    if (line.length > 0) lines.push(line.flat().join(""));
  }
  return lines;
}

/** Puts the begin of a word that is longer than a line on it. */
function breakWord(
  chunks: string[][],
  line: string[][],
  used: number,
  { width, breaksLongWords, breaksAtHyphens }: WrapStyle,
): void {
  const word = chunks.pop()!;
  if (!breaksLongWords) {
    if (line.length === 0) line.push(word);
    else chunks.push(word);
    return;
  }
  const left = width - used, hyphen = word.slice(0, left).lastIndexOf("-");
  const isInside = hyphen > 0 && word.slice(0, hyphen).some((one) => one !== "-");
  const end = breaksAtHyphens && word.length > left && isInside ? hyphen + 1 : left;
  line.push(word.slice(0, end));
  chunks.push(word.slice(end));
}
