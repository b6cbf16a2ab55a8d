/** The question and the score that both tasks on indefinite integrals share. */
import type { ScorableEntry } from "../../types.ts";
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
 * Scores an antiderivative. Some right answers of the original contain an integral that it could
 * not solve, `Integral(f, x)`. Such an integral is accepted only when the right answer contains
 * one.
 */
export function scoreIntegral(answer: string, entry: ScorableEntry): number {
  const integrand = entry.metadata?.["integrand"], variable = entry.metadata?.["variable"];
  if (typeof integrand !== "string" || typeof variable !== "string") return 0;
  const unsolved = entry.answer?.includes("Integral(") ?? false;
  return isAntiderivative(answer, integrand, variable, unsolved) ? 1 : 0;
}
