/** Computes the answers of the tasks on integers again, by other methods. */
import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { evaluate } from "./expression_testing.ts";
import { readGoldenLines } from "../../../tests/golden.ts";
import type { Entry } from "../../types.ts";
import { entriesOf } from "../../testing.ts";

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

Deno.test("chain sums add up, with terms of the stated digits", () => {
  for (const allow_negation of [false, true]) {
    const options = { seed: 6, size: 500, max_digits: 20, max_terms: 12, allow_negation };
    let digitsSeen = 0;
    for (const { answer, metadata } of createDataset("chain_sum", options)) {
      const expression = metadata["expression"] as string;
      const terms = expression.split(/ [-+] /), digits = metadata["num_digits"] as number;
      assert.deepEqual(evaluate(expression).value, [BigInt(answer!), 1n], expression);
      assert.equal(terms.length, metadata["num_terms"]);
      for (const term of terms) {
        if (allow_negation) assert.ok(term.replace("-", "").length <= digits, expression);
        else assert.match(term, new RegExp(digits === 1 ? "^\\d$" : `^[1-9]\\d{${digits - 1}}$`));
      }
      digitsSeen = Math.max(digitsSeen, digits);
    }
    assert.ok(digitsSeen > 16);
  }
});

Deno.test("both signs and both ends of a one-digit range occur", () => {
  const options = { seed: 6, size: 400, max_digits: 1, allow_negation: true };
  const terms = new Set<string>();
  for (const { metadata } of createDataset("chain_sum", options)) {
    for (const term of (metadata["expression"] as string).split(/ [-+] /)) terms.add(term);
  }
  assert.equal(terms.size, 19);
});

/**
 * Derives the legs of each animal from the recorded entries, solving those with one unknown animal.
 */
function legsFrom(entries: Entry[]): Map<string, number> {
  const legs = new Map<string, number>();
  for (let found = true; found;) {
    found = false;
    for (const { metadata } of entries) {
      const animals = Object.entries(metadata["animals"] as Record<string, number>);
      const unknown = animals.filter(([name]) => !legs.has(name));
      if (unknown.length !== 1) continue;
      let rest = metadata["total_legs"] as number;
      for (const [name, count] of animals) rest -= count * (legs.get(name) ?? 0);
      legs.set(unknown[0]![0], rest / unknown[0]![1]);
      found = true;
    }
  }
  return legs;
}

Deno.test("animals have as many legs here as in the recorded entries", () => {
  const ours = legsFrom([
    ...createDataset("leg_counting", { seed: 2, size: 60, min_animals: 1, max_animals: 1 }),
    ...createDataset("leg_counting", { seed: 1, size: 500, min_animals: 2, max_animals: 2 }),
  ]);
  assert.equal(ours.size, 37);
  const rows = [
    ...readGoldenLines<Entry>("reasoning-gym/items/leg_counting.jsonl"),
    ...readGoldenLines<{ entry: Entry }>("reasoning-gym/scorer-cases/leg_counting.jsonl").map((
      r,
    ) => r.entry),
    ...readGoldenLines<{ entry: Entry }>("reasoning-gym/model-answers/leg_counting.jsonl").map((
      r,
    ) => r.entry),
  ];
  for (const { metadata } of rows) {
    const animals = Object.entries(metadata["animals"] as Record<string, number>);
    const total = animals.reduce((sum, [name, count]) => sum + count * ours.get(name)!, 0);
    assert.equal(total, metadata["total_legs"], JSON.stringify(animals));
  }
});

Deno.test("one animal is singular, several are plural", () => {
  const options = { seed: 4, size: 200, min_instances: 1, max_instances: 2 };
  const text = [...createDataset("leg_counting", options)].map((e) => e.question).join("\n");
  assert.match(text, /\b1 butterfly\b/);
  assert.match(text, /\b2 butterflies\b/);
  assert.match(text, /\b2 woodlice\b/);
  assert.ok(!/\b1 (cats|dogs|sea slugs|butterflies)\b|sheeps|starfishs|mantiss\b/.test(text));
});

