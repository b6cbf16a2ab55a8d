import assert from "node:assert/strict";
import { codePoints, isBlank, isSpace, PYTHON_SPACE, strip, words } from "./python/text.ts";
import { parseDecimal } from "./python/decimals.ts";
import { decimalScore, defaultScore, numberGridScore } from "./scoring_rules.ts";
import { scoreTaskAnswer } from "./registry.ts";
import { readGoldenJson } from "../tests/golden.ts";

interface Utils {
  compute_decimal_reward: {
    answer: string | null;
    oracle: string;
    strip_commas: boolean;
    result: number;
  }[];
  default_score_answer: { answer: unknown; oracle: string; result: number }[];
}

Deno.test("the decimal and the default rule give the recorded values", () => {
  const golden = readGoldenJson<Utils>("reasoning-gym/core/utils.json");
  for (const { answer, oracle, strip_commas, result } of golden.compute_decimal_reward) {
    if (!strip_commas) continue;
    const score = scoreTaskAnswer("chain_sum", answer, { answer: oracle });
    assert.ok(Math.abs(score - result) < 1e-9, `${answer} for ${oracle}: ${score}`);
  }
  for (const { answer, oracle, result } of golden.default_score_answer) {
    const score = scoreTaskAnswer("leg_counting", answer as string, { answer: oracle });
    assert.ok(Math.abs(score - result) < 1e-9, `${answer} for ${oracle}: ${score}`);
  }
});

Deno.test("decimal answers: commas, signs, exponents, underscores, surrounding text", () => {
  const cases: [string, string, number][] = [
    ["4.0", "4", 1],
    ["+01,000.00", "1000", 1],
    ["1e3", "1000", 1],
    ["4_2", "42", 1],
    ["  42\n", "42", 1],
    [".5", "0.50", 1],
    ["5.", "5", 1],
    ["-0", "0", 1],
    ["٤٢", "42", 1],
    ["123456789012345678901234567890", "123456789012345678901234567890.0", 1],
    ["123456789012345678901234567891", "123456789012345678901234567890", 0],
    ["the answer is 4", "4", 1 / 15],
    ["$4", "4", 0.5],
    ["14", "4", 0.5],
    ["5", "4", 0],
    ["inf", "4", 0],
    [".", "4", 0],
    ["e3", "1000", 0],
  ];
  for (const [answer, oracle, expected] of cases) {
    assert.ok(Math.abs(decimalScore(answer, { answer: oracle }) - expected) < 1e-12, answer);
  }
});

Deno.test("lengths are counted in code points, also in the default rule", () => {
  assert.equal(codePoints("a😀b"), 3);
  assert.equal(codePoints("\ud83d"), 1);
  assert.equal(defaultScore("😀4", { answer: "4" }), 0.5);
  assert.equal(defaultScore("4", {}), 0);
});

Deno.test("white space is Python's: with U+001C and U+0085, without U+FEFF", () => {
  assert.equal(strip("\u001c\u0085 \u3000x y\u2029"), "x y");
  assert.equal(strip("\ufeffx"), "\ufeffx");
  assert.ok(isBlank("\u001f\t") && !isBlank("\u200b"));
  assert.deepEqual(words(" a\u0085b  c "), ["a", "b", "c"]);
  assert.deepEqual(words(" a\u2003 bc\x1dd\n", 2), ["a", "bc"]);
  const pattern = new RegExp(`^[${PYTHON_SPACE}]$`);
  for (let code = 0; code < 0x10000; code++) {
    const character = String.fromCharCode(code);
    assert.equal(isSpace(character), pattern.test(character), code.toString(16));
  }
});

Deno.test("decimals are normalized", () => {
  assert.deepEqual(parseDecimal("-0012.300e2"), { negative: true, digits: "123", exponent: 1 });
  assert.deepEqual(parseDecimal("-0.000"), { negative: false, digits: "0", exponent: 0 });
  assert.equal(parseDecimal("1e"), null);
  assert.equal(parseDecimal("NaN"), null);
});

Deno.test("a number grid: format, single cells and surplus text", () => {
  const entry = { answer: "1 2\n2 1", metadata: { solution: [[1, 2], [2, 1]] } };
  assert.equal(numberGridScore("1 2  \n2 1", entry), 7 / 9);
  assert.equal(numberGridScore("12\n21", entry), 0.9);
  assert.equal(numberGridScore("1 2\n1 1", entry), 0.9 * 3 / 4);
  assert.equal(numberGridScore("Grid:\n1 2\n2 1", entry), 0.9 * 7 / 13);
  assert.equal(numberGridScore("1 3", { answer: "1 2\n2 1" }), 0);
});
