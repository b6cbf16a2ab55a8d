import assert from "node:assert/strict";
import { largest } from "../../models/logits.ts";
import recorded from "../../tests/golden/trl-distillation/top.json" with { type: "json" };
import { comparedTokens, topDivergence } from "./top_divergence.ts";

const ROWS = 5, VOCAB = 11;
const logProbabilities = (f: (v: number) => number) => {
  const z = Float64Array.from({ length: VOCAB }, (_, v) => f(v));
  const norm = Math.log(z.reduce((sum, x) => sum + Math.exp(x), 0));
  return z.map((x) => x - norm);
};

Deno.test("divergences from a few log-probabilities are those of TRL's server trainer", () => {
  for (const { beta, count, loss, gradient } of recorded.cases) {
    let sum = 0;
    for (let i = 0; i < ROWS; i++) {
      const student = logProbabilities((v) => 2 * Math.sin(1.3 * i + 0.9 * v));
      const teacher = logProbabilities((v) => 2 * Math.cos(0.7 * i - 1.1 * v));
      const own = recorded.own[i]!;
      const top = largest(teacher, count).map((id) => ({ id, logprob: teacher[id]! }));
      const place = { logprob: teacher[own]!, top }, others = comparedTokens(place, own, beta);
      const ids = [own, ...others.map(({ id }) => id)];
      const { value, slopes } = topDivergence(
        place,
        own,
        others,
        ids.map((id) => student[id]!),
        beta,
      );
      sum += value / ROWS;
      const all = slopes.reduce((total, slope) => total + slope, 0);
      for (let v = 0; v < VOCAB; v++) {
        const at = ids.indexOf(v), direct = at < 0 ? 0 : slopes[at]!;
        const found = (direct - Math.exp(student[v]!) * all) / ROWS;
        const wanted = gradient[i]![v]!;
        assert.ok(Math.abs(found - wanted) < 1e-9, `beta ${beta}: ${i}, ${v}: ${found}, ${wanted}`);
      }
    }
    assert.ok(Math.abs(sum - loss) < 1e-9, `beta ${beta}, ${count} tokens: ${sum}, not ${loss}`);
  }
});

Deno.test("a token that has all of the probability leaves a finite divergence", () => {
  const place = { logprob: 0, top: [{ id: 4, logprob: 0 }] };
  for (const beta of [0, 0.5, 1]) {
    const { value, slopes } = topDivergence(place, 4, [], [0], beta);
    assert.ok(Math.abs(value) < 1e-6 && Number.isFinite(slopes[0]), `beta ${beta}`);
  }
});
