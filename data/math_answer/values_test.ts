/** Formulas and functions in float64: two formulas are the same answer where the values agree. */
import assert from "node:assert/strict";
import { RandomStream } from "../../core/philox.ts";
import { sameAnswer } from "./equal.ts";

/** A function, with formulas that have its values. */
type Row = [value: (x: number, y: number) => number, ...formulas: string[]];

const root = (k: number) => (x: number) =>
  k % 2 === 1 ? Math.sign(x) * Math.abs(x) ** (1 / k) : x < 0 ? NaN : x ** (1 / k);
/** Functions of one unknown. */
const OF_ONE: Row[] = [
  [(x) => x, "x", "\\sqrt[3]{x^3}", "\\ln e^x"],
  [Math.abs, "|x|", "\\sqrt{x^2}", "\\max(x,-x)"],
  [(x) => -x, "-x"],
  [root(3), "x^{1/3}", "\\sqrt[3]{x}"],
  [(x) => Math.abs(x) ** (2 / 3), "x^{2/3}", "\\sqrt[3]{x^2}", "(\\sqrt[3]{x})^2", "|x|^{2/3}"],
  [root(2), "\\sqrt{x}", "x^{0.5}", "\\sqrt[4]{x}^2", "\\frac{x}{\\sqrt{x}}"],
  [(x) => Math.sqrt(Math.abs(x)), "\\sqrt{|x|}", "\\sqrt[4]{x^2}"],
  [(x) => x * root(2)(x), "x\\sqrt{x}", "x^{3/2}", "|x|\\sqrt{x}"],
  [(x) => root(2)(x ** 3), "\\sqrt{x^3}"],
  [(x) => x > 0 ? Math.log(x) : NaN, "\\ln x", "2\\ln\\sqrt{x}"],
  [(x) => Math.log(Math.abs(x)), "\\frac{\\ln x^2}{2}", "\\ln|x|"],
  [(x) => x > 0 ? Math.log10(x) : NaN, "\\log x", "\\frac{\\ln x}{\\ln 10}"],
  [(x) => x > 0 ? Math.log2(x) : NaN, "\\log_2 x"],
  [(x) => x > 0 ? Math.log(2 * x) : NaN, "\\ln(2x)", "\\ln 2+\\ln x"],
  [(x) => x > 0 ? 2 * Math.log(x) : NaN, "2\\ln x"],
  [(x) => x > 0 ? Math.log(x) ** 2 : NaN, "(\\ln x)^2", "\\ln^2 x"],
  [(x) => x > 0 ? x : NaN, "e^{\\ln x}"],
  [Math.exp, "e^x", "\\cosh x+\\sinh x"],
  [(x) => Math.exp(-x), "e^{-x}", "\\frac{1}{e^x}"],
  [(x) => Math.exp(2 * x), "e^{2x}", "(e^x)^2"],
  [(x) => Math.exp(x * x), "e^{x^2}"],
  [(x) => 2 ** x, "2^x", "4^{x/2}", "e^{x\\ln 2}"],
  [(x) => 2 ** -x, "2^{-x}", "(1/2)^x"],
  [Math.cosh, "\\cosh x", "\\frac{e^x+e^{-x}}{2}"],
  [Math.sinh, "\\sinh x"],
  [Math.tanh, "\\tanh x"],
  [Math.sin, "\\sin x", "\\cos(x-\\frac{\\pi}{2})", "\\sin(x+2\\pi)"],
  [Math.cos, "\\cos x", "\\cos(-x)", "\\cos|x|"],
  [(x) => -Math.sin(x), "\\sin(-x)", "\\sin(x+\\pi)"],
  [(x) => Math.sin(2 * x), "\\sin 2x", "2\\sin x\\cos x"],
  [(x) => Math.sin(x) ** 2, "\\sin^2 x", "\\frac{1-\\cos 2x}{2}"],
  [(x) => Math.sin(x * x), "\\sin x^2"],
  [(x) => Math.abs(Math.sin(x)), "|\\sin x|", "\\sqrt{1-\\cos^2 x}"],
  [(x) => Math.sin(Math.abs(x)), "\\sin|x|"],
  [Math.tan, "\\tan x", "\\frac{\\sin x}{\\cos x}", "\\frac{\\sin 2x}{1+\\cos 2x}"],
  [Math.tan, "\\frac{1}{\\cot x}"],
  [(x) => 1 / Math.cos(x), "\\sec x"],
  [Math.atan, "\\arctan x", "\\tan^{-1} x"],
  [Math.asin, "\\sin^{-1}(x)", "\\arcsin x", "\\frac{\\pi}{2}-\\arccos x"],
  [Math.acos, "\\cos^{-1}x", "\\arccos x"],
  [(x) => 1 / Math.sin(x), "(\\sin x)^{-1}"],
  [(x) => Math.atan(Math.tan(x)), "\\arctan(\\tan x)"],
  [(x) => Math.abs(x) <= 1 ? x : NaN, "\\sin(\\arcsin x)"],
  [(x) => Math.asin(Math.sin(x)), "\\arcsin(\\sin x)"],
  [(x) => Math.atan(x) + Math.atan(1 / x), "\\arctan x+\\arctan\\frac1x"],
  [() => Math.PI / 2, "\\frac{\\pi}{2}"],
  [Math.floor, "\\lfloor x\\rfloor"],
  [Math.ceil, "\\lceil x\\rceil", "-\\lfloor -x\\rfloor"],
  [(x) => Math.floor(x) + 1, "\\lfloor x\\rfloor+1"],
  [(x) => x - Math.floor(x), "x-\\lfloor x\\rfloor"],
  [(x) => Math.floor(x + 1), "\\lfloor x+1\\rfloor"],
  [(x) => Math.floor(2 * x), "\\lfloor 2x\\rfloor"],
  [(x) => Math.floor(2 * x), "\\lfloor x\\rfloor+\\lfloor x+\\frac12\\rfloor"],
  [(x) => 2 * Math.floor(x), "2\\lfloor x\\rfloor"],
  [(x) => Math.max(x, 0), "\\max(x,0)", "\\frac{x+|x|}{2}"],
  [(x) => Math.min(x, 0), "\\min(x,0)"],
  [(x) => Math.max(x, x * x), "\\max(x,x^2)"],
  [(x) => x * x, "x^2", "|x|^2", "\\sqrt{x^4}"],
  [(x) => x * Math.abs(x), "x|x|"],
  [(x) => Math.max(x, 1), "\\max(x,1)"],
  [(x) => Math.max(Math.min(x, 1), 0), "\\max(\\min(x,1),0)", "\\frac{|x|-|x-1|+1}{2}"],
  [(x) => Math.abs(x - 1) + Math.abs(x + 1), "|x-1|+|x+1|"],
  [(x) => 2 * Math.max(Math.abs(x), 1), "2\\max(|x|,1)"],
  [(x) => 2 * Math.abs(x), "2|x|", "|2x|"],
  [(x) => Math.abs(x * x - 1), "|x^2-1|", "|x-1||x+1|"],
  [(x) => x * x - 1, "x^2-1", "|x|^2-1"],
  [(x) => 1 - x * x, "1-x^2"],
  [(x) => Math.abs(Math.abs(x) - 1), "||x|-1|"],
  [(x) => Math.abs(x) - 1, "|x|-1"],
  [(x) => Math.hypot(x, 1), "\\sqrt{x^2+1}"],
  [(x) => Math.abs(x) + 1, "|x|+1", "\\sqrt{(|x|+1)^2}"],
  [(x) => Math.abs(x + 1), "\\sqrt{x^2+2x+1}", "|x+1|"],
  [(x) => x + 1, "x+1", "\\frac{x^2-1}{x-1}"],
  [(x) => Math.sign(x), "\\frac{|x|}{x}", "\\frac{x}{|x|}"],
  [() => 1, "1", "x^0"],
  [(x) => x >= 2 ? Math.sqrt(x * x - 4) : NaN, "\\sqrt{x-2}\\sqrt{x+2}"],
  [(x) => x * x >= 4 ? Math.sqrt(x * x - 4) : NaN, "\\sqrt{x^2-4}"],
  [(x) => x * x <= 4 ? Math.sqrt(4 - x * x) : NaN, "\\sqrt{4-x^2}", "\\sqrt{2-x}\\sqrt{2+x}"],
  [(x) => Math.abs(x) + (1e-3), "\\sqrt{x^2+10^{-12}}"],
  [(x) => x + .001, "x+10^{-20}"],
  [(x) => Math.abs(x) ** 3, "|x|^{3}", "\\sqrt{x^6}"],
  [(x) => x ** 3, "x^3"],
  [(x) => 1 / x, "x^{-1}", "\\frac1x"],
  [(x) => 1 / Math.abs(x), "\\frac{1}{|x|}"],
];

