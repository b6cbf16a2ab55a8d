import assert from "node:assert/strict";
import { RandomStream } from "../../core/philox.ts";
import { sameAnswer } from "./equal.ts";

const { abs, atan, cbrt, cos, exp, floor, hypot, log, max, min, sin, sqrt } = Math;
const root = (x: number) => x < 0 ? NaN : sqrt(x);
const ln = (x: number) => x > 0 ? log(x) : NaN;

/** Functions in float64, each with formulas that have its values. */
const FORMULAS = ([
  [(x, y) => x + y, "x+y"],
  [(x, y) => abs(x) + abs(y), "|x|+|y|", "\\sqrt{x^2}+\\sqrt{y^2}", "\\max(|x+y|,|x-y|)"],
  [(x, y) => abs(x + y), "|x+y|", "\\sqrt{(x+y)^2}", "\\sqrt{x^2+2xy+y^2}"],
  [(x, y) => hypot(x, y), "\\sqrt{x^2+y^2}"],
  [(x, y) => abs(x - y), "|x-y|", "|y-x|", "\\max(x,y)-\\min(x,y)"],
  [(x, y) => abs(x) - abs(y), "|x|-|y|"],
  [(x, y) => abs(abs(x) - abs(y)), "||x|-|y||"],
  [(x, y) => x - y, "x-y"],
  [(x, y) => y - x, "y-x"],
  [max, "\\max(x,y)", "\\frac{x+y+|x-y|}{2}"],
  [min, "\\min(x,y)", "\\frac{x+y-|x-y|}{2}"],
  [(x, y) => max(abs(x), abs(y)), "\\max(|x|,|y|)", "\\frac{|x+y|+|x-y|}{2}"],
  [(x, y) => x * y, "xy"],
  [(x, y) => abs(x * y), "|xy|", "|x||y|", "\\sqrt{x^2y^2}"],
  [(x, y) => abs(x) * y, "|x|y"],
  [(x, y) => root(x) * root(y), "\\sqrt{x}\\sqrt{y}"],
  [(x, y) => root(x * y), "\\sqrt{xy}"],
  [(x, y) => root(abs(x * y)), "\\sqrt{|xy|}", "|x|^{1/2}|y|^{1/2}"],
  [(x, y) => abs(x) * root(y), "\\sqrt{x^2y}", "|x|\\sqrt{y}"],
  [(x, y) => x * root(y), "x\\sqrt{y}"],
  [(x, y) => cbrt(x * y), "\\sqrt[3]{xy}", "\\sqrt[3]{x}\\sqrt[3]{y}"],
  [(x, y) => x / y, "\\frac{x}{y}"],
  [(x, y) => abs(x / y), "\\frac{|x|}{|y|}"],
  [(x, y) => root(x / y), "\\sqrt{\\frac{x}{y}}", "\\frac{\\sqrt{xy}}{|y|}"],
  [(x, y) => root(x * y) / y, "\\frac{\\sqrt{xy}}{y}"],
  [(x, y) => ln(x * y), "\\ln(xy)"],
  [(x, y) => ln(x) + ln(y), "\\ln x+\\ln y"],
  [(x, y) => ln(abs(x)) + ln(abs(y)), "\\ln|x|+\\ln|y|"],
  [(x, y) => ln(abs(x * y)), "\\ln|xy|"],
  [(x, y) => ln(x + y), "\\ln(x+y)"],
  [(x, y) => ln(x) - ln(y), "\\ln x-\\ln y"],
  [(x, y) => ln(x / y), "\\ln\\frac{x}{y}"],
  [(x, y) => exp(x + y), "e^{x+y}", "e^xe^y"],
  [(x, y) => exp(x * y), "e^{xy}", "(e^x)^y"],
  [(x, y) => exp(x) + exp(y), "e^x+e^y"],
  [(x, y) => sin(x + y), "\\sin(x+y)", "\\sin x\\cos y+\\cos x\\sin y"],
  [(x, y) => sin(x) + sin(y), "\\sin x+\\sin y", "2\\sin\\frac{x+y}{2}\\cos\\frac{x-y}{2}"],
  [(x, y) => cos(x - y), "\\cos(x-y)", "\\cos(y-x)", "\\cos x\\cos y+\\sin x\\sin y"],
  [(x, y) => atan(y / x), "\\arctan\\frac{y}{x}"],
  [(x, y) => atan(y) - atan(x), "\\arctan y-\\arctan x"],
  [(x, y) => floor(x + y), "\\lfloor x+y\\rfloor"],
  [(x, y) => floor(x) + floor(y), "\\lfloor x\\rfloor+\\lfloor y\\rfloor"],
  [(x, y) => x + floor(y), "x+\\lfloor y\\rfloor"],
  [(x, y) => (x + y) ** 2, "(x+y)^2", "|x+y|^2"],
  [(x, y) => x * x + y * y, "x^2+y^2"],
  [(x, y) => (x + y) ** 3, "(x+y)^3"],
  [(x, y) => abs(x + y) ** 3, "|x+y|^3"],
  [(x, y) => x * x - y * y, "x^2-y^2", "(x+y)(x-y)"],
  [(x, y) => abs(x * x - y * y), "|x^2-y^2|", "|x+y||x-y|"],
  [(x, y) => root(x * x - y * y), "\\sqrt{x^2-y^2}"],
  [(x, y) => root(x + y) * root(x - y), "\\sqrt{x+y}\\sqrt{x-y}"],
  [(x, y) => root(1 - x * x - y * y), "\\sqrt{1-x^2-y^2}", "\\sqrt{1-(x^2+y^2)}"],
  [(x, y) => root(1 - x * x) * root(1 - y * y), "\\sqrt{1-x^2}\\sqrt{1-y^2}"],
  [(x, y) => root(x + y + 2 * root(x * y)), "\\sqrt{x+y+2\\sqrt{xy}}"],
  [(x, y) => root(x) + root(y), "\\sqrt{x}+\\sqrt{y}"],
  [(x, y) => 1 / (root(x) - root(y)), "\\frac{1}{\\sqrt{x}-\\sqrt{y}}"],
  [(x, y) => 1 / (root(x) - root(y)), "\\frac{\\sqrt{x}+\\sqrt{y}}{x-y}"],
  [(x, y) => abs(x - 1000 * y), "|x-1000y|"],
  [(x, y) => 1000 * y - x, "1000y-x"],
] as [value: (x: number, y: number) => number, ...formulas: string[]][])
  .flatMap(([value, ...formulas]) => formulas.map((formula) => [formula, value] as const));

/** Points of both signs; two thirds have unknowns of about the same size. */
function points(): [number, number][] {
  const random = RandomStream.forPurpose(1, "shuffle", "two unknowns");
  const any = () => (random.chance(0.5) ? -1 : 1) * 10 ** (random.uniform(-1.5, 2));
  return Array.from({ length: 700 }, () => {
    const [x, y] = [any(), any()], near = x * (random.uniform(0.75, 1.25));
    return [[x, y], [x, near], [x, -near]] as [number, number][];
  }).flat();
}

Deno.test("a formula of two unknowns is another one where float64 says so", () => {
  const all = points(), failures: string[] = [];
  for (const [answer, value] of FORMULAS) {
    for (const [gold, wanted] of FORMULAS) {
      const expected = all.every(([x, y]) => {
        const [a, b] = [value(x, y), wanted(x, y)];
        if (!Number.isFinite(b) || abs(b) > 1e100) return true;
        return abs(a - b) <= 1e-6 * max(1e-9, abs(a), abs(b));
      });
      if (sameAnswer(answer, gold) !== expected) failures.push(`${answer} ‖ ${gold}: ${expected}`);
    }
  }
  assert.deepEqual(failures, []);
});
