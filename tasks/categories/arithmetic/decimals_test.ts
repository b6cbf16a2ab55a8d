import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { scoreAnswer, scoreTaskAnswer } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";
import { decimal, evaluate } from "./expression_testing.ts";

Deno.test("chains of decimals add up exactly", () => {
  const sets = [{}, { max_digits: 20, max_decimal_places: 12, allow_negation: true }];
  for (const entry of entriesOf("decimal_chain_sum", sets, { seed: 1, size: 300 })) {
    const expression = /^What is (.*)\?/.exec(entry.question)![1]!;
    const terms = expression.split(/ [-+] /), [n, d] = evaluate(expression).value;
    const [numerator, denominator] = decimal(entry.answer!);
    assert.equal(numerator * d, n * denominator, entry.question);
    const places = Math.max(...terms.map((term) => (term.split(".")[1] ?? "").length));
    assert.equal((entry.answer!.split(".")[1] ?? "").length, places);
  }
});

Deno.test("decimal expressions: within half a unit of the last significant digit", () => {
  const sets = [
    {},
    { min_num_decimal_places: 0, max_num_decimal_places: 0, max_terms: 8, precision: 3 },
    { max_num_decimal_places: 8, max_terms: 10, precision: 30 },
  ];
  let groups = 0;
  for (const options of sets) {
    const precision = options.precision ?? 12;
    for (const entry of createDataset("decimal_arithmetic", { seed: 2, size: 150, ...options })) {
      const expression = /^Work out (.*) exactly/.exec(entry.question)![1]!;
      groups += expression.includes("(") ? 1 : 0;
      let [numerator, denominator] = evaluate(expression).value;
      if (denominator < 0n) [numerator, denominator] = [-numerator, -denominator];
      const significant = entry.answer!.replace(/[-.]/g, "").replace(/^0+/, "");
      assert.ok(significant.length <= precision || /^\d+0+$/.test(significant), entry.answer!);
      const places = (entry.answer!.split(".")[1] ?? "").length;
      const scaled = BigInt(entry.answer!.replace(".", ""));
      const error = scaled * denominator - numerator * 10n ** BigInt(places);
      const twice = 2n * (error < 0n ? -error : error), more = precision - significant.length;
      // The last significant digit is `more` places behind the last one written.
      const [left, right] = more >= 0
        ? [twice * 10n ** BigInt(more), denominator]
        : [twice, denominator * 10n ** BigInt(-more)];
      assert.ok(left <= right, entry.question);
    }
  }
  assert.ok(groups > 200, `${groups} expressions with brackets`);
});

Deno.test("powers: as exact as repeated multiplication; 3 digits suffice for the score", () => {
  const sets = [{}, { min_base: -0.01, max_base: 0.01 }, { max_exponent: 120 }];
  for (const entry of entriesOf("power_function", sets, { seed: 3, size: 150 })) {
    const [base, exponent] = /is \(?([-\d.]+)\)? to the power (-?\d+)\?/.exec(entry.question)!
      .slice(1).map(Number) as [number, number];
    assert.equal(base, entry.metadata["base"]);
    let value = 1;
    for (let i = 0; i < Math.abs(exponent) / 2; i++) value *= base;
    const other = Math.abs(exponent) % 2 === 1 ? value / base : value;
    const logarithm = (Math.log(Math.abs(value)) + Math.log(Math.abs(other))) *
      Math.sign(exponent);
    if (base === 0) assert.ok(exponent >= 0);
    else {
      const found = Math.log(Math.abs(Number(entry.answer)));
      assert.ok(Math.abs(found - logarithm) <= 1e-9 * Math.max(1, Math.abs(found)));
      assert.equal(Number(entry.answer) < 0, base < 0 && exponent % 2 !== 0, entry.question);
    }
    const long = Number(entry.answer).toExponential(20);
    const tie = /^-?\d\.\d\d50+e/.test(long);
    const short = tie ? long : Number(entry.answer).toExponential(2);
    assert.equal(scoreAnswer(short, entry), 1, `${short} for ${entry.answer}`);
    assert.equal(scoreAnswer(String(Number(entry.answer) * 1.02 + 1e-320), entry), 0.01);
  }
});

Deno.test("powers are the nearest doubles", () => {
  const rows: [string, string][] = [
    ["1.2538491439703905e+18", "1.25e18"],
    ["851737.58055369", "8.52e+5"],
    ["2.5e-07", "2.5e-7"],
    // A tie goes to the even digit: 1.245 is 1.24 in three digits, 1.255 is 1.26.
    ["1.245", "1.24"],
    ["1.255", "1.26"],
  ];
  for (const [oracle, answer] of rows) {
    assert.equal(scoreTaskAnswer("power_function", answer, { answer: oracle }), 1, answer);
  }
  for (const { answer, metadata } of createDataset("power_function", { seed: 8, size: 200 })) {
    assert.equal(Number(answer), metadata["solution"]);
  }
});