/** The numbers of a question in their order. */
function numbersIn({ question }: Entry): number[] {
  return [...question.matchAll(/\d+/g)].map(([digits]) => Number(digits));
}

Deno.test("bits: the ones of the question's number, counted by clearing the lowest one", () => {
  const sets = [{}, { max_n: 40 }, { min_n: 2 ** 40, max_n: 2 ** 52 }];
  for (const entry of entriesOf("count_bits", sets, { seed: 1, size: 200 })) {
    let rest = BigInt(numbersIn(entry)[0]!), count = 0;
    for (; rest > 0n; rest &= rest - 1n) count++;
    assert.equal(entry.answer, String(count), entry.question);
    assert.equal(parseInt(entry.metadata["binary"] as string, 2), entry.metadata["number"]);
  }
});

Deno.test("greatest common divisors: the largest number that divides all, found by trying", () => {
  let above = 0;
  const sets = [2, 4].map((max_numbers) => ({ max_numbers, max_value: 600 }));
  for (const entry of entriesOf("gcd", sets, { seed: 2, size: 200 })) {
    const numbers = numbersIn(entry);
    let divisor = Math.min(...numbers);
    while (numbers.some((number) => number % divisor !== 0)) divisor--;
    assert.equal(entry.answer, String(divisor), entry.question);
    above += divisor > 1 ? 1 : 0;
  }
  assert.ok(above > 200, `${above} of 400 have a common divisor`);
});

Deno.test("least common multiples: the first multiple that all numbers divide", () => {
  let below = 0;
  const sets = [2, 3].map((max_numbers) => ({ max_numbers }));
  for (const entry of entriesOf("lcm", sets, { seed: 3, size: 200 })) {
    const numbers = numbersIn(entry), step = Math.max(...numbers);
    let multiple = step;
    while (numbers.some((number) => multiple % number !== 0)) multiple += step;
    assert.equal(entry.answer, String(multiple), entry.question);
    below += multiple < numbers.reduce((product, number) => product * number) ? 1 : 0;
  }
  assert.ok(below > 240, `${below} of 400 are below the product`);
});

Deno.test("least common multiples beyond 2^53 are exact", () => {
  const options = { seed: 3, size: 50, min_numbers: 8, max_numbers: 8, max_value: 100_000 };
  for (const entry of createDataset("lcm", options)) {
    const multiple = BigInt(entry.answer!);
    for (const number of numbersIn(entry)) assert.equal(multiple % BigInt(number), 0n);
    for (const prime of [2n, 3n, 5n, 7n, 11n, 13n]) {
      const smaller = multiple / prime;
      if (multiple % prime !== 0n) continue;
      assert.ok(numbersIn(entry).some((number) => smaller % BigInt(number) !== 0n));
    }
  }
});

function isPrime(number: number): boolean {
  for (let d = 2; d * d <= number; d++) if (number % d === 0) return false;
  return number > 1;
}

Deno.test("prime factors are primes in ascending order that multiply to the number", () => {
  const sets = [30, 1000, 1e9].map((max_value) => ({ max_value }));
  for (const entry of entriesOf("prime_factorization", sets, { seed: 4, size: 100 })) {
    const factors = entry.answer!.split(" × ").map(Number);
    assert.ok(factors.every(isPrime), entry.answer!);
    assert.deepEqual(factors, factors.toSorted((a, b) => a - b));
    assert.equal(factors.reduce((a, b) => a * b), numbersIn(entry)[0]);
  }
});

/** Multiplies digit by digit, to check the products without bigints. */
function multiply(a: string, b: string): string {
  const digits = new Array<number>(a.length + b.length).fill(0);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const sum = digits[i + j + 1]! + Number(a[i]) * Number(b[j]);
      digits[i + j + 1] = sum % 10;
      digits[i + j]! += Math.floor(sum / 10);
    }
  }
  return digits.join("").replace(/^0+(?=.)/, "");
}

