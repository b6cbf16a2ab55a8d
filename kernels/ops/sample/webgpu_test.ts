/** Sampling on the GPU: the reference's tokens, forbidden tokens, and rows beyond one binding. */
import { COUNTER_WORDS } from "./spec.ts";
import assert from "node:assert/strict";
import { philox4x32, uniform23 } from "../../../core/philox.ts";
import {
  countersOf,
  drawTokens,
  keptDistribution,
  logitsOf,
  PLAIN,
} from "../../conformance/sample_checks_testing.ts";
import { createReferenceDevice } from "../../devices/reference/device.ts";
import { assertWithin, sameBits } from "../../testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";

const SETTINGS = [
  PLAIN,
  { ...PLAIN, temperature: 0 },
  { ...PLAIN, temperature: 0.7, topK: 40 },
  { ...PLAIN, temperature: 1.3, topP: 0.9 },
  { temperature: 0.9, topK: 100, topP: 0.95, minP: 0.02 },
];

/** The rows whose uniform number is nearer than `margin` to a boundary between two tokens. */
function nearBoundaries(
  logits: Float32Array,
  counters: Uint32Array,
  options: typeof PLAIN,
  margin = 1e-4,
): Set<number> {
  const rows = counters.length / COUNTER_WORDS,
    vocab = logits.length / rows,
    near = new Set<number>();
  const words = new Uint32Array(4);
  for (let r = 0; r < rows; r++) {
    const at = COUNTER_WORDS * r;
    const [c1, c2, c3, low, high] = counters.subarray(at, at + COUNTER_WORDS);
    philox4x32(words, 0, c1!, c2!, c3!, low!, high!);
    const u = uniform23(words[0]!);
    let upto = 0;
    for (const p of keptDistribution(logits.subarray(r * vocab, (r + 1) * vocab), options)) {
      upto += p;
      if (p > 0 && Math.abs(u - upto) < margin) near.add(r);
    }
  }
  return near;
}

testOnWebgpu("the GPU draws the reference's tokens away from boundaries", {}, async (device) => {
  const reference = createReferenceDevice({ float: "f64" });
  for (const [rows, vocab] of [[40, 3], [40, 129], [40, 1500], [5, 70_001]] as const) {
    // Sharp logits: among 70 001 equal chances every number would be near a boundary.
    const logits = logitsOf("tokens", rows, vocab).map((x) => 3 * x), counters = countersOf(rows);
    for (const options of SETTINGS) {
      const expected = await drawTokens(reference, logits, counters, vocab, options);
      const found = await drawTokens(device, logits, counters, vocab, options);
      const near = options.temperature === 0
        ? new Set<number>()
        : nearBoundaries(logits, counters, options);
      assert.ok(near.size < rows, "every draw is near a boundary");
      for (let r = 0; r < rows; r++) {
        if (near.has(r)) continue;
        const what = `vocab ${vocab}, ${JSON.stringify(options)}, row ${r}`;
        assert.equal(found.tokens[r], expected.tokens[r], what);
        assertWithin([found.logp[r]!], [expected.logp[r]!], 5e-6 + 2 ** -22 * 50, `logp, ${what}`);
      }
    }
  }
  reference.close();
});

testOnWebgpu("forbidden tokens, which are −∞, are never drawn", {}, async (device) => {
  const rows = 200, vocab = 200, logits = logitsOf("forbidden", rows, vocab);
  for (let i = 0; i < logits.length; i++) if (i % vocab % 3 !== 1) logits[i] = -Infinity;
  for (const options of [...SETTINGS, { ...PLAIN, topK: 150 }, { ...PLAIN, temperature: 1e-30 }]) {
    const { tokens, logp } = await drawTokens(device, logits, countersOf(rows), vocab, options);
    for (let r = 0; r < rows; r++) {
      assert.equal(tokens[r]! % 3, 1, JSON.stringify(options));
      assert.ok(logp[r]! <= 0 && logp[r]! > -50, `logp ${logp[r]}`);
    }
  }
});

testOnWebgpu(
  "top-p ends at the token where the mass is reached",
  {},
  async (device) => {
    const vocab = 5000, rows = 300, logits = new Float32Array(rows * vocab).fill(-40);
    for (let r = 0; r < rows; r++) {
      for (const t of [7, 1030, 4999]) {
        logits[r * vocab + t] = -t / 1e4;
      }
    }
    for (const [topP, kept] of [[0.3, [7]], [0.5, [7, 1030]], [0.99, [7, 1030, 4999]]] as const) {
      const options = { ...PLAIN, topP };
      const { tokens } = await drawTokens(device, logits, countersOf(rows), vocab, options);
      assert.deepEqual([...new Set(tokens)].sort((a, b) => a - b), kept, `top-p ${topP}`);
    }
  },
);

testOnWebgpu(
  "a search finds the reference's limits, whatever the size of the logits",
  {},
  async (device) => {
    const vocab = 1500,
      shapes: ((x: number) => number)[] = [
        (x) => 3 * x,
        (x) => 5 + x,
        (x) => -5 - Math.abs(x),
        // Beyond both ends of the spread digits, and on them.
        (x) => 1e-4 * x,
        (x) => 300 * x,
        (x) => Math.sign(x) * 2 ** -9,
        (x) => Math.sign(x) * 128,
        () => 0,
        (x) => x > 1 ? x : -Infinity,
      ];
    const rows = 4 * shapes.length, logits = logitsOf("searches", rows, vocab);
    logits.forEach((x, i) => logits[i] = shapes[Math.floor(i / vocab / 4)]!(x));
    const counters = countersOf(rows), reference = createReferenceDevice({ float: "f64" });
    for (const filters of [{ topK: 20 }, { topP: 0.6 }, { topK: 700, topP: 0.9 }]) {
      const options = { ...PLAIN, ...filters };
      const expected = await drawTokens(reference, logits, counters, vocab, options);
      const found = await drawTokens(device, logits, counters, vocab, options);
      const near = nearBoundaries(logits, counters, options);
      for (let r = 0; r < rows; r++) {
        if (!near.has(r)) assert.equal(found.tokens[r], expected.tokens[r], `row ${r}`);
      }
    }
    reference.close();
  },
);

testOnWebgpu(
  "rows beyond one binding, and a small workgroup, give the same bits",
  { bindingElements: 64 * 1100, invocations: 256, workgroupBytes: 16_384 },
  async (small) => {
    const rows = 150, vocab = 1100, logits = logitsOf("parts", rows, vocab);
    const scored = logits.map((x) => x / 2), counters = countersOf(rows);
    for (const options of SETTINGS) {
      const cut = await drawTokens(small, logits, counters, vocab, options, scored);
      for (const from of [0, 70, 149]) {
        const row = (data: Float32Array) => data.slice(from * vocab, (from + 1) * vocab);
        const key = counters.slice(COUNTER_WORDS * from, COUNTER_WORDS * (from + 1));
        const alone = await drawTokens(small, row(logits), key, vocab, options, row(scored));
        assert.equal(cut.tokens[from], alone.tokens[0]);
        assert.ok(sameBits(Float32Array.of(cut.logp[from]!), alone.logp as Float32Array));
      }
    }
  },
);
