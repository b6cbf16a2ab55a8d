import assert from "node:assert/strict";
import { isAntiderivative } from "./integral.ts";
import { isExpanded } from "./polynomial_multiplication.ts";
import { parseFormula } from "../../python/formulas.ts";
import { realRoots } from "./polynomial_equations.ts";
import { createDataset } from "../../dataset.ts";
import { scoreTaskAnswer, validateTaskConfig } from "../../registry.ts";

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

Deno.test("parameters that cannot work are refused with what was found", () => {
  const refused: [task: string, config: Record<string, unknown>, message: RegExp][] = [
    ["complex_arithmetic", { operations: [] }, /^operations: must name at least one/],
    [
      "complex_arithmetic",
      { operations: ["+"] },
      /^operations_weights: .* the 1 operations, found 4/,
    ],
    [
      "simple_equations",
      { operators_weights: [0.1, 0.1, 0.1] },
      /^operators_weights: must sum to 1/,
    ],
    [
      "polynomial_multiplication",
      { allow_multivariate_polynomials: true },
      /^allow_multivariate_polynomials: needs allow_cross/,
    ],
    ["polynomial_multiplication", { variables: ["2x"] }, /^variables: each must be a name .*"2x"/],
    ["polynomial_equations", { operators: [] }, /^operators: must name/],
    ["simple_integration", { min_degree: -11 }, /^min_degree: must be at least -10, found -11/],
    ["intermediate_integration", { symbols: "xy" }, /^symbols: .* found "y"/],
    ["intermediate_integration", { linear_lower_bound: 11 }, /^linear_lower_bound: must be ≤/],
    [
      "intermediate_integration",
      { problem_types: ["cyclic"] },
      /^problem_type_weights: .* found 8/,
    ],
  ];
  for (const [task, config, message] of refused) {
    const errors = validateTaskConfig(task, config as never);
    assert.match(errors[0] ?? "nothing", message, task);
  }
});

Deno.test("wrong answers score by the rules", () => {
  const roots = { answer: "-1.5, 2.0", metadata: { real_solutions: [-1.5, 2] } };
  const score = (answer: string) => scoreTaskAnswer("polynomial_equations", answer, roots);
  assert.equal(score("2.0, -1.5"), 1);
  assert.equal(score("2"), 0.5);
  assert.ok(Math.abs(score("-1.5, 2.1") - (1 + Math.exp(-1)) / 2) < 1e-12);
  assert.equal(score("-1.5, 2, 7"), 0.5);
  assert.equal(score("-1.5, 2, 7, 8"), 0);
  assert.equal(score("-1_.5, 2"), 0.5, "no float of Python");
  const complex = { metadata: { result: [3, -4] } };
  assert.equal(scoreTaskAnswer("complex_arithmetic", "3 - 4i", complex), 1);
  assert.equal(scoreTaskAnswer("complex_arithmetic", "-4i", complex), Math.exp(-3));
  assert.equal(scoreTaskAnswer("complex_arithmetic", "-4i + 3", complex), 0);
});

Deno.test("V1, V25: without a real root the original accepts anything, even no answer", () => {
  const entry = { answer: "", metadata: { real_solutions: [] } };
  const rows: { answer: string | null; original: number; ours: number }[] = [
    { answer: null, original: 1, ours: 0 },
    { answer: "there is none", original: 1, ours: 0 },
    { answer: "0.5", original: 0, ours: 0 },
    { answer: " ", original: 1, ours: 1 },
    { answer: '""', original: 1, ours: 1 },
  ];
  for (const { answer, original, ours } of rows) {
    assert.equal(scoreTaskAnswer("polynomial_equations", answer, entry), ours, String(answer));
    assert.ok(ours <= original);
  }
});

Deno.test("V5: what the original would execute is no formula here; others score the same", () => {
  const entry = { answer: "x**2 + C", metadata: { integrand: "2*x", variable: "x" } };
  const rows: [answer: string, original: number][] = [["x**2 + 5", 1], ["x**3", 0], [
    "x**2 +",
    0,
  ]];
  for (const [answer, original] of rows) {
    assert.equal(scoreTaskAnswer("simple_integration", answer, entry), original, answer);
    assert.equal(scoreTaskAnswer("intermediate_integration", answer, entry), original, answer);
  }
  const hostile = [
    "__import__('os').getcwd()",
    "(lambda: x**2)()",
    "x**2 if 1 else 0",
    "[x**2][0]",
  ];
  for (const answer of hostile) {
    assert.equal(scoreTaskAnswer("simple_integration", answer, entry), 0, answer);
    assert.equal(
      scoreTaskAnswer("polynomial_multiplication", answer, { answer: "x**2" }),
      0,
      answer,
    );
  }
});

Deno.test("an unsolved integral counts only if the right answer contains one", () => {
  const metadata = { integrand: "-2*x**2*cos(3*x)", variable: "x" };
  const answer = "-2*Integral(x**2*cos(3*x), x) + C";
  assert.equal(scoreTaskAnswer("intermediate_integration", answer, { answer, metadata }), 1);
  const solved = createDataset("intermediate_integration", { seed: 1 }).entry(0).answer;
  assert.equal(
    scoreTaskAnswer("intermediate_integration", answer, { answer: solved, metadata }),
    0,
  );
});
