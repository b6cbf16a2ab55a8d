import assert from "node:assert/strict";
import { isAntiderivative } from "./integral.ts";
import { isExpanded } from "./polynomial_multiplication.ts";
import { parseFormula } from "../../python/formulas.ts";
import { realRoots } from "./polynomial_equations.ts";

Deno.test("formulas are read as in Python, and nothing else is a formula", () => {
  for (
    const text of ["-x**2", "2**-1", "+-x", "f(x, y)", "1.5e-3*x", ".5", "x\t+ 1", " (((x))) "]
  ) {
    assert.notEqual(parseFormula(text), null, text);
  }
  const wrong = [
    "",
    "2x",
    "x^2",
    "x +",
    "(x",
    "x)",
    "x y",
    "f()",
    "x.y",
    "1 2",
    "x = 1",
    "x!",
    "$x$",
    "x\n+1",
  ];
  for (const text of [...wrong, "(".repeat(1e5), "sin x", "x,y", "\\frac{1}{2}"]) {
    assert.equal(parseFormula(text), null, text.slice(0, 20));
  }
});

Deno.test("an antiderivative may have any form and any constant", () => {
  const right: [answer: string, integrand: string][] = [
    ["x**2", "2*x"],
    ["x**2 + K - 7", "2*x"],
    ["-cos(2*x)/2 + C", "2*sin(x)*cos(x)"],
    ["sin(x)**2", "sin(2*x)"],
    ["log(3*x)", "1/x"],
    ["ln(Abs(x)) + C", "1/x"],
    ["(exp(x) - E**(-x))/2", "cosh(x)"],
    ["2**x/log(2)", "2**x"],
    ["x**x", "x**x*(log(x) + 1)"],
    ["atan(x) + acot(x) + x", "1"],
    ["log(tan(x/2))", "csc(x)"],
    ["-(2*x - 9)**1.5/3", "-sqrt(2*x - 9)"],
    ["asin(3*x)/3", "1/sqrt(1 - 9*x**2)"],
    ["(x - 1000)**(3/2)*2/3", "sqrt(x - 1000)"],
    ["exp(-x - 300)*-1", "exp(-x - 300)"],
    ["log(x, 2)*log(2)", "1/x"],
  ];
  for (const [answer, integrand] of right) {
    assert.ok(isAntiderivative(answer, integrand, "x"), `${answer} of ${integrand}`);
  }
  const wrong: [answer: string, integrand: string][] = [
    ["x**2 + C*x", "2*x"],
    ["X**2", "2*x"],
    ["x**2*1.00001", "2*x"],
    ["0", "exp(-x - 300)"],
    ["10**30*x + x - 10**30*x", "2*x"],
    ["unknown(x)", "2*x"],
    ["Integral(2*x, x)", "2*x"],
    ["x**2 + sqrt(-1 - x**2)", "2*x"],
    ["sqrt(-1 - x**2)", "2*x"],
  ];
  for (const [answer, integrand] of wrong) {
    assert.ok(!isAntiderivative(answer, integrand, "x"), `${answer} of ${integrand}`);
  }
});

Deno.test("a polynomial counts as expanded unless sums are multiplied", () => {
  const oracle = "2*x**2*y - 4*x + 6";
  for (
    const answer of [
      "6 + 2*x*y*x - 4*x",
      "2*(x**2*y - 2*x + 3)",
      "-(4*x - 6 - 2*y*x**2)",
      "(4*x**2*y - 8*x + 12)/2",
      "x*2*x*y - x - x - x - x + 3 + 3 + 0",
      "2*x**3*y/x - 4*x**1 + 2*3",
      "(x + x)*(x*y) - 4*x + 12/2",
    ]
  ) assert.ok(isExpanded(answer, oracle), answer);
  for (
    const answer of [
      "2*x*(x*y - 2) + 6",
      "2.0*x**2*y - 4*x + 6",
      "2*x^2*y - 4*x + 6",
      "2*X**2*y - 4*x + 6",
      "2*x**2*y - 4*x",
      "9**9**9**9*x",
      "x/0",
      "x**0.5",
      "f(x)",
      "",
    ]
  ) assert.ok(!isExpanded(answer, oracle), answer);
  assert.ok(!isExpanded("(x + 1)**2", "x**2 + 2*x + 1"));
  assert.ok(isExpanded("(x + 1)**1 + (x - 1)**0 - 1", "x + 1"));
  assert.ok(isExpanded("x/3 + 1/6", "(2*x + 1)/6"));
});

Deno.test("real roots: double roots once, close roots separated, no false roots", () => {
  assert.deepEqual(realRoots([0, 0, 5]), [0]);
  assert.deepEqual(realRoots([1, -2, 1]), [1]);
  assert.deepEqual(realRoots([1, 0, 1]), []);
  assert.deepEqual(realRoots([7]), []);
  assert.deepEqual(realRoots([0]), []);
  assert.deepEqual(realRoots([-6, 11, -6, 1]), [1, 2, 3]);
  // (x² − 2)²·(x − 1): two double roots and a single one.
  const [low, one, high] = realRoots([-4, 4, 4, -4, -1, 1]) as [number, number, number];
  assert.ok(Math.abs(low + Math.SQRT2) < 1e-15 && one === 1 && Math.abs(high - Math.SQRT2) < 1e-15);
  // (x − 1)·(1000000·x − 1000001): a millionth apart.
  const close = realRoots([1000001, -2000001, 1000000]);
  assert.equal(close.length, 2);
  assert.ok(Math.abs(close[0]! - 1) < 1e-12 && Math.abs(close[1]! - 1.000001) < 1e-12);
  // x² − 2x + 1 + 10⁻⁹ has none.
  assert.deepEqual(realRoots([1000000001, -2000000000, 1000000000]), []);
});
