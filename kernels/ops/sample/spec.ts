/**
 * Draws one token per row of logits. Order as in transformers: temperature → top-k → top-p → min-p → draw.
 * Temperature 0 is greedy (lowest index wins ties). A token is kept when its ordered bits reach a threshold
 * (largest t with #{z ≥ t} ≥ topK; then largest t with mass{z ≥ t} ≥ topP·mass; then z ≥ max + ln minP), so
 * ties at the threshold are all kept. The draw is the inverse transform in index order of one uniform,
 * Philox(seed; c0 = 0, c1, c2, c3) → word 0 → `uniform23`: it does not depend on the batch or the grid.
 * `logp` is log-softmax(scored/temperature)[token] before top-k/top-p (temperature 1 when greedy), where
 * `scored` are the logits themselves, or the policy's own where a rule of sampling has adjusted the logits.
 */
import type { Tensor } from "../../tensor.ts";

export interface SampleArgs {
  logits: Tensor; // [rows, vocab]
  /** Default: `logits`. */
  scored?: Tensor; // [rows, vocab]
  counters: Tensor; // u32 [rows, 3]: c1, c2, c3 (core/philox.ts, sampleCounter)
  tokens: Tensor; // u32 [rows]
  logp: Tensor; // [rows]
  rows: number;
  vocab: number;
  seedLow: number;
  seedHigh: number;
  temperature: number;
  /** 0 = off. */
  topK: number;
  /** 1 = off. */
  topP: number;
  /** 0 = off. */
  minP: number;
}
