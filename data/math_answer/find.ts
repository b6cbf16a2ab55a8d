/**
 * Finds the formula that a completion gives as its answer: the last `\boxed{…}`, or else the
 * formula after "final answer is" or "answer is". A number alone, or a formula without such an
 * announcement, is not an answer.
 *
 * Of several boxes the last one counts. Boxes or formulas with only "and", "or" or a comma between
 * them are together an answer of several values.
 */
import { readFormulas } from "./formula_spans.ts";

/** The text of the answer, or null. */
export function findMathAnswer(text: string): string | null {
  return lastBoxes(text).at(-1)?.content ?? announced(text, ANNOUNCED);
}

/** Also finds a formula at most 50 characters after the word "answer", as TRL's rewards do. */
export function findMathAnswerNear(text: string): string | null {
  return lastBoxes(text).at(-1)?.content ?? announced(text, NEAR);
}

interface Box {
  /** Where `\boxed` begins, and where its closing brace ends. */
  start: number;
  end: number;
  content: string;
}

/** The start of a box: before a brace, or before a number without braces. */
const BOX = /\\(?:boxed|fbox)(?:\s*\{|\s*(?=[-+]?\d))/g;

/** A minus that belongs to the box after it: x = -\boxed{4}. No dash of a text. */
const SIGN = /(?:=|\$|\\[(\[])\s{0,3}[-−]\s?$/;

/** The text between boxes that belong together: `$ and $x =`, a comma, `\text{ for (a) and }`. */
const SPACE = String.raw`(?:\s|\\q?quad(?![A-Za-z])|\\[,;! ])*`;
const BETWEEN = new RegExp(
  String.raw`^\s*(?:\$\$?|\\[)\]])?${SPACE}` +
    String.raw`(?:,?\s*(?:\\text\s*\{\s*)?(?:[A-Za-z() ]{1,30}\s)?(and|or)(?:\s*\})?|,)?` +
    String.raw`${SPACE}(?:\$\$?|\\[(\[])?\s*(?:[A-Za-z](?:_?\w|_\{\w+\})?\s*=\s*)?$`,
);
/** No longer text is read for it. */
const MAX_BETWEEN = 60;
/** Maximum number of boxes that belong together. */
const MAX_BOXES = 20;

/**
 * The boxes that belong together with the last box, the last one at the end; empty if there is no
 * box.
 */
function lastBoxes(text: string): Box[] {
  const starts = [...text.matchAll(BOX)].reverse();
  const ends = starts.length === 0 ? null : closingBraces(text);
  const boxes: Box[] = [];
  for (const match of starts) {
    const box = boxAt(text, match, ends!);
    if (box === null) continue;
    const next = boxes[0];
    if (next !== undefined) {
      const gap = next.start - box.end;
      if (gap < 0 || gap > MAX_BETWEEN || !BETWEEN.test(text.slice(box.end, next.start))) break;
    }
    boxes.unshift(box);
    if (boxes.length === MAX_BOXES) break;
  }
  return boxes;
}

function boxAt(text: string, match: RegExpExecArray, ends: Map<number, number>): Box | null {
  const start = match.index, from = start + match[0].length;
  const signed = (content: string) =>
    SIGN.test(text.slice(Math.max(0, start - 10), start)) ? `-(${content})` : content;
  if (!match[0].endsWith("{")) {
    const content = /^[-+]?[\d.,/]*\d/.exec(text.slice(from, from + 100))![0];
    return { start, end: from + content.length, content: signed(content) };
  }
  const end = ends.get(from);
  if (end === undefined) return null;
  return { start, end: end + 1, content: signed(text.slice(from, end)) };
}

/** The text from the first to the last of the boxes that stand together; null for a single box. */
export function joinedBoxes(text: string): string | null {
  const boxes = lastBoxes(text);
  return boxes.length < 2 ? null : text.slice(boxes[0]!.start, boxes.at(-1)!.end);
}

/**
 * The ways to read an answer: as it is, or, if several boxes belong together, first as the last of
 * them and then as the list of all. Boxes with "or" between them are only a list: the last one
 * alone would be one of two guesses.
 */
export function readings(answer: string): string[] {
  const boxes = lastBoxes(answer);
  if (boxes.length < 2) return [answer];
  const separators = boxes.slice(1).map(({ start }, i) =>
    BETWEEN.exec(answer.slice(boxes[i]!.end, start))?.[1]
  );
  const list = boxes.map(({ content }, i) => {
    const word = i === 0 ? undefined : separators[i - 1];
    return i === 0 ? content : word === undefined ? `, ${content}` : ` ${word} ${content}`;
  }).join("");
  return separators.includes("or") ? [list] : [boxes.at(-1)!.content, list];
}

/**
 * Maps the position after each opening brace to that of its closing brace. One pass over the text
 * finds all, since a model that repeats itself may write very many.
 */
function closingBraces(text: string): Map<number, number> {
  const open: number[] = [], ends = new Map<number, number>();
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "{") open.push(i + 1);
    else if (text[i] === "}" && open.length > 0) ends.set(open.pop()!, i);
  }
  return ends;
}

const OPENING = String.raw`(?:(?<!\\)\$\$?|\\\(|\\\[)`;
/** Announcements of an answer, the most reliable kind first. */
const ANNOUNCED = [
  new RegExp(String.raw`\bfinal\s+answer\s+is\s*(?::\s*)?(?=${OPENING})`, "gi"),
  new RegExp(String.raw`\banswer\s+is\s*(?::\s*)?(?=${OPENING})`, "gi"),
];
/** The announcements of math-verify: a formula soon after the word. */
const NEAR = [
  new RegExp(String.raw`final answer[^]{0,100}?\sis:?\s*(?=${OPENING})`, "gi"),
  new RegExp(String.raw`answer:[^]{0,50}?(?=${OPENING})`, "gi"),
  new RegExp(String.raw`answer[^]{0,50}?(?=${OPENING})`, "gi"),
];

/** The last formula with the most reliable kind of announcement that occurs. */
function announced(text: string, kinds: readonly RegExp[]): string | null {
  for (const kind of kinds) {
    const starts = text.matchAll(kind).map((match) => match.index + match[0].length);
    const found = readFormulas(text, starts);
    if (found !== null) return found;
  }
  return null;
}
