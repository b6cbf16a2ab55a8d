// A few queries that attend to the keys of a prompt, which no other queries share. They would leave
// the tiles of attention/softmax.as.ts mostly empty. Here the lanes are keys, two queries are done
// at a time, and values are read in place. Every score, sum and output is the same chain of
// multiply-adds as there, in the same order. So the bits of a branch do not depend on how many
// others attend to its prompt. headDim must be a multiple of 4.
import { TILE, TILE_BYTES } from "../attention/tile.as";
import { key_offsets, keys, queries } from "../attention/softmax.as";
import { pack_transposed } from "../attention/pack.as";
import { read_ahead } from "./branch_keys.as";
import { attend_query_pair } from "./query_pair.as";

/**
 * Bytes of a column of a panel of packed keys (kernels/ops/matmul/spec.ts), and its number of keys.
 */
const COLUMN: usize = 64;
const PANEL_KEYS: i32 = 16;

/**
 * Queries [from, to) of the block attend to `count` keys: rows `stride` bytes apart, as in the
 * table of `key_offsets`. `packed` is 0, or the address of this key head's columns in the same keys
 * as panels. With panels, the first `shared` keys (whole panels) and their values are read from
 * `packedShared` and `vShared` on. `lead` as in read_ahead.
 */
export function attend_few_queries(
  k: usize,
  packed: usize,
  v: usize,
  shared: i32,
  packedShared: usize,
  vShared: usize,
  stride: usize,
  count: i32,
  from: i32,
  to: i32,
  headDim: i32,
  lead: usize,
  scratch: usize,
): void {
  const transposed = keys(scratch, (headDim + 15) & ~15);
  const column = packed == 0 ? TILE_BYTES : COLUMN;
  const panel = packed == 0 ? COLUMN : stride * (PANEL_KEYS as usize);
  for (let j = 0; j < count; j += TILE) {
    const n = min(count - j, TILE);
    const offset = (j as usize) * stride;
    if (packed == 0) {
      read_ahead(k + offset, v + offset, stride, n, lead, scratch);
      pack_transposed(k + offset, key_offsets(scratch), n, headDim, 1, transposed);
    }
    const tile = packed == 0 ? transposed : packed + offset;
    const there = max(0, min(n, shared - j));
    for (let i = from; i < to; i += 2) {
      const q = queries(scratch) + ((i as usize) << 2);
      let at: usize = 0, s = scratch;
      for (let first = 0; first < n; first += 2 * PANEL_KEYS, at += 2 * panel, s += 2 * COLUMN) {
        const low = (first < there ? packedShared + offset : tile) + at;
        // There may be no second panel.
        const second = first + PANEL_KEYS;
        const high = second < n
          ? (second < there ? packedShared + offset : tile) + at + panel
          : low;
        few_queries_scores(q, low, high, column, s, headDim);
      }
      const pair = min(to - i, 2);
      attend_query_pair(i, pair, n, v + offset, there, vShared + offset, stride, headDim, scratch);
    }
  }
}

/**
 * Two rows of scores s: two queries (columns of Qᵀ) with the 16 keys at `low` and the 16 at `high`.
 */
export function few_queries_scores(
  q: usize,
  low: usize,
  high: usize,
  column: usize,
  s: usize,
  headDim: i32,
): void {
  let a0 = f32x4.splat(0), a1 = f32x4.splat(0), a2 = f32x4.splat(0), a3 = f32x4.splat(0);
  let a4 = f32x4.splat(0), a5 = f32x4.splat(0), a6 = f32x4.splat(0), a7 = f32x4.splat(0);
  let b0 = f32x4.splat(0), b1 = f32x4.splat(0), b2 = f32x4.splat(0), b3 = f32x4.splat(0);
  let b4 = f32x4.splat(0), b5 = f32x4.splat(0), b6 = f32x4.splat(0), b7 = f32x4.splat(0);
  for (; headDim > 0; headDim--, q += TILE_BYTES, low += column, high += column) {
    const k0 = v128.load(low), k1 = v128.load(low, 16), k2 = v128.load(low, 32);
    const k3 = v128.load(low, 48), k4 = v128.load(high), k5 = v128.load(high, 16);
    const k6 = v128.load(high, 32), k7 = v128.load(high, 48);
    let x = v128.load32_splat(q);
    a0 = f32x4.relaxed_madd(x, k0, a0);
    a1 = f32x4.relaxed_madd(x, k1, a1);
    a2 = f32x4.relaxed_madd(x, k2, a2);
    a3 = f32x4.relaxed_madd(x, k3, a3);
    a4 = f32x4.relaxed_madd(x, k4, a4);
    a5 = f32x4.relaxed_madd(x, k5, a5);
    a6 = f32x4.relaxed_madd(x, k6, a6);
    a7 = f32x4.relaxed_madd(x, k7, a7);
    x = v128.load32_splat(q, 4);
    b0 = f32x4.relaxed_madd(x, k0, b0);
    b1 = f32x4.relaxed_madd(x, k1, b1);
    b2 = f32x4.relaxed_madd(x, k2, b2);
    b3 = f32x4.relaxed_madd(x, k3, b3);
    b4 = f32x4.relaxed_madd(x, k4, b4);
    b5 = f32x4.relaxed_madd(x, k5, b5);
    b6 = f32x4.relaxed_madd(x, k6, b6);
    b7 = f32x4.relaxed_madd(x, k7, b7);
  }
  v128.store(s, a0);
  v128.store(s, a1, 16);
  v128.store(s, a2, 32);
  v128.store(s, a3, 48);
  v128.store(s, a4, 64);
  v128.store(s, a5, 80);
  v128.store(s, a6, 96);
  v128.store(s, a7, 112);
  v128.store(s, b0, 384);
  v128.store(s, b1, 400);
  v128.store(s, b2, 416);
  v128.store(s, b3, 432);
  v128.store(s, b4, 448);
  v128.store(s, b5, 464);
  v128.store(s, b6, 480);
  v128.store(s, b7, 496);
}
