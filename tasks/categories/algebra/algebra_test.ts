/**
 * Solves the questions of each task again, from their text alone and by other methods than the
 * generators.
 */
import assert from "node:assert/strict";
import { scoreAnswer } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";

function between(text: string, before: string, after: string): string {
  const start = text.indexOf(before) + before.length;
  return text.slice(start, text.indexOf(after, start));
}

/**
 * Compiles a formula written by a task. Its unary signs occur only at its start or after a bracket.
 */
function compile(formula: string, variables: string[], literal: (digits: string) => string) {
  const source = formula.replace(/^-|\(-/g, (sign) => sign.replace("-", "0-"))
    .replace(/[0-9]+/g, literal)
    .replace(/[a-z]+(?=\()/g, (name) => `Math.${name}`);
  return new Function(...variables, `return ${source};`);
}

const whole = (digits: string) => `${digits}n`;
const real = (digits: string) => digits;

Deno.test("complex_arithmetic: exact arithmetic with the question's numbers agrees", () => {
  const parse = (text: string): [bigint, bigint] => {
    const number = (t: string | undefined) => BigInt((t ?? "0").replace(/\.0+$/, ""));
    const both = /^(-?[0-9]+\.0) ([+-]) ([0-9]+\.0)i$/.exec(text);
    if (both) return [number(both[1]), both[2] === "-" ? -number(both[3]) : number(both[3])];
    return text.endsWith("i") ? [0n, number(text.slice(0, -1))] : [number(text), 0n];
  };
  const times = ([a, b]: bigint[], [c, d]: bigint[]) => [a! * c! - b! * d!, a! * d! + b! * c!];
  const configs = [
    {},
    {
      operations: ["/"],
      operations_weights: [1],
      min_real: -1,
      max_real: 1,
      min_imag: 0,
      max_imag: 1,
    },
    { min_real: -1e8, max_real: 1e8, min_imag: -1e8, max_imag: 1e8 },
  ];
  for (const { question, answer } of entriesOf("complex_arithmetic", configs)) {
    const match = /\(([^()]+)\) ([-+*/]) \(([^()]+)\)/.exec(question)!;
    const a = parse(match[1]!), b = parse(match[3]!), result = parse(answer!);
    if (match[2] === "/") assert.deepEqual(times(result, b), a, question);
    else if (match[2] === "*") assert.deepEqual(times(a, b), result, question);
    else {
      const sign = match[2] === "+" ? 1n : -1n;
      assert.deepEqual(result, [a[0] + sign * b[0], a[1] + sign * b[1]], question);
    }
  }
});

Deno.test("simple_equations: only the answer solves the equation", () => {
  const configs = [
    {},
    { operators: ["+", "-"], operators_weights: [0.5, 0.5], min_terms: 1 },
    { min_terms: 5, max_terms: 20, min_value: 1000, max_value: 1e8 },
    { operators: ["*"], operators_weights: [1] },
  ];
  for (const { question, answer, metadata } of entriesOf("simple_equations", configs)) {
    const variable = between(question, "number ", " ");
    const [left, right] = between(question, "equation ", "?").split(" = ") as [string, string];
    const f = compile(left, [variable], whole);
    assert.equal(f(BigInt(answer!)), BigInt(right), question);
    assert.notEqual(f(BigInt(answer!) + 1n), BigInt(right), question);
    assert.equal(metadata["equation"], `${left} = ${right}`);
  }
});

Deno.test("polynomial_multiplication: product and answer are equal at many points", () => {
  const wide = {
    allow_cross_variable_product: true,
    allow_multivariate_polynomials: true,
    max_polynomials: 4,
  };
  const configs = [
    {},
    { max_value: 1e8, max_terms: 10, max_degree: 8 },
    { allow_cross_variable_product: true },
    { ...wide, min_degree: 1, variables: ["a", "b"] },
    { operators: ["+"], min_terms: 1, max_terms: 1 },
  ];
  for (const entry of entriesOf("polynomial_multiplication", configs)) {
    const product = entry.question.split("\n")[1]!, answer = entry.answer!;
    assert.doesNotMatch(answer, /[()]/);
    const names = ["a", "b", "x", "y", "z"];
    const left = compile(product, names, whole), right = compile(answer, names, whole);
    for (let i = 0; i < 4; i++) {
      const point = names.map((_, j) => BigInt(i * 7 + j * j * 3 - 11));
      assert.equal(left(...point), right(...point), entry.question);
    }
    const changed = answer.replace(/[0-9]+/, (digits) => String(BigInt(digits) + 1n));
    assert.equal(scoreAnswer(changed, entry), 0, changed);
  }
});

/** All complex roots of Σ c[i]·xⁱ, by the Durand–Kerner method. */
function complexRoots(c: number[]): [number, number][] {
  const n = c.length - 1, monic = c.map((value) => value / c[n]!);
  const times = (a: [number, number], b: [number, number]): [number, number] => [
    a[0] * b[0] - a[1] * b[1],
    a[0] * b[1] + a[1] * b[0],
  ];
  let roots = Array.from(
    { length: n },
    (_, k): [number, number] => [2.1 * Math.cos(k * 2.4 + 0.4), 2.1 * Math.sin(k * 2.4 + 0.4)],
  );
  for (let round = 0; round < 500; round++) {
    roots = roots.map((z, i) => {
      let p: [number, number] = [0, 0], q: [number, number] = [1, 0];
      for (let k = n; k >= 0; k--) {
        p = times(p, z);
        p[0] += monic[k]!;
      }
      roots.forEach((w, j) => {
        if (j !== i) q = times(q, [z[0] - w[0], z[1] - w[1]]);
      });
      const size = q[0] ** 2 + q[1] ** 2;
      return size === 0
        ? z
        : [z[0] - (p[0] * q[0] + p[1] * q[1]) / size, z[1] - (p[1] * q[0] - p[0] * q[1]) / size];
    });
  }
  return roots;
}

Deno.test("polynomial_equations: all real roots, found by another method from the question", () => {
  const configs = [
    {},
    { min_degree: 4, max_degree: 4, max_terms: 5 },
    { max_value: 3, max_terms: 6 },
    { operators: ["+"], min_degree: 2, max_degree: 2, min_terms: 30, max_terms: 30, min_value: 90 },
  ];
  let none = 0;
  for (const { question, answer } of entriesOf("polynomial_equations", configs)) {
    const variable = between(question, "values of ", " ");
    const text = between(question, "for which ", " = 0");
    const terms = text.replaceAll(" ", "").split(/(?=[+-])/);
    const c: number[] = [];
    for (const term of terms) {
      const [factor, power] = term.split(variable);
      const degree = power === undefined ? 0 : power === "" ? 1 : Number(power.slice(2));
      const digits = factor!.replace("*", "").replace("+", "");
      c[degree] = digits === "" ? 1 : digits === "-" ? -1 : Number(digits);
    }
    const full = Array.from(c, (value) => value ?? 0);
    const zeros = full.findIndex((value) => value !== 0);
    const found = complexRoots(full.slice(zeros))
      .filter(([, im]) => Math.abs(im) < 1e-5).map(([re]) => re);
    if (zeros > 0) found.push(0);
    const expected = found.sort((a, b) => a - b).filter((x, i) =>
      i === 0 || x - found[i - 1]! > 1e-4
    );
    const given = answer === "" ? [] : answer!.split(", ").map(Number);
    none += given.length === 0 ? 1 : 0;
    assert.equal(given.length, expected.length, question);
    given.forEach((x, i) =>
      assert.ok(Math.abs(x - expected[i]!) < 1.1e-4, `${question}: ${answer}`)
    );
  }
  assert.ok(none > 0, "equations without a root also occur");
});

const POINTS = [
  -31.5,
  -13.1,
  -9.2,
  -7.4,
  -5.3,
  -1.7,
  -0.61,
  -0.31,
  -0.22,
  0.19,
  0.27,
  0.32,
  0.58,
  1.3,
  2.9,
  5.1,
  7.7,
  9.6,
  12.4,
  31.5,
];

Deno.test("integration: the numeric slope of the answer is the question's integrand", () => {
  const problems = [
    ...entriesOf("simple_integration", [
      {},
      { min_degree: -10, max_degree: 3 },
      { symbols: ["y"], operators: ["-"], max_bounds: 1000 },
    ]),
    ...entriesOf("intermediate_integration", [
      {},
      { symbols: "xX", max_poly_degree: 6, outer_constant_max: 50 },
      { problem_types: ["cyclic", "radical"], problem_type_weights: [1, 3] },
    ]),
  ];
  for (const entry of problems) {
    const { question, answer } = entry;
    const variable = between(question, ") d", ".");
    const integrand = between(question, "∫ (", `) d${variable}.`);
    assert.ok(answer!.endsWith(" + C"));
    const slope = compile(integrand, [variable], real);
    const f = compile(answer!.slice(0, -4), [variable], real);
    let decided = 0;
    for (const x of POINTS) {
      const h = 1e-4 * Math.max(1, Math.abs(x));
      const [a, b, c, d] = [f(x - 2 * h), f(x - h), f(x + h), f(x + 2 * h)] as [
        number,
        number,
        number,
        number,
      ];
      const difference = (8 * (c - b) - (d - a)) / (12 * h), expected = slope(x) as number;
      // Where the function is steep or huge, numeric differences are too inexact to decide.
      const size = Math.max(Math.abs(a), Math.abs(d));
      if (
        !Number.isFinite(difference + expected) || size * 1e-15 / h > 1e-6 * Math.abs(expected)
      ) {
        continue;
      }
      if (Math.abs(difference - expected) > 1e-4 * Math.abs(expected)) {
        const coarse = (c - b) / (2 * h);
        assert.ok(
          Math.abs(coarse - difference) > 1e-6 * Math.abs(difference),
          `${integrand} at ${x}: ${answer}`,
        );
        continue;
      }
      decided++;
    }
    assert.ok(decided >= 3, `${integrand}: ${decided} points`);
    assert.equal(scoreAnswer(`${answer} + 0.5*${variable}`, entry), 0);
  }
});
