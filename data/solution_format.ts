/**
 * The answer format of a widespread GSM8K recipe, with tags around the working out and around the
 * solution. The results are those of Python's `re` with MULTILINE and DOTALL for
 *
 *     ^[\s]{0,}<start_working_out>.+?<end_working_out>.*?<SOLUTION>(.+?)</SOLUTION>[\s]{0,}$
 *     <SOLUTION>.*?([\d\.]{1,})
 *
 * but in linear time: a model that repeats itself can write a thousand tags, on which backtracking
 * takes cubic time. After an opening tag the nearest next tag is always enough, since a later one
 * leaves less text for the rest of the pattern.
 */
import { isSpace, strip } from "../tasks/python/text.ts";

export const TAGS = {
  workStart: "<start_working_out>",
  workEnd: "<end_working_out>",
  solutionStart: "<SOLUTION>",
  solutionEnd: "</SOLUTION>",
} as const;

/** The text between the solution tags, where the text has the whole format; else null. */
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

/** The first run of digits and dots after the first solution tag; null when there is none. */
export function findNumber(text: string): string | null {
  const tag = text.indexOf(TAGS.solutionStart);
  if (tag < 0) return null;
  return NUMBER.exec(text.slice(tag + TAGS.solutionStart.length))?.[0] ?? null;
}

/** The gold answer of a GSM8K entry: the text after the first "####", or all of it; stripped. */
export function goldAnswer(answer: string | null): string | null {
  if (answer === null) return null;
  return strip(answer.includes("####") ? answer.split("####")[1]! : answer);
}

/** Whether only white space is between the beginning of the line and `at`. */
function beginsLine(text: string, at: number): boolean {
  let i = at;
  while (i > 0 && text[i - 1] !== "\n" && isSpace(text[i - 1]!)) i--;
  return i === 0 || text[i - 1] === "\n";
}

/** Whether only white space is between `at` and the end of the line. */
function endsLine(text: string, at: number): boolean {
  let i = at;
  while (i < text.length && text[i] !== "\n" && isSpace(text[i]!)) i++;
  return i === text.length || text[i] === "\n";
}
