/**
 * Where a completion states its answer: in the last `\boxed{…}`, or else in the formula after "final
 * answer is" or "answer is". A bare number, or a formula without such an announcement, is no answer.
 * Where several boxes stand, the last one counts (math-verify joins them, and so matches none).
 */

/** The text inside, or null. */
export function findMathAnswer(text: string): string | null {
  return lastBox(text) ?? announced(text);
}

/** With braces, or before a number without them. */
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

/** From the place behind each brace to the brace that closes it, in one pass: a model may repeat itself. */
function closingBraces(text: string): Map<number, number> {
  const open: number[] = [], ends = new Map<number, number>();
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "{") open.push(i + 1);
    else if (text[i] === "}" && open.length > 0) ends.set(open.pop()!, i);
  }
  return ends;
}

const ANNOUNCED = /\b(final\s+)?answer\s+is\s*(?::\s*)?(\$\$|\$|\\\(|\\\[)/gi;
const CLOSING: Readonly<Record<string, string>> = {
  "$": "$",
  "$$": "$$",
  "\\(": "\\)",
  "\\[": "\\]",
};

function announced(text: string): string | null {
  let found: { final: boolean; content: string } | null = null;
  for (const match of text.matchAll(ANNOUNCED)) {
    const start = match.index + match[0].length;
    const end = text.indexOf(CLOSING[match[2]!]!, start);
    const final = match[1] !== undefined;
    if (end >= 0 && (final || !found?.final)) found = { final, content: text.slice(start, end) };
  }
  return found?.content ?? null;
}
