/** Whether an answer is right: whether two texts have the same mathematical meaning. */
import { isBlank } from "../../tasks/python/text.ts";
import type { Expr, Relation } from "./formulas/expression.ts";
import { call, hasNames, minus, number, written } from "./formulas/expression.ts";
import { regionOf, sameRegion } from "./formulas/region.ts";
import { proportional, sameFormula } from "./formulas/same_formula.ts";
import { compareNumbers, isRounded } from "./formulas/same_number.ts";
import type { MathValue, Region, Unit } from "./formulas/value.ts";
import { fraction, same } from "./numbers/rational.ts";
import { cleanMath, unwrap } from "./reading/clean.ts";
import { type Measure, measureOf } from "./reading/measure.ts";
import { parseMath, type Reading, textOf } from "./reading/parse.ts";
import { functionNames } from "./reading/tokens.ts";
import { TEXT } from "./reading/units.ts";

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

// The letter of a choice: the gold (B) may be answered by "B)" or "Option B".

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

// Values with their rounded forms: 2√5 ≈ 4.47.

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

// Whether two values are the same one.

type Kind<K extends MathValue["kind"]> = Extract<MathValue, { kind: K }>;

/** Words of a question that asks for a number with this unit. */
const ASKED: Readonly<Record<Unit, RegExp>> = {
  "%": /per\s?cent|%|\bpct\b/i,
  "°": /degree|°|\\circ|angle/i,
};

/**
 * @param answer may leave out a unit, the braces of a set or the brackets of a tuple
 * @param question where it names a unit the answer may add it
 */
export function sameMath(answer: MathValue, gold: MathValue, question = ""): boolean {
  const [a, b] = [answer, gold];
  if (a.kind === "number" && b.kind === "number") return sameQuantity(a, b, question);
  if (a.kind === "text" && b.kind === "text") return a.text === b.text;
  if (a.kind === "matrix" && b.kind === "matrix") return sameMatrix(a, b);
  if (a.kind === "relations" && b.kind === "relations") return sameRelations(a, b);
  if (a.kind === "ratio" || b.kind === "ratio") return sameRatio(a, b);
  if (a.kind === "named" || b.kind === "named") return sameNamed(a, b, question);
  if (a.kind === "tuple" && b.kind === "tuple" && sameTuple(a, b, question)) return true;
  if (a.kind === "set" && b.kind === "set" && sameSet(a, b, question)) return true;
  if (a.kind === "set" && b.kind === "number") return isOnly(a, b, question);
  if (a.kind === "number" && b.kind === "set") return isOnly(b, a, question);
  if (a.kind === "matrix" && b.kind === "tuple") return sameVector(a, b);
  if (a.kind === "tuple" && b.kind === "matrix") return sameVector(b, a);
  if (a.kind === "set" && b.kind === "tuple") return sameList(a, b, question);
  if (a.kind === "tuple" && b.kind === "set") return sameList(b, a, question);
  return sameRegions(a, b);
}

function sameQuantity(a: Kind<"number">, b: Kind<"number">, question: string): boolean {
  if (a.unit === b.unit) return close(a.expr, b.expr);
  // The gold answer's unit may be left out.
  if (a.unit === undefined && close(a.expr, b.expr)) return true;
  if (b.unit === undefined && ASKED[a.unit!].test(question) && close(a.expr, b.expr)) return true;
  // A percentage is also its value; degrees and radians are two ways to ask.
  if (a.unit === "°" || b.unit === "°") return false;
  const [x, y] = [a, b].map(({ expr, unit }) => unit ? call("/", expr, number(100n)) : expr);
  return sameFormula(x!, y!);
}

const close = (a: Expr, b: Expr): boolean =>
  sameFormula(a, b) || isRounded(a, b) || isRounded(b, a);

function sameTuple(a: Kind<"tuple">, b: Kind<"tuple">, question: string): boolean {
  return a.open === b.open && a.close === b.close && sameInOrder(a.items, b.items, question);
}

/** Whether the list is the tuple without its brackets. */
function sameList(list: Kind<"set">, tuple: Kind<"tuple">, question: string): boolean {
  return list.bare === true && tuple.open === "(" && tuple.close === ")" &&
    sameInOrder(list.items, tuple.items, question);
}

function sameInOrder(
  some: readonly MathValue[],
  others: readonly MathValue[],
  question: string,
): boolean {
  return some.length === others.length &&
    some.every((item, i) => sameMath(item, others[i]!, question));
}

/** "1/2 or 0.5" is one half; "7, 7" is two numbers, and braces make a set, which is no number. */
function isOnly(list: Kind<"set">, value: Kind<"number">, question: string): boolean {
  return list.bare === true && !repeats(list) &&
    list.items.every((item) => sameMath(item, value, question));
}