const { abs, atan, cbrt, cos, exp, floor, hypot, log, max, min, sin, sqrt } = Math;
const real = (x: number) => x < 0 ? NaN : sqrt(x);
const ln = (x: number) => x > 0 ? log(x) : NaN;

/** Functions of two unknowns. */
const OF_TWO: Row[] = [
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
  [(x, y) => real(x) * real(y), "\\sqrt{x}\\sqrt{y}"],
  [(x, y) => real(x * y), "\\sqrt{xy}"],
  [(x, y) => real(abs(x * y)), "\\sqrt{|xy|}", "|x|^{1/2}|y|^{1/2}"],
  [(x, y) => abs(x) * real(y), "\\sqrt{x^2y}", "|x|\\sqrt{y}"],
  [(x, y) => x * real(y), "x\\sqrt{y}"],
  [(x, y) => cbrt(x * y), "\\sqrt[3]{xy}", "\\sqrt[3]{x}\\sqrt[3]{y}"],
  [(x, y) => x / y, "\\frac{x}{y}"],
  [(x, y) => abs(x / y), "\\frac{|x|}{|y|}"],
  [(x, y) => real(x / y), "\\sqrt{\\frac{x}{y}}", "\\frac{\\sqrt{xy}}{|y|}"],
  [(x, y) => real(x * y) / y, "\\frac{\\sqrt{xy}}{y}"],
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
  [(x, y) => real(x * x - y * y), "\\sqrt{x^2-y^2}"],
  [(x, y) => real(x + y) * real(x - y), "\\sqrt{x+y}\\sqrt{x-y}"],
  [(x, y) => real(1 - x * x - y * y), "\\sqrt{1-x^2-y^2}", "\\sqrt{1-(x^2+y^2)}"],
  [(x, y) => real(1 - x * x) * real(1 - y * y), "\\sqrt{1-x^2}\\sqrt{1-y^2}"],
  [(x, y) => real(x + y + 2 * real(x * y)), "\\sqrt{x+y+2\\sqrt{xy}}"],
  [(x, y) => real(x) + real(y), "\\sqrt{x}+\\sqrt{y}"],
  [(x, y) => 1 / (real(x) - real(y)), "\\frac{1}{\\sqrt{x}-\\sqrt{y}}"],
  [(x, y) => 1 / (real(x) - real(y)), "\\frac{\\sqrt{x}+\\sqrt{y}}{x-y}"],
  [(x, y) => abs(x - 1000 * y), "|x-1000y|"],
  [(x, y) => 1000 * y - x, "1000y-x"],
];

