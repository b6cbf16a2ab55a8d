/** Whether an answer that was found in a completion is right. */
import { sameAnswer } from "./equal.ts";
import { readings } from "./find.ts";
import { written } from "./formulas/expression.ts";
import { fraction } from "./numbers/rational.ts";
import { cleanMath, MAX_CHARACTERS } from "./reading/clean.ts";
import { parseMath } from "./reading/parse.ts";

/**
 * @param answer may hold several boxes that stand together
 * @param question where it speaks of degrees or of percent, an answer may add that unit; an answer
 *   that only repeats one of its formulas is wrong
 */
export function isRight(answer: string, gold: string, question = ""): boolean {
  return readings(answer).some((reading) =>
    sameAnswer(reading, gold, question) && !isCopied(reading, gold, question)
  );
}

/**
 * Whether an answer only repeats a formula of the question. "Compute √(48·27)" asks for 36; the
 * formula itself has that value, and a policy that copies it would get the reward without any work.
 */

const FORMULA =
  /\$\$([^$]+)\$\$|\$([^$]+)\$|\\\(((?:(?!\\\))[^])+)\\\)|\\\[((?:(?!\\\])[^])+)\\\]/g;
/** Whole numbers, decimals, names: a question may hold its own answer by chance. */
const SIMPLE =
  /^[-+]?(?:[\d.,]+|[A-Za-z]|\\frac\{(\d{1,15})\}\{(\d{1,15})\}|(\d{1,15})\/(\d{1,15}))$/;
const MAX_QUESTION = 20_000;

/**
 * @param gold an answer that is written like the gold is right, even if the question contains it
 */
function isCopied(answer: string, gold: string, question: string): boolean {
  if (!/[\\$]/.test(question) || question.length > MAX_QUESTION) return false;
  if (answer.length > MAX_CHARACTERS) return false;
  const text = bare(answer);
  if (text === bare(gold) || isSimple(text)) return false;
  const [a, b] = [parseMath(answer), parseMath(gold)];
  if (a?.kind !== "number" || b?.kind !== "number") return false;
  if (written(a.expr) === written(b.expr)) return false;
  for (const match of question.matchAll(FORMULA)) {
    const formula = match.slice(1).find((group) => group !== undefined)!;
    if (formula.length > MAX_CHARACTERS) continue;
    if (formula.split("=").some((side) => bare(side) === text)) return true;
  }
  return false;
}

const bare = (text: string) => cleanMath(text).replace(/\s/g, "");

/** A fraction is simple in lowest terms only. */
function isSimple(text: string): boolean {
  const match = SIMPLE.exec(text);
  if (match === null) return false;
  const [above, below] = [match[1] ?? match[3], match[2] ?? match[4]];
  if (above === undefined || Number(below) === 0) return true;
  return fraction(BigInt(above), BigInt(below!)).d === BigInt(below!);
}
