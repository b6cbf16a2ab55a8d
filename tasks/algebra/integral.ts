/** What the two tasks on indefinite integrals share: the question and the score. */
import type { ScorableEntry } from "../types.ts";
import { isAntiderivative } from "./derivative.ts";
import { NOTATION } from "./formula_text.ts";

export const INTEGRAL_SCORING =
  "1 when the derivative of the answer is the integrand (in any form, with any constant), else 0.";

export function integralQuestion(integrand: string, variable: string): string {
  return `Find the indefinite integral ∫ (${integrand}) d${variable}.\n` +
    `Use the variable ${variable} as it is written here and add the constant as + C. ${NOTATION} ` +
    "Write functions as in exp(x), log(x) (the natural logarithm), sqrt(x), sin(x) and atan(x). " +
    "Answer with the formula only.";
}

/**
 * Some of the original's answers hold an integral that it could not solve, `Integral(f, x)`. Only there such a
 * one is accepted.
 */
export function scoreIntegral(answer: string, entry: ScorableEntry): number {
  const integrand = entry.metadata?.["integrand"], variable = entry.metadata?.["variable"];
  if (typeof integrand !== "string" || typeof variable !== "string") return 0;
  const unsolved = entry.answer?.includes("Integral(") ?? false;
  return isAntiderivative(answer, integrand, variable, unsolved) ? 1 : 0;
}
