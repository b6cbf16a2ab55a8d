import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { evaluate } from "./expression_testing.ts";

Deno.test("expressions have the stated value, terms and number sizes, exact divisions", () => {
  for (const allow_parentheses of [true, false]) {
    for (const allow_negation of [true, false]) {
      for (const whitespace of ["single", "no_space", "random"]) {
        const dataset = createDataset("basic_arithmetic", {
          seed: 3,
          size: 400,
          max_terms: 9,
          allow_parentheses,
          allow_negation,
          whitespace,
        });
        for (const { answer, metadata } of dataset) {
          const expression = metadata["expression"] as string;
          const { value: [n, d], numbers, exact } = evaluate(expression);
          assert.equal(n, BigInt(answer!) * d, expression);
          assert.ok(exact, `a division leaves a remainder: ${expression}`);
          assert.equal(numbers, metadata["num_terms"], expression);
          const limit = 10 ** (metadata["num_digits"] as number);
          assert.ok(expression.match(/\d+/g)!.every((text) => Number(text) < limit), expression);
          if (!allow_parentheses) assert.ok(!/[()]|[-+*/] ?-/.test(expression), expression);
          if (!allow_negation) assert.ok(!/^ *-|[-+*/(] *-/.test(expression), expression);
          if (whitespace === "no_space") assert.ok(!expression.includes(" "), expression);
        }
      }
    }
  }
});

Deno.test("only the given operators occur", () => {
  for (const operators of [["/"], ["*", "/"], ["-"], ["+", "/"]]) {
    for (const allow_parentheses of [true, false]) {
      const options = { seed: 8, size: 100, operators, allow_parentheses, allow_negation: false };
      for (const { metadata } of createDataset("basic_arithmetic", options)) {
        const used = (metadata["expression"] as string).match(/[-+*/]/g) ?? [];
        assert.ok(used.every((operator) => operators.includes(operator)), `${used}`);
      }
    }
  }
});

Deno.test("one term is a number, and large terms stay exact", () => {
  const one = createDataset("basic_arithmetic", { seed: 1, min_terms: 1, max_terms: 1 }).entry(0);
  assert.equal(one.answer, one.metadata["expression"]);
  const options = { seed: 1, size: 30, min_digits: 15, max_digits: 15, operators: ["*"] };
  for (const { answer, metadata } of createDataset("basic_arithmetic", options)) {
    const { value: [n, d] } = evaluate(metadata["expression"] as string);
    assert.equal(n / d, BigInt(answer!));
  }
});

Deno.test("the natural style only changes the wording", () => {
  const options = { seed: 2, size: 40, format_style: "natural" };
  for (const { question, metadata } of createDataset("basic_arithmetic", options)) {
    assert.ok(
      question.includes(metadata["expression"] as string) && !question.startsWith("Compute"),
    );
  }
});
