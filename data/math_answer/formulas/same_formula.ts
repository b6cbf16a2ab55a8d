/**
 * Whether two formulas are equal. Those with unknowns are compared at many points: they are equal
 * when the answer has the gold answer's value at every point where the gold answer is real. So
 * √a·√b may be answered by √(ab), which is real at more points, but |x| not by (√x)².
 */
import * as balls from "../numbers/ball.ts";
import { type Complex, divide, isReal, subtract } from "../numbers/complex.ts";
import { evaluate, type Place, Undecided, WORK } from "./evaluate.ts";
import { type Expr, hasNames, infinite, namesOf, nodes, written } from "./expression.ts";
import { isExact, signOf, toBall } from "../numbers/real.ts";
import { depthOf, sameNumber } from "./same_number.ts";
import { pointsFor } from "./unknowns.ts";

/** Minimum number of points that must decide. */
const ENOUGH = 4;
/** The number of functions that are tried for an unknown function. */
const VARIANTS = 6;
const BITS = 160, AGREEING_BITS = 100;
/** Formulas whose constants need more bits are equal only if they are written the same way. */
const MAX_BITS = 8000;
/** Of one comparison, for all its points. */
const TOTAL_WORK = 3 * WORK;

export function sameFormula(answer: Expr, gold: Expr): boolean {
  if (infinite(answer) !== 0 || infinite(gold) !== 0) return sameNumber(answer, gold);
  const unknowns = [hasNames(answer), hasNames(gold)];
  if (!unknowns[0] && !unknowns[1]) return sameNumber(answer, gold);
  if (written(answer) === written(gold)) return true;
  return everywhere(answer, gold, agree);
}

/**
 * Whether answer = c·gold with one constant c ≠ 0.
 * @param positive c must be positive
 */
export function proportional(answer: Expr, gold: Expr, positive: boolean): boolean {
  if (!hasNames(answer) || !hasNames(gold)) return false;
  if (written(answer) === written(gold)) return true;
  let first: Complex | null = null;
  return everywhere(answer, gold, (a, b, bits, agreeing) => {
    if (isZero(a, bits) || isZero(b, bits)) return isZero(a, bits) && isZero(b, bits);
    const ratio = divide(a, b, bits);
    if (positive && !(isReal(ratio) && signOf(ratio.re) === 1)) return false;
    first ??= ratio;
    return agree(ratio, first, bits, agreeing);
  });
}

/** null: the two are too close for the precision. */
type Same = (a: Complex, b: Complex, bits: number, agreeing: number) => boolean | null;

function everywhere(answer: Expr, gold: Expr, same: Same): boolean {
  const parts: Expr[] = [];
  for (const expr of [answer, gold]) if (isConstant(expr, parts)) parts.push(expr);
  const depth = Math.max(...parts.map(depthOf), 0);
  // Such constants show in 2·depth bits; the usual ones show anyway.
  const more = Math.max(0, 2 * depth - AGREEING_BITS);
  if (more > MAX_BITS) return false;
  const names = namesOf(answer, gold);
  const points = names.length === 0
    ? Array.from({ length: VARIANTS }, () => new Map())
    : pointsFor(names, [answer, gold], written(gold).slice(0, 500));
  const complex = [...nodes(gold)].some((node) => node.kind === "constant" && node.name === "i");
  const work = { left: TOTAL_WORK };
  let equal = 0, unclear = 0;
  for (const [i, point] of points.entries()) {
    const place = { bits: BITS, point, work, variant: i % VARIANTS, leftReals: false };
    const verdict = at(place, answer, gold, complex, same, more);
    if (work.left < 0 || verdict === false) return false;
    if (verdict === true) equal++;
    else if (verdict === null) unclear++;
  }
  // Where large numbers cancel, a point may stay unclear.
  return equal >= Math.min(ENOUGH, points.length) && equal > 4 * unclear;
}

/** null: unclear; "outside": the gold answer is not real there. */
function at(
  place: Place,
  answer: Expr,
  gold: Expr,
  complex: boolean,
  same: Same,
  more: number,
): boolean | "outside" | null {
  let verdict: boolean | null = null;
  for (const bits of [BITS + more, 3 * BITS + more]) {
    place.bits = bits;
    place.leftReals = false;
    const b = valueAt(gold, place);
    if (b === "unknown" || b === null || (place.leftReals && !complex)) return "outside";
    const a = valueAt(answer, place);
    if (a === "unknown") return false;
    verdict = a === null ? null : safely(() => same(a, b, bits, AGREEING_BITS + more));
    if (verdict !== null) return verdict;
    if (a === null && bits > BITS + more) return false;
  }
  return null;
}

/** null: there is no value at this point. */
function valueAt(expr: Expr, place: Place): Complex | "unknown" | null {
  try {
    return evaluate(expr, place);
  } catch (error) {
    if (error instanceof Undecided) return "unknown";
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function safely(test: () => boolean | null): boolean | null {
  try {
    return test();
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Collects the largest parts without unknowns. @returns whether the whole formula has none */
function isConstant(expr: Expr, parts: Expr[]): boolean {
  if (!("args" in expr)) return expr.kind !== "name";
  const constant = expr.args.map((arg) => isConstant(arg, parts));
  if (expr.kind === "call" && constant.every(Boolean)) return true;
  parts.push(...expr.args.filter((_, i) => constant[i]));
  return false;
}

/** Equal exactly or, where balls meet, to so many bits; null where balls are too wide. */
function agree(a: Complex, b: Complex, bits: number, agreeing: number): boolean | null {
  const difference = subtract(a, b, bits), parts = [difference.re, difference.im];
  const signs = parts.map(signOf);
  if (signs.some((sign) => sign === 1 || sign === -1)) return false;
  const scale = Math.max(...[a.re, a.im, b.re, b.im].map((part) => balls.topBit(toBall(part, 64))));
  const close = parts.every((part) =>
    isExact(part) || signOf(part) === 0 || balls.topBit(part) < Math.max(scale, -20) - agreeing
  );
  return close ? true : null;
}

function isZero({ re, im }: Complex, bits: number): boolean {
  return [re, im].every((part) => {
    const sign = signOf(part);
    return sign === 0 || (sign === null && !isExact(part) && balls.topBit(part) < -bits / 2);
  });
}
