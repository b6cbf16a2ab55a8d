// Panels of stored weights: widened, or multiplied by one or two rows of x. A panel is gone through in chunks whose
// scales (and split codes) fit the first cache.

import { widen_halves_panel } from "../matmul/halves.as";
import * as codes from "./codes.as";
import * as scales from "./scales.as";
import { split_nf4, split_q5_0, split_q6_k } from "./split.as";
import {
  BF16, block_weights, INT8, NF4, Q4_0, Q4_1, Q4_K, Q5_0, Q6_K, Q8_0, record_bytes,
} from "./types.as";

/** Weights of a row in a chunk. */
const CHUNK = 1024;
/** Scratch of a chunk: split codes, and scales: 128 bytes for 32 weights or less, and some more. */
const SPLIT_BYTES: usize = CHUNK * 16;
const SCALES_BYTES: usize = CHUNK * 4 + 64;
export const WORK_BYTES: usize = SPLIT_BYTES + SCALES_BYTES;

/**
 * Reads a word of every line of [from, from + bytes), so that all of them are on their way from memory before the
 * first is needed: the kernels come back to the lines in an order that no prefetcher follows. The sum goes to `to`,
 * or the compiler would leave the reads out.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
export function touch(from: usize, bytes: usize, to: usize): void {
  let sum: i32 = 0;
  for (const end = from + bytes; from < end; from += 64) sum += load<i32>(from);
  store<i32>(to, sum);
}

/** Scales of `blocks` blocks from `first` on, whose records begin at `from`. */
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
    for (; blocks > 0; blocks--, from += step, to += 1024) {
      if (type == Q4_K) scales.scales_q4_k(from + 2048, to);
      else scales.scales_q6_k(from + 3072, to);
    }
  }
}

/** Split codes of `blocks` blocks whose records begin at `from`. */
function split_codes(type: i32, from: usize, blocks: i32, to: usize): void {
  const step = record_bytes(type);
  if (type == Q5_0) {
    split_q5_0(from, step, to, blocks);
    split_q5_0(from + 32, step, to + 32, blocks);
    return;
  }
  for (; blocks > 0; blocks--, from += step) {
    if (type == NF4) {
      split_nf4(from, to, 8);
      to += 1024;
    } else {
      split_q6_k(from, from + 2048, to, 16);
      split_q6_k(from + 32, from + 2080, to + 32, 16);
      to += 4096;
    }
  }
}

/**
 * Blocks `first` … `first` + `blocks` of a panel of `rows` rows of k, as floats [k][16] at `to`; what is missing at 16
 * rows are zeros. `work`: WORK_BYTES.
 */
export function widen_panel(
  type: i32, panel: usize, rows: i32, k: i32, first: i32, blocks: i32, to: usize, work: usize,
): void {
  if (type <= BF16) {
    const from = panel + (first as usize) * 4;
    widen_halves_panel(from, (k as usize) * 2, rows, 2 * blocks, to, type == BF16 ? 1 : 0);
    return;
  }
  const weights = block_weights(type), step = record_bytes(type);
  const most = CHUNK / weights;
  const s = work + SPLIT_BYTES;
  for (; blocks > 0; blocks -= most, first += most, to += CHUNK * 64) {
    const count = min(blocks, most);
    const from = panel + (first as usize) * step;
    if (type == Q4_1) codes.widen_q4_1(from, to, count);
    else if (type == Q4_0) codes.widen_q4_0(from, to, count);
    else if (type == Q8_0) codes.widen_q8_0(from, to, count);
    else if (type == INT8) codes.widen_int8(from, to, count);
    else if (type == Q4_K) {
      expand_scales(type, panel, k, from, first, count, s);
      for (let b: usize = 0; b < (count as usize); b++) {
        codes.widen_nibbles(from + b * step, s + b * 1024, to + b * 16384, 8);
      }
    } else {
      expand_scales(type, panel, k, from, first, count, s);
      split_codes(type, from, count, work);
      const parts = type == Q6_K ? 16 : 1;
      codes.widen_split(work, s, to, count * parts, weights / parts / 8);
    }
  }
}

function dot_nibbles(
  m: i32, from: usize, s: usize, x: usize, xStep: usize, sums: usize, sumStep: usize,
  totals: usize, blocks: i32,
): void {
  for (let half: usize = 0; half < 64; half += 32) {
    const at = from + half, scales = s + half, to = totals + half;
    if (m == 1) codes.dot_nibbles_1(at, scales, x, xStep, sums, sumStep, to, blocks);
    else codes.dot_nibbles_2(at, scales, x, xStep, sums, sumStep, to, blocks);
  }
}

/** The types of which the scales are read with the codes. */
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
 * totals [m][16] = a whole panel times m (1 or 2) rows of x, which are prepared for the type
 * (matmul_stored_prepare). `work`: WORK_BYTES.
 */
export function dot_panel(
  type: i32, panel: usize, k: i32, x: usize, sums: usize, m: i32, totals: usize, work: usize,
): void {
  const weights = block_weights(type), step = record_bytes(type);
  const most = CHUNK / weights;
  const xStep = (k as usize) * 4, sumStep = ((k / 32) as usize) * 4;
  const s = work + SPLIT_BYTES;
  memory.fill(totals, 0, (m as usize) * 64);
  const blocks = k / weights;
  for (let first = 0; first < blocks; first += most, x += CHUNK * 4, sums += CHUNK / 8) {
    const count = min(blocks - first, most);
    const from = panel + (first as usize) * step;
    if (type == Q4_0 || type == Q4_1 || type == Q8_0 || type == INT8) {
      dot_records(type, m, from, x, xStep, sums, sumStep, totals, count);
      continue;
    }
    touch(from, (count as usize) * step, work);
    expand_scales(type, panel, k, from, first, count, s);
    if (type == Q4_K) {
      for (let b: usize = 0; b < (count as usize); b++) {
        dot_nibbles(
          m, from + b * step, s + b * 1024, x + b * 1024, xStep, sums + b * 32, sumStep,
          totals, 8,
        );
      }
    } else {
      split_codes(type, from, count, work);
      const parts = type == Q6_K ? 16 : 1;
      const words = weights / parts / 4;
      if (m == 1) codes.dot_bytes_1(work, s, x, xStep, totals, count * parts, words);
      else codes.dot_bytes_2(work, s, x, xStep, totals, count * parts, words);
    }
  }
}

