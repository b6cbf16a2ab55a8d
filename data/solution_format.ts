/**
 * The answer format of the widespread GSM8K recipe: working out and solution in tags of their own. The
 * same results as Python's `re` with MULTILINE and DOTALL for
 *
 *     ^[\s]{0,}<start_working_out>.+?<end_working_out>.*?<SOLUTION>(.+?)</SOLUTION>[\s]{0,}$
 *     <SOLUTION>.*?([\d\.]{1,})
 *
 * but in linear time: a model that repeats itself can write a thousand tags, on which a backtracking
 * pattern is cubic. For the first tag that may open the text, the nearest next tags are always enough,
 * because later ones leave less text for the rest of the pattern.
 */
import { isSpace, strip } from "../tasks/python/text.ts";

export const TAGS = {
  workStart: "<start_working_out>",
  workEnd: "<end_working_out>",
  solutionStart: "<SOLUTION>",
  solutionEnd: "</SOLUTION>",
} as const;

/** What stands between the solution tags of a text that has the whole format; else null. */
export function findSolution(text: string): string | null {
  for (let from = 0;;) {
    const start = text.indexOf(TAGS.workStart, from);
    if (start < 0) return null;
    from = start + TAGS.workStart.length;
    if (!beginsLine(text, start)) continue;
    // At least one character between the tags of a pair.
    const workEnd = text.indexOf(TAGS.workEnd, from + 1);
    if (workEnd < 0) return null;
    const tag = text.indexOf(TAGS.solutionStart, workEnd + TAGS.workEnd.length);
    if (tag < 0) return null;
    const begin = tag + TAGS.solutionStart.length;
    for (let end = begin;;) {
      end = text.indexOf(TAGS.solutionEnd, end + 1);
      if (end < 0) return null;
      if (endsLine(text, end + TAGS.solutionEnd.length)) return text.slice(begin, end);
    }
  }
}

const NUMBER = /[\p{Nd}.]+/u;

/** The first run of digits and dots behind the first solution tag; null when there is none. */
export function findNumber(text: string): string | null {
  const tag = text.indexOf(TAGS.solutionStart);
  if (tag < 0) return null;
  return NUMBER.exec(text.slice(tag + TAGS.solutionStart.length))?.[0] ?? null;
}

/** Gold answer of a GSM8K entry: behind the first "####" if there is one, else all of it; stripped. */
export function goldAnswer(answer: string | null): string | null {
  if (answer === null) return null;
  return strip(answer.includes("####") ? answer.split("####")[1]! : answer);
}

/** Only white space between `at` and the beginning of its line. */
function beginsLine(text: string, at: number): boolean {
  let i = at;
  while (i > 0 && text[i - 1] !== "\n" && isSpace(text[i - 1]!)) i--;
  return i === 0 || text[i - 1] === "\n";
}

/** Only white space from `at` to the end of its line. */
function endsLine(text: string, at: number): boolean {
  let i = at;
  while (i < text.length && text[i] !== "\n" && isSpace(text[i]!)) i++;
  return i === text.length || text[i] === "\n";
}
