/** The letter that a completion chooses from the options of a question. */
import { strip } from "../../tasks/python/text.ts";
import { extractAnswer } from "../extract.ts";
import { findMathAnswer, joinedBoxes, readings } from "./find.ts";

/** Signs before a letter: brackets, quotes, bold type, LaTeX's commands. */
const OPENING = String.raw`(?:\\text(?:bf|rm)?|\\math(?:rm|bf)|\\\(|[\s({[*_$:"'“‘` + "`#])*";
const NAMED =
  String.raw`(?:(?:it['’]?s|it is|the|correct|best|right|final|option|answer|choice|letter|is)` +
  String.raw`(?![A-Za-z])${OPENING})*`;
const LETTER = new RegExp(`^${OPENING}(?:${NAMED})([A-Z])(?![A-Za-z#]|['’][A-Za-z]|\\+\\+)`, "i");

/** Only the end of a letter or of a choice. */
const NOTHING = /^[\s)\]}*_$"'”’`.,;:!?]*(?:\\\))?[\s.]*$/;
/** "A" and "I" are words, too: a reason or a sign must follow. */
const WORD =
  /^(?:\s*(?:[)\]}*_$"”`.,;:!?(—–]|\n|\\\))|\s+[-=]\s|\s+(?:because|since|as|due|given|which|with)\s)/;
/** "A = 5", "A > B" and "D-glucose" are no choices. */
const FORMULA = /^\s*(?:[=<>≤≥≠→⇒]|->)|^[-–]\w/;
/** "C is wrong" does not choose C. */
const DENIED = /^[)\]]?\s+(?:is|are)(?:n't\b|\s+(?:not|in|un|wrong|false))/;
/** A second letter after the first one: "C or D", "(C); (D)"; "C D" only at the end of a text. */
const SECOND = new RegExp(
  String.raw`^[)\]]?(?:(?:\s*[,;/&+|]\s*(?:(?:and|or)\s+)?|\s+(?:and|or|vs\.?|to|then|but)\s+)` +
    String
      .raw`(?:(?:maybe|perhaps|possibly)\s+)?\(?([A-Z])(?![A-Za-z'])|\s*[-–]\s*\(?([A-Z])[).]?\s*$|` +
    String.raw`\.?\s+\(?([A-Z])[).]?(?:\s*$|(?<=[).])\s+\(?[A-Z][).]))`,
);
/** A correction after a letter: "C … no, D", "C. Wait, it is D". */
const CHANGED = new RegExp(
  String.raw`[^A-Za-z\s]\s{0,3}(?:no|wait|actually|rather|maybe|perhaps)[,:]?\s+` +
    String.raw`(?:it(?: is|'s)\s+)?\(?([A-Z])(?![A-Za-z'])`,
  "i",
);

/** The letter of an answer such as "C", "(C) because …", "**C**", "Option C"; none of two. */
export function chosenLetter(answer: string): string | undefined {
  return letterAt((boxedLetter(answer) ?? statedLetter(answer) ?? answer).normalize("NFKC"));
}

function letterAt(text: string): string | undefined {
  const plain = strip(text).replace(/^```[a-z]*\s([^`]*)```$/, "$1");
  const match = LETTER.exec(plain);
  if (match === null) return undefined;
  const letter = match[1]!.toUpperCase();
  const rest = plain.slice(match[0].length, match[0].length + MAX_REST);
  if (NOTHING.test(rest)) return letter;
  if (DENIED.test(rest) || FORMULA.test(rest)) return undefined;
  if (/^[AI]$/.test(letter) && !WORD.test(rest) && !SAME_WORD.test(rest)) return undefined;
  const others = [...SECOND.exec(rest)?.slice(1) ?? [], CHANGED.exec(rest)?.[1]];
  return others.every((other) => other === undefined || other.toUpperCase() === letter)
    ? letter
    : undefined;
}

/** Number of characters after a letter that are read. */
const MAX_REST = 80;
/** "A is correct", "A and A". */
const SAME_WORD = /^\s+(?:is|and|or)\s/;

/** Where a completion chooses; null where it does not. A letter alone announces no choice. */
export function findLetter(text: string): string | null {
  return extractAnswer(text) ?? boxedLetter(text) ?? statedLetter(text);
}

/** The last box; of boxes that stand together all letters. */
function boxedLetter(text: string): string | null {
  const boxes = joinedBoxes(text);
  return boxes === null ? findMathAnswer(text) : readings(boxes).at(-1)!;
}

/** The words that announce a choice in a text. */
const STATES =
  /(?<![A-Za-z])(?:answer|(?:correct|right|best) (?:option|choice))(?:\s+is|\*{0,2}:|(?<=(?:^|\n)[#* ]{0,9}(?:final )?answer)[*_]{0,2}\s*\n)[\s:*]*/gi;
/** A text may repeat the words very often; only the last ones count. */
const MAX_STATED = 50;
const SAID_BEFORE =
  /(?:^|[\s(*])\(?([A-Z])\)?\*{0,2} is the (?:(?:correct|right|best|final) )*(?:answer|option|choice)/g;

/** "The answer is (C)", "Answer: C", "C is the answer"; of "B or C" both letters. */
function statedLetter(text: string): string | null {
  for (const match of [...text.matchAll(STATES)].slice(-MAX_STATED).reverse()) {
    const start = match.index + match[0].length;
    const line = /^[^\n]*/.exec(text.slice(start, start + MAX_REST))![0];
    const found = LETTER.exec(line);
    if (found === null) continue;
    // "a" alone is an article.
    if (/[a-z]/.test(found[1]!) && !NOTHING.test(line.slice(found[0].length))) continue;
    return letterAt(line) ?? line;
  }
  return [...text.matchAll(SAID_BEFORE)].at(-1)?.[1] ?? null;
}
