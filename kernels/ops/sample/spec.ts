/**
 * Draws one token for each row of logits. The order is that of transformers: temperature → top-k →
 * top-p → min-p → draw. Temperature 0 is greedy: the largest logit, of equal ones that with the
 * lowest index.
 * With z = logits/temperature, a token is kept when the ordered bits of z reach a threshold: the
 * largest t with #{z ≥ t} ≥ topK, then the largest t with mass{z ≥ t} ≥ topP·mass. Then
 * z ≥ max + ln minP must hold. All tokens that equal the threshold are kept.
 * The draw is the inverse transform, in index order, of one uniform number: word 0 of
 * Philox(seed; c0 = 0, c1, c2, c3), by `uniform23`. Every row has its own seed. The draw does not
 * depend on the batch or the grid.
 * `logp` is log-softmax(scored/temperature)[token] before top-k, top-p and min-p (temperature 1
 * when greedy). `scored` are the logits, or the model's logits where sampling rules have adjusted
 * them.
 */
import type { Tensor } from "../../tensor.ts";

/** Words of a row in `SampleArgs.counters`. */
export const COUNTER_WORDS = 5;

export interface SampleArgs {
  logits: Tensor; // [rows, vocab]
  /** Default: `logits`. */
  scored?: Tensor; // [rows, vocab]
  /** c1, c2, c3 (core/philox.ts, sampleCounter), then the low and the high word of the seed. */
  counters: Tensor; // u32 [rows, COUNTER_WORDS]
  tokens: Tensor; // u32 [rows]
  logp: Tensor; // [rows]
  rows: number;
  vocab: number;
  temperature: number;
  /** 0 = off. */
  topK: number;
  /** 1 = off. */
  topP: number;
  /** 0 = off. */
  minP: number;
}