/** A vector may be written as a tuple. */
function sameVector({ bars, rows }: Kind<"matrix">, tuple: Kind<"tuple">): boolean {
  const cells = rows.flat();
  const isVector = bars === "" && (rows.length === 1 || rows.length === cells.length);
  return isVector && tuple.open === "(" && tuple.close === ")" &&
    cells.length === tuple.items.length &&
    tuple.items.every((item, i) =>
      item.kind === "number" && item.unit === undefined && close(item.expr, cells[i]!)
    );
}

/** Whether a number occurs twice in the same form; 5 and 5.0 are two forms. */
function repeats({ items }: Kind<"set">): boolean {
  const forms = items.flatMap((item) => {
    if (item.kind !== "number") return [];
    const digits = item.expr.kind === "number" ? item.expr.digits : undefined;
    return [`${written(item.expr)} ${digits?.after}`];
  });
  return new Set(forms).size < forms.length;
}

/** An item of a set counts once; a list repeats an item only where the gold answer does. */
function sameSet(a: Kind<"set">, b: Kind<"set">, question: string): boolean {
  const same = (x: MathValue, y: MathValue) => sameMath(x, y, question);
  const isMultiple = b.items.some((item, i) => b.items.slice(0, i).some((x) => sameMath(x, item)));
  if (!isMultiple || a.bare !== true || b.bare !== true) {
    return !(a.bare === true && !isMultiple && repeats(a)) && matched(a.items, b.items, same);
  }
  const left = [...a.items];
  return a.items.length === b.items.length && b.items.every((item) => {
    const found = left.findIndex((x) => same(x, item));
    if (found >= 0) left.splice(found, 1);
    return found >= 0;
  });
}

function sameRegions(a: MathValue, b: MathValue): boolean {
  // A set of numbers is one only beside an interval.
  if (a.kind !== "region" && b.kind !== "region") return false;
  const [x, y] = [safeRegion(a), safeRegion(b)];
  if (x === null || y === null || !sameRegion(x, y)) return false;
  const names = [a, b].map((value) => value.kind === "region" ? value.name : null);
  return names[0] === names[1] || names.includes(null);
}

function safeRegion(value: MathValue): Region | null {
  try {
    return regionOf(value);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function sameMatrix(a: Kind<"matrix">, b: Kind<"matrix">): boolean {
  return a.bars === b.bars && a.rows.length === b.rows.length &&
    a.rows.every((row, i) =>
      row.length === b.rows[i]!.length && row.every((cell, k) => close(cell, b.rows[i]![k]!))
    );
}

/** Relations are the same where one is a multiple of the other; < and ≤ by a positive factor. */
function sameRelation(a: Relation, b: Relation): boolean {
  if (a.sign !== b.sign) return false;
  const either = a.sign === "=" || a.sign === "≠";
  return hasNames(a.difference) && proportional(a.difference, b.difference, !either);
}

function sameRelations(a: Kind<"relations">, b: Kind<"relations">): boolean {
  return matched(a.groups, b.groups, (x, y) => matched(x, y, sameRelation));
}

/** Whether each item has an equal one in the other list. */
function matched<T>(some: readonly T[], others: readonly T[], same: (x: T, y: T) => boolean) {
  const found = new Set<number>();
  return some.every((x) => {
    const equal = others.flatMap((y, i) => !found.has(i) && same(x, y) ? [i] : []);
    equal.forEach((i) => found.add(i));
    return equal.length > 0 || others.some((y, i) => found.has(i) && same(x, y));
  }) && found.size === others.length;
}

/** 11 : 21 is 22 : 42 and, of two parts, 11/21. */
function sameRatio(a: MathValue, b: MathValue): boolean {
  const [x, y] = [a, b].map((value) =>
    value.kind === "ratio"
      ? value.parts
      : value.kind === "number" && value.unit === undefined
      ? [value.expr, number(1n)]
      : null
  );
  if (!x || !y || x.length !== y.length) return false;
  return x.every((part, i) => sameFormula(call("*", part, y[0]!), call("*", y[i]!, x[0]!)));
}

/** Values with names; a tuple holds the values in the order of the names. */
function sameNamed(a: MathValue, b: MathValue, question: string): boolean {
  if (a.kind === "named" && b.kind === "named") {
    return a.parts.length === b.parts.length &&
      a.parts.every(({ name, value }, i) =>
        name === b.parts[i]!.name && sameMath(value, b.parts[i]!.value, question)
      );
  }
  if (a.kind === "named") return isOrdered(b) && sameInOrder(a.tuple, b.items, question);
  return b.kind === "named" && isOrdered(a) && sameInOrder(a.items, b.tuple, question);
}

const isOrdered = (value: MathValue): value is Kind<"tuple"> | Kind<"set"> =>
  (value.kind === "tuple" && value.open === "(" && value.close === ")") ||
  (value.kind === "set" && value.bare === true);
