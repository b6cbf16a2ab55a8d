/** Sampling on every device: distribution, truncation, ties, and independence of the batch. */
import assert from "node:assert/strict";
import { createWasmDevice } from "../devices/wasm/device.ts";
import { COUNTER_WORDS } from "../ops/sample/spec.ts";
import { testOnEveryDevice } from "./devices_testing.ts";
import {
  checkDraws,
  countersOf,
  type Draws,
  drawTokens,
  logitsOf,
  PLAIN,
  type SampleOptions,
} from "./sample_checks_testing.ts";

const CUTS: readonly SampleOptions[] = [
  PLAIN,
  { ...PLAIN, temperature: 0.6 },
  { ...PLAIN, temperature: 1e-30 },
  { ...PLAIN, temperature: 2.5, topK: 3 },
  { ...PLAIN, topK: 1 },
  { ...PLAIN, topK: 2 },
  { ...PLAIN, topK: 20 },
  { ...PLAIN, topK: 1_000_000 },
  { ...PLAIN, topP: 0.3 },
  { ...PLAIN, topP: 0.5 },
  { ...PLAIN, topP: 1e-6 },
  { ...PLAIN, topP: 0.95, temperature: 1.7 },
  { ...PLAIN, topP: 0.99 },
  { ...PLAIN, topK: 700, topP: 0.9 },
  { ...PLAIN, minP: 0.05 },
  { temperature: 1.3, topK: 20, topP: 0.8, minP: 0.02 },
  { temperature: 0, topK: 2, topP: 0.5, minP: 0.5 },
];

/** Random logits, and what `shape` makes of them. */
const random = (rows: number, vocab: number, shape = (x: number, _token: number) => x) => ({
  what: `${rows}×${vocab} ${shape}`,
  vocab,
  logits: logitsOf("draws", rows, vocab).map((x, i) => shape(x, i % vocab)),
});

/** The same logits in several rows. */
const repeated = (what: string, rows: number, row: readonly number[]) => ({
  what,
  vocab: row.length,
  logits: Float32Array.from({ length: rows * row.length }, (_, i) => row[i % row.length]!),
});

function allDraws(): Draws[] {
  const logits = [
    ...([[1, 1], [2, 2], [3, 7], [7, 63], [9, 65], [2, 1025], [5, 4099]] as const)
      .map(([rows, vocab]) => random(rows, vocab)),
    // Sharp: among so many equal chances every number would be near a boundary.
    random(2, 70_001, (x) => 3 * x),
    // Of one sign, very small and very large, ties.
    ...[
      (x: number) => 5 + x,
      (x: number) => -5 - Math.abs(x),
      (x: number) => 1e-4 * x,
      (x: number) => 300 * x,
      (x: number) => Math.sign(x) * 2 ** -9,
      (x: number) => Math.sign(x) * 128,
      () => 0,
      (x: number) => x > 1 ? x : -Infinity,
    ].map((shape) => random(3, 1500, shape)),
    // Tokens that are forbidden.
    random(20, 200, (x, token) => token % 3 === 1 ? x : -Infinity),
    repeated("ties", 20, [1, -2, 1, 1, 0, -1e30]),
    repeated("steps", 40, Array.from({ length: 12 }, (_, t) => t * 5 % 12 * 0.25)),
    ...[[-3, -1, -2], [0, -1, -5], [-0, -1e-30, -2], [-1, 1e-30, -1e-30], [2, 3, 1]]
      .map((row) => repeated(`[${row}]`, 2, row)),
    // Three tokens in different parts of a row.
    repeated(
      "three of 5000",
      6,
      Array.from({ length: 5000 }, (_, t) => [7, 1030, 4999].includes(t) ? -t / 1e4 : -40),
    ),
  ];
  const policy = ([[1, 1], [17, 0], [64, 0.8], [1003, 1.3]] as const).map((
    [vocab, temperature],
  ) => ({ ...random(21, vocab), options: { ...PLAIN, temperature } }));
  return [
    // Each has a third of the cuts, in turns.
    ...logits.flatMap((one, i) =>
      CUTS.filter((_, j) => (i + j) % 3 === 0).map((options) => ({ ...one, options }))
    ),
    ...policy.map((one) => ({
      ...one,
      what: `${one.vocab} with other logits for logp`,
      scored: one.logits.map((x) => x > 0 ? 3 * x : x),
    })),
  ];
}

let draws: Draws[] | undefined;

testOnEveryDevice(
  "a token is the inverse transform of its row's uniform number",
  async (device) => {
    for (const one of draws ??= allDraws()) await checkDraws(device, one);
  },
);

// The tokens of all devices follow from these numbers.
Deno.test("100 000 draws follow the probabilities", async () => {
  using device = await createWasmDevice({ threads: 1 });
  const draws = 100_000, vocab = 40, row = logitsOf("distribution", 1, vocab);
  const { logits } = repeated("", draws, [...row]);
  const { tokens } = await drawTokens(device, logits, countersOf(draws), vocab, PLAIN);
  const counts = new Float64Array(vocab), total = row.reduce((sum, x) => sum + Math.exp(x), 0);
  for (const token of tokens) counts[token]!++;
  const chi = counts.reduce((chi, count, t) => {
    const expected = draws * Math.exp(row[t]!) / total;
    assert.ok(expected > 5);
    return chi + (count - expected) ** 2 / expected;
  }, 0);
  const df = vocab - 1; // the limit is the 99.9 % quantile by Wilson and Hilferty
  const limit = df * (1 - 2 / (9 * df) + 3.09 * Math.sqrt(2 / (9 * df))) ** 3;
  assert.ok(chi < limit, `χ² ${chi} of ${df} degrees of freedom, limit ${limit}`);
});

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
