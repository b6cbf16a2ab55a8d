import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { readGoldenLines } from "../../../tests/golden.ts";
import type { Entry } from "../../types.ts";
import { evaluate } from "./expression_testing.ts";

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
