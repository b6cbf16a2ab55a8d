import assert from "node:assert/strict";
import { sameAnswer } from "./equal.ts";

const root = (k: number) => (x: number) =>
  k % 2 === 1 ? Math.sign(x) * Math.abs(x) ** (1 / k) : x < 0 ? NaN : x ** (1 / k);
/** Formulas with their values in float64. */
const FORMULAS: readonly (readonly [string, (x: number) => number])[] = [
  ["x", (x) => x],
  ["|x|", Math.abs],
  ["-x", (x) => -x],
  ["\\sqrt{x^2}", Math.abs],
  ["\\sqrt[3]{x^3}", (x) => x],
  ["x^{1/3}", root(3)],
  ["\\sqrt[3]{x}", root(3)],
  ["x^{2/3}", (x) => Math.abs(x) ** (2 / 3)],
  ["\\sqrt[3]{x^2}", (x) => Math.abs(x) ** (2 / 3)],
  ["(\\sqrt[3]{x})^2", (x) => Math.abs(x) ** (2 / 3)],
  ["|x|^{2/3}", (x) => Math.abs(x) ** (2 / 3)],
  ["\\sqrt{x}", root(2)],
  ["\\sqrt{|x|}", (x) => Math.sqrt(Math.abs(x))],
  ["x^{0.5}", root(2)],
  ["\\sqrt[4]{x^2}", (x) => Math.sqrt(Math.abs(x))],
  ["\\sqrt[4]{x}^2", root(2)],
  ["\\frac{x}{\\sqrt{x}}", root(2)],
  ["x\\sqrt{x}", (x) => x * root(2)(x)],
  ["x^{3/2}", (x) => x * root(2)(x)],
  ["\\sqrt{x^3}", (x) => root(2)(x ** 3)],
  ["|x|\\sqrt{x}", (x) => x * root(2)(x)],
  ["\\ln x", (x) => x > 0 ? Math.log(x) : NaN],
  ["\\frac{\\ln x^2}{2}", (x) => Math.log(Math.abs(x))],
  ["\\ln|x|", (x) => Math.log(Math.abs(x))],
  ["2\\ln\\sqrt{x}", (x) => x > 0 ? Math.log(x) : NaN],
  ["\\log x", (x) => x > 0 ? Math.log10(x) : NaN],
  ["\\frac{\\ln x}{\\ln 10}", (x) => x > 0 ? Math.log10(x) : NaN],
  ["\\log_2 x", (x) => x > 0 ? Math.log2(x) : NaN],
  ["\\ln(2x)", (x) => x > 0 ? Math.log(2 * x) : NaN],
  ["\\ln 2+\\ln x", (x) => x > 0 ? Math.log(2 * x) : NaN],
  ["2\\ln x", (x) => x > 0 ? 2 * Math.log(x) : NaN],
  ["(\\ln x)^2", (x) => x > 0 ? Math.log(x) ** 2 : NaN],
  ["\\ln^2 x", (x) => x > 0 ? Math.log(x) ** 2 : NaN],
  ["e^{\\ln x}", (x) => x > 0 ? x : NaN],
  ["\\ln e^x", (x) => x],
  ["e^x", Math.exp],
  ["e^{-x}", (x) => Math.exp(-x)],
  ["\\frac{1}{e^x}", (x) => Math.exp(-x)],
  ["e^{2x}", (x) => Math.exp(2 * x)],
  ["(e^x)^2", (x) => Math.exp(2 * x)],
  ["e^{x^2}", (x) => Math.exp(x * x)],
  ["2^x", (x) => 2 ** x],
  ["4^{x/2}", (x) => 2 ** x],
  ["e^{x\\ln 2}", (x) => 2 ** x],
  ["2^{-x}", (x) => 2 ** -x],
  ["(1/2)^x", (x) => 2 ** -x],
  ["\\cosh x", Math.cosh],
  ["\\frac{e^x+e^{-x}}{2}", Math.cosh],
  ["\\sinh x", Math.sinh],
  ["\\cosh x+\\sinh x", Math.exp],
  ["\\tanh x", Math.tanh],
  ["\\sin x", Math.sin],
  ["\\cos x", Math.cos],
  ["\\cos(x-\\frac{\\pi}{2})", Math.sin],
  ["\\sin(-x)", (x) => -Math.sin(x)],
  ["\\cos(-x)", Math.cos],
  ["\\sin(x+\\pi)", (x) => -Math.sin(x)],
  ["\\sin(x+2\\pi)", Math.sin],
  ["\\sin 2x", (x) => Math.sin(2 * x)],
  ["2\\sin x\\cos x", (x) => Math.sin(2 * x)],
  ["\\sin^2 x", (x) => Math.sin(x) ** 2],
  ["\\frac{1-\\cos 2x}{2}", (x) => Math.sin(x) ** 2],
  ["\\sin x^2", (x) => Math.sin(x * x)],
  ["|\\sin x|", (x) => Math.abs(Math.sin(x))],
  ["\\sqrt{1-\\cos^2 x}", (x) => Math.abs(Math.sin(x))],
  ["\\sin|x|", (x) => Math.sin(Math.abs(x))],
  ["\\cos|x|", Math.cos],
  ["\\tan x", Math.tan],
  ["\\frac{\\sin x}{\\cos x}", Math.tan],
  ["\\frac{\\sin 2x}{1+\\cos 2x}", Math.tan],
  ["\\frac{1}{\\cot x}", Math.tan],
  ["\\sec x", (x) => 1 / Math.cos(x)],
  ["\\arctan x", Math.atan],
  ["\\tan^{-1} x", Math.atan],
  ["\\sin^{-1}(x)", Math.asin],
  ["\\cos^{-1}x", Math.acos],
  ["(\\sin x)^{-1}", (x) => 1 / Math.sin(x)],
  ["\\arcsin x", Math.asin],
  ["\\arccos x", Math.acos],
  ["\\frac{\\pi}{2}-\\arccos x", Math.asin],
  ["\\arctan(\\tan x)", (x) => Math.atan(Math.tan(x))],
  ["\\sin(\\arcsin x)", (x) => Math.abs(x) <= 1 ? x : NaN],
  ["\\arcsin(\\sin x)", (x) => Math.asin(Math.sin(x))],
  ["\\arctan x+\\arctan\\frac1x", (x) => Math.atan(x) + Math.atan(1 / x)],
  ["\\frac{\\pi}{2}", () => Math.PI / 2],
  ["\\lfloor x\\rfloor", Math.floor],
  ["\\lceil x\\rceil", Math.ceil],
  ["-\\lfloor -x\\rfloor", Math.ceil],
  ["\\lfloor x\\rfloor+1", (x) => Math.floor(x) + 1],
  ["x-\\lfloor x\\rfloor", (x) => x - Math.floor(x)],
  ["\\lfloor x+1\\rfloor", (x) => Math.floor(x + 1)],
  ["\\lfloor 2x\\rfloor", (x) => Math.floor(2 * x)],
  ["2\\lfloor x\\rfloor", (x) => 2 * Math.floor(x)],
  ["\\lfloor x\\rfloor+\\lfloor x+\\frac12\\rfloor", (x) => Math.floor(2 * x)],
  ["\\max(x,0)", (x) => Math.max(x, 0)],
  ["\\frac{x+|x|}{2}", (x) => Math.max(x, 0)],
  ["\\min(x,0)", (x) => Math.min(x, 0)],
  ["\\max(x,-x)", Math.abs],
  ["\\max(x,x^2)", (x) => Math.max(x, x * x)],
  ["x^2", (x) => x * x],
  ["|x|^2", (x) => x * x],
  ["x|x|", (x) => x * Math.abs(x)],
  ["\\max(x,1)", (x) => Math.max(x, 1)],
  ["\\max(\\min(x,1),0)", (x) => Math.max(Math.min(x, 1), 0)],
  ["\\frac{|x|-|x-1|+1}{2}", (x) => Math.max(Math.min(x, 1), 0)],
  ["|x-1|+|x+1|", (x) => Math.abs(x - 1) + Math.abs(x + 1)],
  ["2\\max(|x|,1)", (x) => 2 * Math.max(Math.abs(x), 1)],
  ["2|x|", (x) => 2 * Math.abs(x)],
  ["|2x|", (x) => 2 * Math.abs(x)],
  ["|x^2-1|", (x) => Math.abs(x * x - 1)],
  ["|x-1||x+1|", (x) => Math.abs(x * x - 1)],
  ["x^2-1", (x) => x * x - 1],
  ["1-x^2", (x) => 1 - x * x],
  ["|x|^2-1", (x) => x * x - 1],
  ["||x|-1|", (x) => Math.abs(Math.abs(x) - 1)],
  ["|x|-1", (x) => Math.abs(x) - 1],
  ["\\sqrt{x^4}", (x) => x * x],
  ["\\sqrt{x^2+1}", (x) => Math.hypot(x, 1)],
  ["|x|+1", (x) => Math.abs(x) + 1],
  ["\\sqrt{(|x|+1)^2}", (x) => Math.abs(x) + 1],
  ["\\sqrt{x^2+2x+1}", (x) => Math.abs(x + 1)],
  ["x+1", (x) => x + 1],
  ["|x+1|", (x) => Math.abs(x + 1)],
  ["\\frac{x^2-1}{x-1}", (x) => x + 1],
  ["\\frac{|x|}{x}", (x) => Math.sign(x)],
  ["1", () => 1],
  ["\\frac{x}{|x|}", (x) => Math.sign(x)],
  ["\\sqrt{x-2}\\sqrt{x+2}", (x) => x >= 2 ? Math.sqrt(x * x - 4) : NaN],
  ["\\sqrt{x^2-4}", (x) => x * x >= 4 ? Math.sqrt(x * x - 4) : NaN],
  ["\\sqrt{4-x^2}", (x) => x * x <= 4 ? Math.sqrt(4 - x * x) : NaN],
  ["\\sqrt{2-x}\\sqrt{2+x}", (x) => x * x <= 4 ? Math.sqrt(4 - x * x) : NaN],
  ["\\sqrt{x^2+10^{-12}}", (x) => Math.abs(x) + (1e-3)],
  ["x+10^{-20}", (x) => x + .001],
  ["|x|^{3}", (x) => Math.abs(x) ** 3],
  ["x^3", (x) => x ** 3],
  ["\\sqrt{x^6}", (x) => Math.abs(x) ** 3],
  ["x^0", () => 1],
  ["x^{-1}", (x) => 1 / x],
  ["\\frac1x", (x) => 1 / x],
  ["\\frac{1}{|x|}", (x) => 1 / Math.abs(x)],
];

