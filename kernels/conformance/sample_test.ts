/** Sampling on every device: distribution, truncation, ties, and independence of the batch. */
import assert from "node:assert/strict";
import { testOnEveryDevice } from "./devices_testing.ts";
import {
  checkDraws,
  countersOf,
  drawTokens,
  keptDistribution,
  logitsOf,
  PLAIN,
  type SampleOptions,
} from "./sample_checks_testing.ts";
import { COUNTER_WORDS } from "../ops/sample/spec.ts";
import { stream } from "../testing.ts";

const CUTS: readonly SampleOptions[] = [
  PLAIN,
  { ...PLAIN, temperature: 0.6 },
  { ...PLAIN, temperature: 2.5, topK: 3 },
  { ...PLAIN, topK: 1 },
  { ...PLAIN, topK: 1_000_000 },
  { ...PLAIN, topP: 0.5 },
  { ...PLAIN, topP: 1e-6 },
  { ...PLAIN, topP: 0.95, temperature: 1.7 },
  { ...PLAIN, minP: 0.05 },
  { temperature: 1.3, topK: 20, topP: 0.8, minP: 0.02 },
];

testOnEveryDevice(
  "a token is the inverse transform of its row's uniform number",
  async (device) => {
    for (const options of CUTS) {
      for (
        const [rows, vocab] of [[1, 1], [2, 2], [3, 7], [7, 63], [2, 1025], [5, 4099]] as const
      ) {
        await checkDraws(device, rows, vocab, options);
      }
    }
  },
);

testOnEveryDevice("100 000 draws follow the probabilities", async (device) => {
  const draws = 100_000, vocab = 40;
  for (const options of [PLAIN, { temperature: 1.4, topK: 25, topP: 0.9, minP: 0.01 }]) {
    const row = logitsOf("distribution", 1, vocab), p = keptDistribution(row, options);
    const logits = new Float32Array(draws * vocab);
    for (let r = 0; r < draws; r++) logits.set(row, r * vocab);
    const { tokens } = await drawTokens(device, logits, countersOf(draws), vocab, options);
    const counts = new Float64Array(vocab);
    for (const token of tokens) counts[token]!++;
    let chi = 0, bins = 0, rareExpected = 0, rareCount = 0;
    for (let t = 0; t < vocab; t++) {
      const expected = draws * p[t]!;
      if (expected === 0) assert.equal(counts[t], 0, `token ${t} is cut off`);
      if (expected < 10) {
        rareExpected += expected;
        rareCount += counts[t]!;
      } else {
        chi += (counts[t]! - expected) ** 2 / expected;
        bins++;
      }
    }
    if (rareExpected > 0) {
      chi += (rareCount - rareExpected) ** 2 / Math.max(rareExpected, 1);
      bins++;
    }
    const df = bins - 1; // the limit is the 99.9 % quantile by Wilson and Hilferty
    const limit = df * (1 - 2 / (9 * df) + 3.09 * Math.sqrt(2 / (9 * df))) ** 3;
    assert.ok(chi < limit, `χ² ${chi} of ${df} degrees of freedom, limit ${limit}`);
  }
});

testOnEveryDevice("all tokens inside the truncation are drawn, and no others", async (device) => {
  const vocab = 12, draws = 3000;
  const row = Float32Array.from({ length: vocab }, (_, t) => ((t * 5) % vocab) * 0.25);
  const logits = new Float32Array(draws * vocab);
  for (let r = 0; r < draws; r++) logits.set(row, r * vocab);
  for (const cut of [{ topK: 4 }, { topP: 0.6 }, { minP: 0.3 }, { topK: 6, topP: 0.7 }]) {
    const options = { ...PLAIN, ...cut };
    const p = keptDistribution(row, options);
    const { tokens } = await drawTokens(device, logits, countersOf(draws), vocab, options);
    const kept = [...p.keys()].filter((t) => p[t]! > 0);
    assert.deepEqual([...new Set(tokens)].sort((a, b) => a - b), kept, JSON.stringify(cut));
  }
});

testOnEveryDevice("ties at a threshold are all kept", async (device) => {
  const row = [1, -2, 1, 1, 0, -1e30], vocab = row.length, draws = 300;
  const logits = Float32Array.from({ length: draws * vocab }, (_, i) => row[i % vocab]!);
  for (const cut of [{ topK: 2 }, { topP: 0.2 }]) {
    const options = { ...PLAIN, ...cut };
    const { tokens } = await drawTokens(device, logits, countersOf(draws), vocab, options);
    assert.deepEqual([...new Set(tokens)].sort(), [0, 2, 3], JSON.stringify(cut));
  }
});

