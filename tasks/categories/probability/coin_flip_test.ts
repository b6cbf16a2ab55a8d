import assert from "node:assert/strict";
import { scoreTaskAnswer } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";

/** The number of outcomes of n flips for each number of heads, counted one by one. */
function count(n: number): number[] {
  const heads = new Array<number>(n + 1).fill(0);
  for (let outcome = 0; outcome < 2 ** n; outcome++) {
    let ones = 0;
    for (let rest = outcome; rest > 0; rest &= rest - 1) ones++;
    heads[ones]!++;
  }
  return heads;
}

Deno.test("the answer is the share of outcomes, counted from the question", () => {
  const configs = [{}, { min_trials: 1, max_trials: 2 }, { allow_exact: false }, {
    allow_at_least: false,
  }];
  const counts = Array.from({ length: 16 }, (_, n) => count(n));
  for (const { question, answer } of entriesOf("coin_flip", configs)) {
    const [, trials, kind, wanted] = /flipped (\d+) times?\. .*heads (exactly|at least) (\d+) time/
      .exec(question)!;
    const n = Number(trials), k = Number(wanted);
    let outcomes = 0;
    counts[n]!.forEach((number, heads) => {
      if (kind === "exactly" ? heads === k : heads >= k) outcomes += number;
    });
    const p = outcomes / 2 ** n;
    assert.ok(Math.abs(Number(answer) - p) <= 5.1e-10 * p, question);
    assert.equal(scoreTaskAnswer("coin_flip", `${outcomes}/${2 ** n}`, { answer }), 1);
  }
});

Deno.test("hundreds of flips are exact to ten digits too", () => {
  const configs = [{ min_trials: 900, max_trials: 1000, size: 20 }];
  for (const entry of entriesOf("coin_flip", configs)) {
    const { num_trials, k_heads, problem_type } = entry.metadata as Record<string, number | string>;
    // log C(n, k) as a sum of logarithms.
    const n = num_trials as number;
    const logs: number[] = [];
    let log = -n * Math.LN2;
    for (let k = 0; k <= n; k++) {
      logs.push(log);
      log += Math.log((n - k) / (k + 1));
    }
    const k = k_heads as number;
    const from = problem_type === "exact" ? logs.slice(k, k + 1) : logs.slice(k);
    const p = from.reverse().reduce((sum, value) => sum + Math.exp(value), 0);
    assert.ok(Math.abs(Number(entry.answer) - p) <= 1e-9 * p + 1e-300, JSON.stringify(entry));
  }
});