Deno.test("powers with too few digits in a double are drawn again", () => {
  const options = { min_base: 500, min_exponent: 100, max_exponent: 115, seed: 8, size: 200 };
  for (const { answer } of createDataset("power_function", options)) {
    assert.ok(Number(answer) >= 2 ** -1022, answer!);
  }
});

/** The exact value of a number in any of the three formats, in units of 10^-30. */
function candidateUnits(text: string): bigint {
  const [mantissa, exponent = "0"] = text.replaceAll(",", "").split("e") as [string, string?];
  const power = Number(exponent), [n, d] = decimal(mantissa), value = n * 10n ** 30n / d;
  return power < 0 ? value / 10n ** BigInt(-power) : value * 10n ** BigInt(power);
}

Deno.test("number formats: the largest or smallest of distinct numbers", () => {
  const sets = [
    {},
    { min_num_candidates: 400, max_num_candidates: 500, max_delta: 1e-6 },
    { min_n: 1, max_n: 20, max_delta: 0.001 },
    { min_n: 1e12, max_n: 1e13, max_delta: 1e9 },
  ];
  const formats = new Set<string>();
  for (const entry of entriesOf("number_format", sets, { seed: 4, size: 100 })) {
    const [intro, line] = entry.question.split("\n") as [string, string];
    const texts = line.split("  "), values = texts.map(candidateUnits);
    assert.equal(new Set(values).size, texts.length, "distinct as printed");
    assert.equal(new Set(entry.metadata["candidates"] as number[]).size, texts.length);
    const largest = intro.includes("largest");
    const best = values.reduce((a, b) => (a > b) === largest ? a : b);
    const right = texts[values.indexOf(best)]!;
    assert.equal(Number(right.replaceAll(",", "")), Number(entry.answer), entry.question);
    assert.equal(scoreAnswer(right, entry), 1, right);
    texts.forEach((text) => formats.add(text.replace(/\d+/g, "0").replace(/(0,)+/, "0,")));
    const wrong = texts.filter((_, i) => values[i] !== best);
    for (const text of wrong.slice(0, 5)) assert.equal(scoreAnswer(text, entry), 0, text);
  }
  for (const kind of ["0.0", "0,0.0", "0.0e+0"]) assert.ok(formats.has(kind), [...formats].join());
});

Deno.test("fractions are reduced to lowest terms in the style of the question", () => {
  const sets = [{}, { min_value: 100, max_value: 130 }, { min_value: 60, max_value: 61 }];
  for (const entry of entriesOf("fraction_simplification", sets, { seed: 5, size: 200 })) {
    const given = /fraction (\S+) to lowest/.exec(entry.question)![1]!;
    const parts = (text: string) => [...text.matchAll(/\d+/g)].map(([digits]) => Number(digits));
    const [a, b] = parts(given) as [number, number];
    let x = a, y = b;
    while (x !== y) x > y ? x -= y : y -= x;
    const [c, d] = parts(entry.answer!) as [number, number];
    assert.deepEqual([c, d], [a / x, b / x], entry.question);
    assert.equal(entry.answer!.replace(/\d+/g, "0"), given.replace(/\d+/g, "0"));
    const { value: [low, high] } = entry.metadata["difficulty"] as { value: [number, number] };
    assert.ok(low <= c && c <= d && d <= high, entry.answer!);
    assert.equal(scoreAnswer(`$\\dfrac{${c}}{${d}}$`, entry), 1);
    assert.equal(scoreAnswer(`$$ \\frac { ${c} } {${d}} $$`, entry), 1);
  }
});

Deno.test("G26: 0 has no negative power", () => {
  const options = { seed: 1, size: 300, min_base: -0.0001, max_base: 0.0001, min_exponent: 1 };
  let zeros = 0;
  for (const { answer, metadata } of createDataset("power_function", options)) {
    assert.ok(Number.isFinite(metadata["solution"]));
    if (metadata["base"] !== 0) continue;
    zeros++;
    assert.equal(answer, "0.0");
    assert.ok((metadata["exponent"] as number) > 0);
  }
  assert.ok(zeros > 20, `${zeros} bases are 0`);
});

Deno.test("G27: a half is rounded away from zero, and nothing is divided by zero", () => {
  const options = {
    seed: 1,
    size: 1000,
    min_num_decimal_places: 0,
    max_num_decimal_places: 0,
    max_terms: 3,
    precision: 2,
  };
  let halves = 0;
  for (const { question, answer } of createDataset("decimal_arithmetic", options)) {
    assert.match(answer!, /^-?\d+(\.\d+)?$/);
    const simple = /^Work out \(?(\d+)\/(\d+)\)? exactly/.exec(question);
    if (simple === null) continue;
    const quotient = Number(simple[1]) / Number(simple[2]);
    if (quotient !== 1.125 && quotient !== 0.125 && quotient !== 0.625) continue;
    // Rounding half to even, like the original, would give 1.1, 0.12 and 0.62.
    assert.equal(answer, { 1.125: "1.1", 0.125: "0.13", 0.625: "0.63" }[quotient]);
    halves++;
  }
  assert.ok(halves > 0);
});