/** Points from 10⁻³ to 10³ of both signs. */
const POINTS = Array.from({ length: 400 }, (_, i) => [
  (i % 2 === 1 ? 1 : -1) * 10 ** ((i % 40) / 8 - 2.5) * (1 + ((i * 0.618) % 1)),
  ((i * 0.7548) % 8) - 4.0001,
]).flat().map((x): [number, number] => [x, NaN]);

/** Points of both signs; two thirds have unknowns of about the same size. */
function pairsOfUnknowns(): [number, number][] {
  const random = RandomStream.forPurpose(1, "shuffle", "two unknowns");
  const any = () => (random.chance(0.5) ? -1 : 1) * 10 ** (random.uniform(-1.5, 2));
  return Array.from({ length: 700 }, () => {
    const [x, y] = [any(), any()], near = x * (random.uniform(0.75, 1.25));
    return [[x, y], [x, near], [x, -near]] as [number, number][];
  }).flat();
}

/** Whether a formula has the gold formula's value wherever that is real. */
function agree(answer: Float64Array, gold: Float64Array, error: number): boolean {
  return gold.every((wanted, i) => {
    if (!Number.isFinite(wanted) || abs(wanted) > 1e100) return true;
    const size = max(1e-4 * error, abs(answer[i]!), abs(wanted));
    return abs(answer[i]! - wanted) <= error * size;
  });
}

/** Compares all pairs that are equal, and one in ten of the others. */
function failures(rows: readonly Row[], points: readonly [number, number][], error: number) {
  const formulas = rows.flatMap(([value, ...texts]) => {
    const values = Float64Array.from(points, ([x, y]) => value(x, y));
    return texts.map((text) => ({ text, values }));
  });
  return formulas.flatMap((answer, i) =>
    formulas.flatMap((gold, k) => {
      const expected = agree(answer.values, gold.values, error);
      if (!expected && (i + k) % 10 > 0) return [];
      if (sameAnswer(answer.text, gold.text) === expected) return [];
      return [`${answer.text} ‖ ${gold.text}: ${expected}`];
    })
  );
}

Deno.test("a formula of one unknown is another one where float64 says so", () => {
  assert.deepEqual(failures(OF_ONE, POINTS, 1e-8), []);
});

Deno.test("a formula of two unknowns is another one where float64 says so", () => {
  assert.deepEqual(failures(OF_TWO, pairsOfUnknowns(), 1e-6), []);
});
