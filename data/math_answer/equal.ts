/** Whether an answer is right: whether two texts have the same mathematical meaning. */
import { isBlank } from "../../tasks/python/text.ts";
import { call, type Expr, minus, number, written } from "./formulas/expression.ts";
import { proportional, sameFormula } from "./formulas/same_formula.ts";
import { compareNumbers } from "./formulas/same_number.ts";
import type { MathValue } from "./formulas/value.ts";
import { fraction, same } from "./numbers/rational.ts";
import { cleanMath, unwrap } from "./reading/clean.ts";
import { type Measure, measureOf } from "./reading/measure.ts";
import { parseMath, type Reading, textOf } from "./reading/parse.ts";
import { functionNames } from "./reading/tokens.ts";
import { TEXT } from "./reading/units.ts";
import { sameMath } from "./same_value.ts";

/** A longer text is right only if it is exactly the gold answer. */
const MAX_LENGTH = 10_000;

/**
 * Texts that the parser cannot read are compared as texts.
 * @param question where it speaks of degrees or of percent, an answer may add that unit
 */
export function sameAnswer(answer: string, gold: string, question = ""): boolean {
  if (answer === gold) return !isBlank(answer);
  if (Math.max(answer.length, gold.length) > MAX_LENGTH) return false;
  if (isDenied(answer, `${gold} ${question}`)) return false;
  const opened = gold.replace(/\[(?=\s*-\s*(?:\\infty|∞))/g, "(")
    .replace(/((?:\\infty|∞)\s*)\]/g, "$1)");
  // A gold answer may have the wrong bracket at infinity; an answer may not.
  if (opened !== gold && sameAnswer(answer, opened, question)) return true;
  const parts = splitRounded(answer);
  if (parts !== null) {
    return sameText(answer, gold) ||
      (parts.length <= 2 && answersOf(parts).some((part) => sameAnswer(part, gold, question)));
  }
  const golds = splitRounded(gold);
  if (golds !== null) {
    return sameText(answer, gold) ||
      answersOf(golds).some((part) => sameAnswer(answer, part, question));
  }
  const repeated = beforeBrackets(answer);
  if (repeated !== null && sameAnswer(repeated, gold, question)) return true;
  if (differInUnit(answer, gold) || differInName(answer, gold)) return false;
  if (sameChoice(answer, gold)) return true;
  if (isTime(gold)) return sameText(answer, gold);
  const functions = functionNames(cleanMath(answer), cleanMath(gold));
  const a = parseMath(answer, { functions }), b = parseMath(gold, { functions });
  if (a === null && b === null) return sameText(answer, gold);
  if (a === null || b === null) {
    // A short word beside a formula may be a product: xyx is x²y.
    const x = a ?? parseMath(answer, { functions, products: true });
    const y = b ?? parseMath(gold, { functions, products: true });
    return sameText(answer, gold) ||
      (x?.kind === "number" && y?.kind === "number" && sameMath(x, y, question));
  }
  if (a.kind === "equation" || b.kind === "equation") return sameEquation(answer, gold, functions);
  const converted = inOneUnit(answer, gold, a, b);
  if (converted !== null) return converted;
  return sameMath(a, b, question) || sameDigits(answer, gold) ||
    // y = 2x + 3, solved for x.
    (answer.includes("=") && gold.includes("=") && sameEquation(answer, gold, functions));
}

/** The end of a text that calls the value before it wrong. */
const DENIAL =
  /(?<![A-Za-z])(wrong|incorrect|false|untrue|invalid|impossible|erroneous|mistaken|extraneous|nonsense|nope|never|no|too (?:small|large|big|low|high|many|few|long|short|much))[\s.!)}$*]*$/i;