/** Points from 10⁻³ to 10³ of both signs. */
const POINTS = Array.from({ length: 400 }, (_, i) => [
  (i % 2 === 1 ? 1 : -1) * 10 ** ((i % 40) / 8 - 2.5) * (1 + ((i * 0.618) % 1)),
  ((i * 0.7548) % 8) - 4.0001,
]).flat();

/** Whether a formula has the gold formula's value wherever that is real. */
function agrees(answer: (x: number) => number, gold: (x: number) => number): boolean {
  return POINTS.every((x) => {
    const wanted = gold(x), value = answer(x);
    if (!Number.isFinite(wanted)) return true;
    return Math.abs(value - wanted) <= 1e-8 * Math.max(1e-12, Math.abs(value), Math.abs(wanted));
  });
}

Deno.test("a formula is another one where float64 says so at 800 points", () => {
  const failures: string[] = [];
  FORMULAS.forEach(([answer, value], i) =>
    FORMULAS.forEach(([gold, wanted], k) => {
      const expected = agrees(value, wanted);
      // All pairs that are equal, and one in three of the others.
      if (!expected && (i + k) % 3 > 0) return;
      if (sameAnswer(answer, gold) !== expected) failures.push(`${answer} ‖ ${gold}: ${expected}`);
    })
  );
  assert.deepEqual(failures, []);
});

