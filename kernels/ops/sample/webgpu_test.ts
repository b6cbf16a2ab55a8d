/** Sampling on the GPU with rows beyond one binding. */
import assert from "node:assert/strict";
import {
  countersOf,
  drawTokens,
  logitsOf,
  PLAIN,
} from "../../conformance/sample_checks_testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";
import { sameBits } from "../../testing.ts";
import { COUNTER_WORDS } from "./spec.ts";

testOnWebgpu(
  "rows beyond one binding, and a small workgroup, give the same bits",
  { bindingElements: 64 * 1100, invocations: 256, workgroupBytes: 16_384 },
  async (small) => {
    const rows = 150, vocab = 1100, logits = logitsOf("parts", rows, vocab);
    const scored = logits.map((x) => x / 2), counters = countersOf(rows);
    for (
      const options of [
        PLAIN,
        { ...PLAIN, temperature: 0 },
        { ...PLAIN, temperature: 1.3, topP: 0.9 },
        { temperature: 0.9, topK: 100, topP: 0.95, minP: 0.02 },
      ]
    ) {
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