/** The same at any place. */
const DENIED =
  /(?<![A-Za-z])(?:cannot|(?:is|are|was|were|does|do|did|can|could|will|would|should|has|have|had)(?:\s+(not|never)|n['’]?t))(?![A-Za-z])/i;

/**
 * Whether an answer says that its own value is wrong, as "7 is wrong" does.
 * @param about the gold answer and the question: words of them are no denial
 */
function isDenied(answer: string, about: string): boolean {
  const end = DENIAL.exec(answer.slice(-100))?.[1];
  if (end !== undefined) return !about.toLowerCase().includes(end.toLowerCase());
  return DENIED.test(answer) && !DENIED.test(about);
}

/**
 * The values that count in an answer with an approximation sign: the exact side, and the rounded
 * side if it has two digits or more after the point. If the two contradict each other, nothing
 * counts: an answer may not guess twice.
 */
function answersOf(parts: readonly string[]): string[] {
  const [first, rounded] = parts;
  // Words of a sentence are not a value.
  if (rounded === undefined) return parts.filter((part) => parseMath(part) !== null);
  const exact = parseMath(first!), near = parseMath(rounded);
  if (exact?.kind !== "number" || near?.kind !== "number") return [];
  if (!isRoundingOf(near.expr, exact.expr)) return [];
  return /\.\d\d/.test(rounded) ? [first!, rounded] : [first!];
}

/** A value, and something in brackets after it. */
const BRACKETS = /^([^()]*[^()\s])\s+\((?:or\s|i\.e\.,?|=|≈)?\s*([^()]+)\)\s*$/;

/**
 * The value before brackets, if the brackets repeat the value in another form, as in "3/4 (0.75)";
 * else null.
 */
function beforeBrackets(answer: string): string | null {
  const [, first, second] = BRACKETS.exec(answer) ?? [];
  if (first === undefined || second === undefined) return null;
  const a = parseMath(first), b = parseMath(second);
  if (a?.kind !== "number" || b?.kind !== "number" || written(a.expr) === written(b.expr)) {
    return null;
  }
  return sameMath(a, b) || isRoundingOf(b.expr, a.expr) ? first : null;
}

/** 3:30 is a time: as a ratio it would have a common factor. */
function isTime(gold: string): boolean {
  const [, hours, minutes] = /^\s*(\d{1,2}):([0-5]\d)\s*$/.exec(gold) ?? [];
  if (hours === undefined) return false;
  const ratio = fraction(BigInt(hours), BigInt(minutes!) || 1n);
  return ratio.d !== BigInt(minutes!);
}

const VALUE = String.raw`(?:[^=,;A-Za-z\\]|\\[A-Za-z]+)+`;
/** x = 3 or 3 = x. */
const COORDINATE = new RegExp(
  String.raw`^(?:[\s$]*([xyz])\s*=${VALUE}|${VALUE}=\s*([xyz])[\s$]*)$`,
);

/**
 * Whether both are coordinates with a value, but with different names: the line x = 3 is not y = 3.
 */
function differInName(answer: string, gold: string): boolean {
  const [a, b] = [answer, gold].map((text) => {
    const match = COORDINATE.exec(text);
    return match?.[1] ?? match?.[2];
  });
  return a !== undefined && b !== undefined && a !== b;
}

const RADIANS = /\bradians?\b/i;

/**
 * Whether both name units of different quantities. A forgotten square does not count as another
 * quantity.
 */
function differInUnit(answer: string, gold: string): boolean {
  const a = measureOf(answer), b = measureOf(gold);
  if (b?.quantity === "angle" && RADIANS.test(answer)) return true;
  return a !== null && b !== null && baseOf(a) !== baseOf(b);
}

const baseOf = ({ quantity }: Measure): string => quantity.replace(/\^.*/, "");

/** Compares 100 cm with 1 m; null where both have the same unit, or one has none. */
function inOneUnit(answer: string, gold: string, a: MathValue, b: MathValue): boolean | null {
  const [from, to] = [measureOf(answer), measureOf(gold)];
  if (from === null || to === null || from.quantity !== to.quantity) return null;
  if (same(from.factor, to.factor) || a.kind !== "number" || b.kind !== "number") return null;
  const scaled = (expr: Expr, value: Measure["factor"]) =>
    call("*", expr, { kind: "number", value });
  return sameFormula(scaled(a.expr, from.factor), scaled(b.expr, to.factor));
}

function sameText(answer: string, gold: string): boolean {
  const text = textOf(cleanMath(answer));
  return text !== "" && text === textOf(cleanMath(gold));
}

const BASED = /^(.*\d)_\{?\d+\}?$/;

/** The answer may leave out the base of a number, since the question names it. */
function sameDigits(answer: string, gold: string): boolean {
  const digits = BASED.exec(textOf(cleanMath(gold)))?.[1];
  return digits !== undefined && digits === textOf(cleanMath(answer));
}

/** Two equations are the same if one is a multiple of the other. */
function sameEquation(answer: string, gold: string, functions: Reading["functions"]): boolean {
  const reading: Reading = { named: true, ...(functions && { functions }) };
  const a = parseMath(answer, reading), b = parseMath(gold, reading);
  return a?.kind === "equation" && b?.kind === "equation" &&
    proportional(a.difference, b.difference, false);
}

/** The letter of a choice: the gold (B) may be answered by "B)" or "Option B". */

const GOLD = new RegExp(`^\\s*(?:${TEXT}\\s*\\{\\s*\\(?([A-J])\\)?\\s*\\}|\\(([A-J])\\))\\s*$`);
const COMMAND = new RegExp(`${TEXT}\\s*\\{([^{}]*)\\}`, "g");
const CHOSEN =
  /^\s*(?:(?:the\s+)?(?:correct\s+)?(?:answer|option|choice)(?:\s+is|:)?\s*)?\(?\s*([A-J])\s*[).:]?\s*$/i;
const MAX_CHOICE = 80;

/** Whether an answer is the gold letter; false also where one of them is no choice. */
function sameChoice(answer: string, gold: string): boolean {
  const wanted = GOLD.exec(gold)?.slice(1).find((letter) => letter !== undefined);
  if (wanted === undefined || answer.length > MAX_CHOICE) return false;
  return CHOSEN.exec(unwrap(answer).replace(COMMAND, "$1"))?.[1] === wanted;
}

/** Values with their rounded forms: 2√5 ≈ 4.47. */

/** Stands between a value and the same value rounded, or before a value. */
const ROUNDED = /\\(?:approx|simeq|thickapprox)(?![A-Za-z])|≈|\bapprox(?:imately|\.)/i;
/** A name before the sign, as in x ≈ 2; π and e are numbers. */
const NAME = /^[\s$(]*(?:(?!e[\s$]*$)[A-Za-z]+|\\(?!pi)[a-z]+)[\s$]*$/;

/** The parts of a text with an approximation sign, without names and words; null without a sign. */
function splitRounded(text: string): string[] | null {
  const parts = text.split(ROUNDED);
  if (parts.length < 2) return null;
  return parts.filter((part, i) => !isBlank(part) && !(i === 0 && NAME.test(part)));
}

/** Whether a decimal or a whole number is a value rounded to the number's last digit. */
function isRoundingOf(rounded: Expr, value: Expr): boolean {
  const literal = rounded.kind === "call" && rounded.name === "negate" ? rounded.args[0]! : rounded;
  if (literal.kind !== "number") return false;
  const half = number(1n, 2n * 10n ** BigInt(Math.max(0, literal.digits?.after ?? 0)));
  const error = minus(value, rounded);
  const [high, low] = [compareNumbers(error, half), compareNumbers(call("negate", error), half)];
  return high !== null && low !== null && high <= 0 && low <= 0;
}
