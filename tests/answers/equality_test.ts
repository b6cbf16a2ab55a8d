/** Bounded runs of the fuzzer, of golds against golds and of hedges. Each is also a program. */
import assert from "node:assert/strict";
import { add, equal, inverse, multiply, rational, rootOf, term, type Value } from "./exact.ts";
import { fuzz, report } from "./fuzz.ts";
import { judgeAll, judgeHedges } from "./published.ts";

Deno.test("rewritten golds are right, changed golds are wrong", () => {
  const found = fuzz(2000);
  assert.equal(found.falseRights.length, 0, report(found));
  assert.ok(found.falseWrongs.length <= 0.005 * found.count, report(found));
});

Deno.test("golds of MATH-500 in many phrasings are right for golds that mean the same only", () => {
  const { wrong, falselyRight, count } = judgeAll(150);
  assert.ok(count > 20_000);
  assert.deepEqual({ wrong, falselyRight }, { wrong: [], falselyRight: [] });
});

Deno.test("two golds as one answer gain nothing", () => {
  const { count, falselyRight } = judgeHedges(401);
  assert.ok(count > 4000, `${count}`);
  assert.deepEqual(falselyRight, []);
});

Deno.test("the arithmetic that judges the fuzzer is exact", () => {
  const names = (name: string, n: number): Value =>
    term({ above: 1n, below: 1n, root: 1n, pi: 0, names: { [name]: n } });
  const i = names("i", 1), x = names("x", 1), two = rational(2n);
  assert.ok(equal(multiply(rootOf(2n), rootOf(8n)), rational(4n)));
  assert.ok(equal(rootOf(3n, 4n), multiply(rational(1n, 2n), rootOf(3n))));
  assert.ok(equal(multiply(i, i), rational(-1n)));
  assert.ok(equal(inverse(multiply(two, rootOf(5n))), multiply(rational(1n, 10n), rootOf(5n))));
  assert.ok(equal(multiply(add(x, two), add(x, rational(-2n))), add(names("x", 2), rational(-4n))));
  assert.ok(!equal(add(rootOf(2n), rootOf(3n)), rootOf(5n)));
  assert.ok(!equal(rational(1n, 3n), rational(333333333n, 1000000000n)));
});