Deno.test("products: multiplied digit by digit, also with signs", () => {
  const sets = [false, true].map((allow_negation) => ({ allow_negation }));
  const common = { seed: 5, size: 100, max_terms: 5, max_digits: 12 };
  for (const entry of entriesOf("products", sets, common)) {
    const factors = /: (.*)\. Answer/.exec(entry.question)![1]!.split(" * ");
    assert.equal(factors.length, entry.metadata["num_terms"]);
    const size = factors.map((factor) => factor.replace("-", "")).reduce(multiply, "1");
    const minus = factors.filter((factor) => factor.startsWith("-")).length % 2 === 1;
    assert.equal(entry.answer, minus && size !== "0" ? `-${size}` : size, entry.question);
  }
});

/** Replaces innermost brackets by their values until one number is left. */
function evaluateHex(expression: string): bigint {
  let text = expression.replace(/0x[0-9a-f]+/g, (hex) => BigInt(hex).toString());
  const inner = /\((-?\d+) (\+|-|\*|<<|>>) (-?\d+)\)/g;
  while (text.includes("(")) {
    text = text.replace(inner, (_, left, operator, right) => {
      const a = BigInt(left), b = BigInt(right);
      if (operator === "+") return String(a + b);
      if (operator === "-") return String(a - b);
      if (operator === "*") return String(a * b);
      const power = 2n ** b;
      if (operator === "<<") return String(a * power);
      const quotient = a / power;
      return String(quotient * power > a ? quotient - 1n : quotient);
    });
  }
  return BigInt(text);
}

Deno.test("hexadecimal expressions have the value of the answer", () => {
  const sets = [1, 2, 3, 5, 7].map((difficulty) => ({ difficulty }));
  for (const entry of entriesOf("bitwise_arithmetic", sets, { seed: 6, size: 60 })) {
    const value = evaluateHex(entry.question.split("\n")[1]!);
    assert.equal(BigInt(entry.answer!.replace("-", "")), value < 0n ? -value : value);
    assert.equal(entry.answer!.startsWith("-"), value < 0n);
  }
});

Deno.test("dice: the probability is the share of all outcomes, one by one", () => {
  const sets = [[1, 2], [1, 30], [2, 12], [3, 9], [4, 7]]
    .map(([num_dice, max_dice_size]) => ({ num_dice, max_dice_size }));
  for (const entry of entriesOf("dice", sets, { seed: 7, size: 30 })) {
    const [list, rest] = /together: (.*?) \(.*at least (\d+)/s.exec(entry.question)!.slice(1);
    const dice = list!.split(", ").map((die) => Number(die.replace("1d", "")));
    const { num_dice } = entry.metadata["difficulty"] as { num_dice: number };
    assert.equal(dice.length, num_dice);
    let hits = 0, all = 0;
    const roll = (die: number, sum: number): void => {
      if (die === dice.length) {
        all++;
        hits += sum >= Number(rest) ? 1 : 0;
        return;
      }
      for (let pips = 1; pips <= dice[die]!; pips++) roll(die + 1, sum + pips);
    };
    roll(0, 0);
    const [num, den] = entry.answer!.split("/").map(Number) as [number, number];
    assert.equal(num * all, den * hits, entry.question);
    assert.ok(hits > 0 && hits < all, entry.question);
    for (let d = 2; d <= num; d++) assert.ok(num % d !== 0 || den % d !== 0, entry.answer!);
  }
});

Deno.test("dice with more outcomes than a double can count are exact", () => {
  const options = { seed: 7, size: 5, num_dice: 20, max_dice_size: 30 };
  for (const entry of createDataset("dice", options)) {
    const { dice_str, target } = entry.metadata["puzzle"] as { dice_str: string; target: number };
    let ways = new Map<number, bigint>([[0, 1n]]), all = 1n;
    for (const die of dice_str.split(", ")) {
      const next = new Map<number, bigint>(), sides = Number(die.slice(2));
      for (const [sum, count] of ways) {
        for (let pips = 1; pips <= sides; pips++) {
          next.set(sum + pips, (next.get(sum + pips) ?? 0n) + count);
        }
      }
      ways = next;
      all *= BigInt(sides);
    }
    let hits = 0n;
    for (const [sum, count] of ways) if (sum >= target) hits += count;
    const [num, den] = entry.answer!.split("/").map(BigInt) as [bigint, bigint];
    assert.equal(num * all, den * hits);
  }
});