/** Each line is one number. */
const NUMBERS: readonly (readonly string[])[] = [
  [
    "0",
    "\\sin\\pi",
    "\\tan 0",
    "\\cos\\frac{\\pi}{2}",
    "\\ln 1",
    "\\pi-4\\arctan 1",
    "\\sqrt8-2\\sqrt2",
  ],
  ["1", "-e^{i\\pi}", "i^4", "\\cos^2 5+\\sin^2 5", "\\tan 20^\\circ\\tan 70^\\circ"],
  ["1+10^{-40}"],
  ["1", "\\sqrt[3]{2+\\sqrt5}+\\sqrt[3]{2-\\sqrt5}", "\\tan\\frac{\\pi}{4}"],
  [
    "2",
    "\\sqrt2^{2}",
    "(\\sqrt2^{\\sqrt2})^{\\sqrt2}",
    "\\frac{\\sqrt{8}}{\\sqrt{2}}",
    "10^{\\log 2}",
  ],
  ["\\sqrt{4+10^{-40}}"],
  ["3", "2^{\\log_2 3}", "27^{1/3}", "\\log 1000", "e^{\\ln 3}", "|3e^{5i}|"],
  ["\\frac12", "\\sin\\frac{5\\pi}{6}", "\\cos 36^\\circ-\\cos 72^\\circ", "\\sin 30^\\circ"],
  ["\\frac14", "\\cos 36^\\circ\\cos 72^\\circ", "0.25"],
  ["0.25000001"],
  [
    "\\frac18",
    "\\cos 20^\\circ\\cos 40^\\circ\\cos 80^\\circ",
    "\\sin 10^\\circ\\sin 50^\\circ\\sin 70^\\circ",
  ],
  [
    "\\frac{\\sqrt6-\\sqrt2}{4}",
    "\\sin\\frac{\\pi}{12}",
    "\\cos 75^\\circ",
    "\\frac{\\sqrt{2-\\sqrt3}}{2}",
  ],
  ["\\frac{1+\\sqrt5}{2}", "2\\cos\\frac{\\pi}{5}", "\\sqrt{\\frac{3+\\sqrt5}{2}}", "1.6180339887"],
  ["1.6180339888"],
  [
    "1+\\sqrt2",
    "\\cot\\frac{\\pi}{8}",
    "\\sqrt[3]{7+5\\sqrt2}",
    "\\frac{1}{\\sqrt2-1}",
    "\\sqrt{3+2\\sqrt2}",
  ],
  ["\\sqrt2+\\sqrt3", "\\sqrt{5+2\\sqrt6}"],
  [
    "\\pi",
    "4\\arctan 1",
    "16\\arctan\\frac15-4\\arctan\\frac{1}{239}",
    "\\arccos(-1)",
    "3.14159265358979323846264338327950288",
  ],
  ["3.141592655"],
  ["\\frac{22}{7}"],
  ["\\frac{355}{113}"],
  ["\\ln(640320^3+744)\\div\\sqrt{163}"],
  ["\\ln 2", "-\\ln\\frac12", "\\frac{\\ln 4}{2}"],
  ["\\log_2 3", "\\log_4 9", "\\log_{\\frac12}\\frac13", "\\frac{\\log 3}{\\log 2}"],
  ["e", "\\exp(1)", "e^{1}", "2.718281828"],
  ["2.718281829"],
  ["e^{\\pi}"],
  ["\\pi^e"],
  ["\\frac34", "\\sinh(\\ln 2)"],
  ["\\sqrt{10^{20}+1}-10^{10}", "\\frac{1}{\\sqrt{10^{20}+1}+10^{10}}"],
  ["\\frac{1}{2\\cdot10^{10}}"],
  ["10^{400}"],
  ["\\infty"],
  ["-\\infty"],
  ["10^{-400}"],
  ["\\sqrt2\\cdot10^{-400}"],
  ["2i", "(1+i)^2", "\\sqrt{-4}"],
  ["-2i"],
];

Deno.test("numbers in closed form are equal where they are the same number", () => {
  const failures: string[] = [];
  NUMBERS.forEach((some, i) =>
    NUMBERS.forEach((others, k) => {
      // Two lines may begin with the same number.
      const expected = some === others || (some[0] === others[0]);
      for (const answer of some) {
        for (const gold of others) {
          if (sameAnswer(answer, gold) !== expected) {
            failures.push(`${i} ${k}: ${answer} ‖ ${gold}`);
          }
        }
      }
    })
  );
  assert.deepEqual(failures, []);
});
