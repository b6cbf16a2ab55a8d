/** Whether an answer is right: whether two texts have the same mathematical meaning. */
import { isBlank } from "../../tasks/python/text.ts";
import { cleanMath } from "./clean.ts";
import { parseMath, textOf } from "./parse.ts";
import { divide, fraction, multiply, type Real, sameReal } from "./rational.ts";
import type { MathValue } from "./value.ts";

/** Stands between a value and the same value rounded, or before a value. */
const ROUNDED = /\\(?:approx|simeq)(?![A-Za-z])|≈|\bapprox(?:imately|\.)/i;

/**
 * The parts of an answer with an approximation sign: the value, its rounded form, or both. If value
 * and rounded form contradict each other, the list is empty: an answer may not guess twice.
 */
function withRounded(text: string): string[] {
  const parts = text.split(ROUNDED).filter((part) =>
    !isBlank(part) && !/^\W*[A-Za-z]+\W*$/.test(part)
  );
  if (parts.length > 2) return [];
  // Words of a sentence are not a value.
  if (parts.length < 2) return parts.filter((part) => parseMath(part) !== null);
  const [exact, rounded] = parts.map((part) => parseMath(part));
  if (exact?.kind !== "number" || rounded?.kind !== "number") return [];
  const decimals = /\.(\d+)/.exec(parts[1]!)?.[1]?.length ?? 0;
  return Math.abs(exact.value.approx - rounded.value.approx) < 10 ** -decimals ? parts : [];
}

/** Texts that the parser cannot read are compared as texts. */
export function sameAnswer(answer: string, gold: string): boolean {
  if (answer === gold) return !isBlank(answer);
  if (ROUNDED.test(answer)) {
    return sameText(answer, gold) || withRounded(answer).some((part) => sameAnswer(part, gold));
  }
  if (ROUNDED.test(gold)) return sameAnswer(gold, answer);
  const a = parseMath(answer), b = parseMath(gold);
  if (a === null || b === null) return sameText(answer, gold);
  if (a.kind === "equation" || b.kind === "equation") return sameEquation(answer, gold);
  return sameMath(a, b) ? sameElsewhere(answer, gold) : sameDigits(answer, gold);
}

/** Compares with negative unknowns too: |x| and x are equal for positive ones only. */
function sameElsewhere(answer: string, gold: string): boolean {
  const a = parseMath(answer, 1), b = parseMath(gold, 1);
  if (a === null || b === null || a.kind === "text" || b.kind === "text") return true;
  return sameMath(a, b);
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

/** Equations are the same where one is a multiple of the other, by one factor at both places. */
function sameEquation(answer: string, gold: string): boolean {
  const factors: Real[] = [];
  for (const place of [0, 1] as const) {
    const a = parseMath(answer, place, true), b = parseMath(gold, place, true);
    if (a?.kind !== "equation" || b?.kind !== "equation") return false;
    if (a.value.approx === 0 || b.value.approx === 0) return a.value.approx === b.value.approx;
    factors.push(divide(a.value, b.value));
  }
  return sameReal(factors[0]!, factors[1]!);
}

export function sameMath(a: MathValue, b: MathValue): boolean {
  if (a.kind === "number" && b.kind === "number") {
    return sameReal(a.value, b.value) || samePercent(a, b) || samePercent(b, a);
  }
  if (a.kind === "text" && b.kind === "text") return a.text === b.text;
  if (a.kind === "set" && b.kind === "set") {
    return within(a.items, b.items) && within(b.items, a.items);
  }
  if (a.kind === "tuple" && b.kind === "tuple") {
    return a.open === b.open && a.close === b.close && sameInOrder(a.items, b.items);
  }
  if (a.kind === "set" && b.kind === "tuple") return sameTuple(a, b);
  return a.kind === "tuple" && b.kind === "set" && sameTuple(b, a);
}

/** A question for a percentage may be answered by 50 or by 50 %. */
function samePercent(a: MathValue, b: MathValue): boolean {
  return a.kind === "number" && b.kind === "number" && a.percent === true && b.percent !== true &&
    sameReal(multiply(a.value, fraction(100n)), b.value);
}

/** Whether the list is the tuple without its brackets. */
function sameTuple(
  list: Extract<MathValue, { kind: "set" }>,
  tuple: Extract<MathValue, { kind: "tuple" }>,
): boolean {
  return list.bare === true && tuple.open === "(" && tuple.close === ")" &&
    sameInOrder(list.items, tuple.items);
}

function sameInOrder(some: readonly MathValue[], others: readonly MathValue[]): boolean {
  return some.length === others.length && some.every((item, i) => sameMath(item, others[i]!));
}

function within(some: readonly MathValue[], all: readonly MathValue[]): boolean {
  return some.every((item) => all.some((other) => sameMath(item, other)));
}
