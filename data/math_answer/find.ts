/**
 * Finds the answer that a completion states: the last `\boxed{…}`, or else the formula after "final
 * answer is" or "answer is". A number alone, or a formula without such an announcement, is not an
 * answer. Of several boxes the last one counts (math-verify joins them, and so matches none).
 */

/** The text of the answer, or null. */
export function findMathAnswer(text: string): string | null {
  return lastBox(text) ?? announced(text, ANNOUNCED);
}

/** Also finds a formula at most 50 characters after the word "answer", as TRL's rewards do. */
export function findMathAnswerNear(text: string): string | null {
  return lastBox(text) ?? announced(text, NEAR);
}

/** The start of a box: before a brace, or before a number without braces. */
const BOX = /\\(?:boxed|fbox)(?:\s*\{|\s*(?=[-+]?\d))/g;

function lastBox(text: string): string | null {
  const boxes = [...text.matchAll(BOX)].reverse();
  const ends = boxes.length === 0 ? null : closingBraces(text);
  for (const match of boxes) {
    const start = match.index + match[0].length;
    if (!match[0].endsWith("{")) return /^[-+]?[\d.,/]*\d/.exec(text.slice(start))![0];
    const end = ends!.get(start);
    if (end !== undefined) return text.slice(start, end);
  }
  return null;
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

const OPENING = String.raw`((?<!\\)\$\$?|\\\(|\\\[)`;
/** Announcements of an answer, the most reliable kind first. */
const ANNOUNCED = [
  new RegExp(String.raw`\bfinal\s+answer\s+is\s*(?::\s*)?${OPENING}`, "gi"),
  new RegExp(String.raw`\banswer\s+is\s*(?::\s*)?${OPENING}`, "gi"),
];
/** The announcements of math-verify: a formula soon after the word. */
const NEAR = [
  new RegExp(String.raw`final answer[^]{0,100}?\sis:?\s*${OPENING}`, "gi"),
  new RegExp(String.raw`answer:[^]{0,50}?${OPENING}`, "gi"),
  new RegExp(String.raw`answer[^]{0,50}?${OPENING}`, "gi"),
];
const CLOSING: Readonly<Record<string, string>> = {
  "$": "$",
  "$$": "$$",
  "\\(": "\\)",
  "\\[": "\\]",
};

/** The last formula with the most reliable kind of announcement that occurs. */
function announced(text: string, kinds: readonly RegExp[]): string | null {
  for (const kind of kinds) {
    let found: string | null = null;
    const next = nextIn(text);
    for (const match of text.matchAll(kind)) {
      const opening = match[1]!, start = match.index + match[0].length;
      let end = next(CLOSING[opening]!, start);
      while (opening === "$" && text[end - 1] === "\\") end = next("$", end + 1);
      // An inline formula ends on the same line.
      const last = opening === "$" || opening === "\\(" ? next("\n", start) : text.length;
      if (start < end && end <= last && end < text.length) found = text.slice(start, end);
    }
    if (found !== null) return found;
  }
  return null;
}

/**
 * Finds the next position of a mark. Results are kept, so calls with ascending positions read the
 * text only once.
 */
function nextIn(text: string): (mark: string, from: number) => number {
  const known = new Map<string, number>();
  return (mark, from) => {
    let at = known.get(mark) ?? -1;
    if (at < from) {
      at = text.indexOf(mark, from);
      if (at < 0) at = text.length;
      known.set(mark, at);
    }
    return at;
  };
}