testOnEveryDevice(
  "greedy takes the lowest index of the maximum, with its logp at temperature 1",
  async (device) => {
    for (const vocab of [1, 2, 3, 17, 64, 65, 1000]) {
      const rows = 9, logits = logitsOf("greedy", rows, vocab), best = new Uint32Array(rows);
      for (let r = 0; r < rows; r++) {
        const row = logits.subarray(r * vocab, (r + 1) * vocab);
        const tied = stream(`ties ${r}`).sample([...row.keys()], Math.min(3, vocab));
        for (const t of tied) row[t] = 20;
        best[r] = Math.min(...tied);
      }
      const options = { temperature: 0, topK: 2, topP: 0.5, minP: 0.5 };
      const { tokens, logp } = await drawTokens(device, logits, countersOf(rows), vocab, options);
      assert.deepEqual(tokens, best, `vocab ${vocab}`);
      for (let r = 0; r < rows; r++) {
        const p = keptDistribution(logits.subarray(r * vocab, (r + 1) * vocab), PLAIN);
        assert.ok(Math.abs(logp[r]! - Math.log(p[best[r]!]!)) < 1e-5);
      }
    }
  },
);

testOnEveryDevice(
  "logits of one sign, zeros of both signs and negative logits are ordered",
  async (device) => {
    const options = { ...PLAIN, topK: 1 };
    for (
      const row of [[-3, -1, -2], [0, -1, -5], [-0, -1e-30, -2], [-1, 1e-30, -1e-30], [2, 3, 1]]
    ) {
      const best = row.indexOf(Math.max(...row));
      const logits = Float32Array.from(row);
      const { tokens } = await drawTokens(device, logits, countersOf(1), row.length, options);
      assert.equal(tokens[0], best, `[${row}]`);
    }
  },
);

testOnEveryDevice("a sample does not depend on its place in the batch", async (device) => {
  const rows = 31, vocab = 301, options = { temperature: 0.9, topK: 50, topP: 0.9, minP: 0.001 };
  const logits = logitsOf("order", rows, vocab), counters = countersOf(rows, 1000);
  const together = await drawTokens(device, logits, counters, vocab, options);
  for (let r = 0; r < rows; r++) {
    const alone = await drawTokens(
      device,
      logits.slice(r * vocab, (r + 1) * vocab),
      counters.slice(r * COUNTER_WORDS, (r + 1) * COUNTER_WORDS),
      vocab,
      options,
    );
    assert.equal(alone.tokens[0], together.tokens[r]);
    assert.equal(alone.logp[0], together.logp[r]);
  }
});

testOnEveryDevice("a different seed word or counter word gives different draws", async (device) => {
  const rows = 64, vocab = 50, logits = new Float32Array(rows * vocab);
  const base = countersOf(rows);
  const { tokens } = await drawTokens(device, logits, base, vocab, PLAIN);
  for (let word = 0; word < COUNTER_WORDS; word++) {
    const changed = base.map((c, i) => i % COUNTER_WORDS === word ? c + 1 : c);
    const other = await drawTokens(device, logits, changed, vocab, PLAIN);
    const same = other.tokens.filter((t, r) => t === tokens[r]).length;
    assert.ok(same < 10, `${same} of ${rows} draws are the same with another counter word ${word}`);
  }
});

testOnEveryDevice(
  "with adjusted logits, tokens are drawn from these, and logp is that of `scored`",
  async (device) => {
    for (const [vocab, temperature] of [[1, 1], [17, 0], [64, 0.8], [1003, 1.3]] as const) {
      const rows = 21, counters = countersOf(rows), options = { ...PLAIN, temperature };
      const policyLogits = logitsOf("policy", rows, vocab),
        adjusted = policyLogits.map((x) => x > 0 ? x / 3 : x);
      const alone = await drawTokens(device, adjusted, counters, vocab, options);
      const both = await drawTokens(device, adjusted, counters, vocab, options, policyLogits);
      assert.deepEqual(both.tokens, alone.tokens);
      for (let r = 0; r < rows; r++) {
        const row = policyLogits.subarray(r * vocab, (r + 1) * vocab);
        const p = keptDistribution(row, { ...PLAIN, temperature: temperature || 1 });
        assert.ok(Math.abs(both.logp[r]! - Math.log(p[both.tokens[r]!]!)) < 1e-5, `row ${r}`);
      }
    }
  },
);
