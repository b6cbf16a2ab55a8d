// Multiplies panels of stored weights by one or two rows of x. Panels are read in the order of
// memory, which hardware prefetchers follow. Where codes must be split or scales
// expanded, that is done for a few blocks at a time.

import { touch } from "../memory.as";
import * as codes from "./codes.as";
import * as scales from "./scales.as";
import { split_nf4, split_q5_0, split_q6_k } from "./split.as";
import {
  block_weights, INT8, NF4, Q4_0, Q4_1, Q4_K, Q5_0, Q6_K, Q8_0, record_bytes,
} from "./types.as";

/** Number of weights of a row whose codes are split and whose scales are expanded at once. */
const CHUNK = 256;
/** Bytes of scratch for a chunk: for the split codes, and for the scales with some room behind. */
const SPLIT_BYTES: usize = CHUNK * 16;
const SCALES_BYTES: usize = CHUNK * 4 + 64;
export const WORK_BYTES: usize = SPLIT_BYTES + SCALES_BYTES;

/**
 * Expands the scales of `blocks` blocks, from `first` on, whose records begin at `from` (split
 * codes).
 */
function expand_scales(
  type: i32, panel: usize, k: i32, from: usize, first: i32, blocks: i32, to: usize,
): void {
  const step = record_bytes(type);
  if (type == Q5_0) {
    scales.scales_halves(from + 320, step, to, blocks);
  } else if (type == NF4) {
    const groups = panel + ((k / 64) as usize) * step;
    scales.scales_nf4(from + 512, step, groups, first, to, blocks);
  } else {
    for (; blocks > 0; blocks--, from += step, to += 1024) scales.scales_q6_k(from + 3072, to);
  }
}

/** Splits the codes of `blocks` blocks whose records begin at `from`. */
function split_codes(type: i32, from: usize, blocks: i32, to: usize): void {
  const step = record_bytes(type);
  if (type == Q5_0) {
    split_q5_0(from, step, to, blocks);
    return;
  }
  for (; blocks > 0; blocks--, from += step) {
    if (type == NF4) {
      split_nf4(from, to, 8);
      to += 1024;
    } else {
      // Low and high bits are read from two places at once, which no hardware prefetcher follows.
      touch(from, step, to);
      split_q6_k(from, from + 2048, to, 16);
      to += 4096;
    }
  }
}

/** dot_panel for the types whose scales are read together with the codes. */
function dot_records(
  type: i32, m: i32, from: usize, x: usize, xStep: usize, sums: usize, sumStep: usize,
  totals: usize, blocks: i32,
): void {
  if (type == Q8_0) {
    if (m == 1) codes.dot_q8_0_1(from, x, xStep, totals, blocks);
    else codes.dot_q8_0_2(from, x, xStep, totals, blocks);
  } else if (type == INT8) {
    if (m == 1) codes.dot_int8_1(from, x, xStep, totals, blocks);
    else codes.dot_int8_2(from, x, xStep, totals, blocks);
  } else if (type == Q4_1) {
    if (m == 1) codes.dot_q4_1_1(from, x, xStep, sums, sumStep, totals, blocks);
    else codes.dot_q4_1_2(from, x, xStep, sums, sumStep, totals, blocks);
  } else {
    if (m == 1) codes.dot_q4_0_1(from, x, xStep, sums, sumStep, totals, blocks);
    else codes.dot_q4_0_2(from, x, xStep, sums, sumStep, totals, blocks);
  }
}

/**
 * totals [m][16] = a whole panel times m (1 or 2) rows of x, which matmul_stored_prepare
 * (kernels/ops/matmul/wasm/stored.as.ts) has prepared for the type. `work`: WORK_BYTES.
 */
export function dot_panel(
  type: i32, panel: usize, k: i32, x: usize, sums: usize, m: i32, totals: usize, work: usize,
): void {
  const weights = block_weights(type), step = record_bytes(type), blocks = k / weights;
  const xStep = (k as usize) * 4, sumStep = ((k / 32) as usize) * 4;
  memory.fill(totals, 0, (m as usize) * 64);
  if (type == Q4_0 || type == Q4_1 || type == Q8_0 || type == INT8) {
    dot_records(type, m, panel, x, xStep, sums, sumStep, totals, blocks);
    return;
  }
  const atOnce = CHUNK / weights, s = work + SPLIT_BYTES;
  for (let first = 0; first < blocks; first += atOnce, x += CHUNK * 4, sums += CHUNK / 8) {
    const count = min(blocks - first, atOnce);
    const from = panel + (first as usize) * step;
    if (type == Q4_K) {
      if (m == 1) codes.dot_q4_k_1(from, x, xStep, work, 8);
      else codes.dot_q4_k_2(from, x, xStep, work, 8);
      scales.scales_q4_k(from + 2048, s);
      scales.add_q4_k(s, work, sums, sumStep, m, totals);
      continue;
    }
    split_codes(type, from, count, work);
    expand_scales(type, panel, k, from, first, count, s);
    const parts = type == Q6_K ? 16 : 1, words = weights / parts / 4;
    if (m == 1) codes.dot_bytes_1(work, s, x, xStep, totals, count * parts, words);
    else codes.dot_bytes_2(work, s, x, xStep, totals, count * parts, words);
  }
}
