// Online softmax (Milakov & Gimelshein 2018) over one tile of keys, used by `attention` and
// `attention_decode`. Scores are stored key by key, [TILE keys][TILE queries], so that the lanes of
// a vector are different queries. Maxima, exponentials and sums then need no sums across lanes.
// The scratch holds the state of a block of up to TILE queries: Q (transposed and already scaled),
// the running maxima m, the running sums l, and the unnormalised outputs O in panels.
import { exp_f32x4 } from "../common/math.as";
import { PANEL_BYTES, SCORE_BYTES, TILE, TILE_BYTES, tile_columns, tile_scores } from "./tile.as";
import { element, OFFSET_BYTES, pack_rows, pack_transposed, unpack_row } from "./pack.as";

/** Score of a key that a query does not attend to; its exponential is 0. */
const MASKED: f32 = -1e30;

/** Number of queries whose scores, maxima and products are done at once; a multiple of 6 and 16. */
const STRIP: i32 = 48;

/** Floats of m and of l: the last vector of a block may reach 15 queries beyond its end. */
const STATE: i32 = TILE + 16;

// The scratch in order: S, m, l, 16 factors, offsets of the queries and of the keys (pack.as.ts),
// saved rows of other queries, then Qᵀ, Kᵀ, V, O (tiles of TILE × headDim, padded to a multiple of
// 16).
// @ts-ignore: decorator of AssemblyScript
@inline
export function maxima(scratch: usize): usize {
  return scratch + SCORE_BYTES + 64;
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function sums(scratch: usize): usize {
  return maxima(scratch) + STATE * 4;
}
// @ts-ignore: decorator of AssemblyScript
@inline
function factors(scratch: usize): usize {
  return sums(scratch) + STATE * 4;
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function query_offsets(scratch: usize): usize {
  return factors(scratch) + 64;
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function key_offsets(scratch: usize): usize {
  return query_offsets(scratch) + OFFSET_BYTES;
}
// @ts-ignore: decorator of AssemblyScript
@inline
function kept(scratch: usize): usize {
  return key_offsets(scratch) + OFFSET_BYTES;
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function queries(scratch: usize): usize {
  return kept(scratch) + TILE_BYTES;
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function keys(scratch: usize, padded: i32): usize {
  return queries(scratch) + (padded as usize) * TILE_BYTES;
}
// @ts-ignore: decorator of AssemblyScript
@inline
function values(scratch: usize, padded: i32): usize {
  return keys(scratch, padded) + (padded as usize) * TILE_BYTES;
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function outputs(scratch: usize, padded: i32): usize {
  return values(scratch, padded) + (padded as usize) * TILE_BYTES;
}

/** Initial state of `count` queries, which have not attended to any key. */
export function softmax_begin(count: i32, headDim: i32, scratch: usize): void {
  const padded = (headDim + 15) & ~15;
  const m = maxima(scratch), l = sums(scratch);
  for (let at: usize = 0; at < ((STATE * 4) as usize); at += 16) {
    v128.store(m + at, f32x4.splat(MASKED));
    v128.store(l + at, f32x4.splat(0));
  }
  // Register tiles of 6 queries may also add to the rows behind.
  const bytes = (min(count + 5, TILE) as usize) << 6;
  const end = outputs(scratch, padded) + (padded as usize) * TILE_BYTES;
  for (let o = outputs(scratch, padded); o < end; o += PANEL_BYTES) memory.fill(o, 0, bytes);
}

/** Copies `count` ≤ TILE keys and values, at the offsets of `key_offsets`, into the scratch. */
export function softmax_keys(
  k: usize,
  v: usize,
  count: i32,
  headDim: i32,
  scratch: usize,
): void {
  const padded = (headDim + 15) & ~15;
  pack_transposed(k, key_offsets(scratch), count, headDim, 1, keys(scratch, padded));
  pack_rows(v, key_offsets(scratch), count, headDim, 1, values(scratch, padded));
}

/**
 * Queries [from, to) of the block attend to the first `count` keys that `softmax_keys` copied: to
 * all of them, or with `causal` query i to the first i / group + 1 − shift. `firstKeys` is 0, or a
 * table of i32 with the number of the first key that each query of the block attends to; `keyStart`
 * is the number of the tile's first key. A query that attends to no key of this tile must have
 * attended to a key before.
 */
export function softmax_attend(
  from: i32,
  to: i32,
  count: i32,
  causal: bool,
  group: i32,
  shift: i32,
  firstKeys: usize,
  keyStart: i32,
  headDim: i32,
  scratch: usize,
): void {
  const padded = (headDim + 15) & ~15;
  for (let first = from; first < to; first += STRIP) {
    const last = min(first + STRIP, to);
    let i = first;
    for (; i < last; i += 16) {
      const reach = causal ? min(count, (min(i + 16, last) - 1) / group + 1 - shift) : count;
      scores(i, reach, headDim, padded, scratch);
      if (causal) mask_later(i, reach, group, shift, scratch);
      if (firstKeys != 0) mask_earlier(i, min(i + 16, last), reach, firstKeys, keyStart, scratch);
      exponentials(i, last, reach, padded, scratch);
      // A register tile that ends in the next vector of queries reads at most 5 keys more.
      let row = scratch + ((i as usize) << 2) + (reach as usize) * TILE_BYTES;
      for (let j = reach; j < min(reach + 5, count); j++, row += TILE_BYTES) {
        v128.store(row, f32x4.splat(0));
        v128.store(row, f32x4.splat(0), 16);
        v128.store(row, f32x4.splat(0), 32);
        v128.store(row, f32x4.splat(0), 48);
      }
    }
    for (let q = first; q < last; q += 6) {
      const reach = causal ? min(count, (min(q + 6, last) - 1) / group + 1 - shift) : count;
      const p = scratch + ((q as usize) << 2);
      const others = max(q + 6 - last, 0);
      let v = values(scratch, padded);
      let o = outputs(scratch, padded) + ((q as usize) << 6);
      for (let c = 0; c < padded; c += 16, v += PANEL_BYTES, o += PANEL_BYTES) {
        // The end of the last register tile belongs to other queries: their outputs are saved and
        // restored.
        const end = o + ((6 - others) as usize) * 64;
        copy_rows(end, kept(scratch), others);
        tile_columns(p, v, o, reach);
        copy_rows(kept(scratch), end, others);
      }
    }
  }
}

/** Copies `count` rows of a panel. */
// @ts-ignore: decorator of AssemblyScript
@inline
function copy_rows(from: usize, to: usize, count: i32): void {
  for (; count > 0; count--, from += 64, to += 64) {
    v128.store(to, v128.load(from));
    v128.store(to, v128.load(from, 16), 16);
    v128.store(to, v128.load(from, 32), 32);
    v128.store(to, v128.load(from, 48), 48);
  }
}

/**
 * Scores of queries [i, i + 16) with the first `reach` keys, rounded up to whole register tiles.
 */
function scores(i: i32, reach: i32, headDim: i32, padded: i32, scratch: usize): void {
  const q = queries(scratch) + ((i as usize) << 2);
  let k = keys(scratch, padded);
  let s = scratch + ((i as usize) << 2);
  for (let j = 0; j < reach; j += 6, k += 24, s += 6 * TILE_BYTES) tile_scores(k, q, s, headDim);
}

/**
 * Masks the later keys for each of the queries [i, i + 16): key j for queries < (j + shift)·group.
 */
function mask_later(i: i32, reach: i32, group: i32, shift: i32, scratch: usize): void {
  for (let j = max(i / group + 1 - shift, 0); j < reach; j++) {
    const stop = min((j + shift) * group, i + 16);
    const row = scratch + (j as usize) * TILE_BYTES;
    for (let q = i; q < stop; q++) store<f32>(row + ((q as usize) << 2), MASKED);
  }
}

/** Masks the keys before the first one that each of the queries [i, end) attends to. */
function mask_earlier(
  i: i32,
  end: i32,
  reach: i32,
  firstKeys: usize,
  keyStart: i32,
  scratch: usize,
): void {
  for (let q = i; q < end; q++) {
    const at = (q as usize) << 2;
    const hidden = min(load<i32>(firstKeys + at) - keyStart, reach);
    let score = scratch + at;
    for (let j = 0; j < hidden; j++, score += TILE_BYTES) store<f32>(score, MASKED);
  }
}

/** Mask of the queries i + first … i + first + 3 that are less than `last`. */
// @ts-ignore: decorator of AssemblyScript
@inline
function before(i: i32, first: i32, last: i32): v128 {
  return i32x4.lt_s(
    i32x4.add(i32x4.splat(i + first), i32x4(0, 1, 2, 3)),
    i32x4.splat(last),
  );
}

/**
 * S → e^(S − m) with the new maxima m, for the queries [i, i + 16) less than `last`. l and O are
 * scaled to the new m. The m and l of the queries from `last` on do not change.
 */
function exponentials(i: i32, last: i32, reach: i32, padded: i32, scratch: usize): void {
  const offset = (i as usize) << 2;
  const state = maxima(scratch) + offset, sum = sums(scratch) + offset;
  const begin = scratch + offset, end = begin + (reach as usize) * TILE_BYTES;
  let m0 = v128.load(state), m1 = v128.load(state, 16);
  let m2 = v128.load(state, 32), m3 = v128.load(state, 48);
  const b0 = m0, b1 = m1, b2 = m2, b3 = m3;
  for (let p = begin; p < end; p += TILE_BYTES) {
    m0 = f32x4.relaxed_max(m0, v128.load(p));
    m1 = f32x4.relaxed_max(m1, v128.load(p, 16));
    m2 = f32x4.relaxed_max(m2, v128.load(p, 32));
    m3 = f32x4.relaxed_max(m3, v128.load(p, 48));
  }
  const v0 = before(i, 0, last), v1 = before(i, 4, last);
  const v2 = before(i, 8, last), v3 = before(i, 12, last);
  m0 = v128.bitselect(m0, b0, v0);
  m1 = v128.bitselect(m1, b1, v1);
  m2 = v128.bitselect(m2, b2, v2);
  m3 = v128.bitselect(m3, b3, v3);
  v128.store(state, m0);
  v128.store(state, m1, 16);
  v128.store(state, m2, 32);
  v128.store(state, m3, 48);

  let l0 = v128.load(sum), l1 = v128.load(sum, 16);
  let l2 = v128.load(sum, 32), l3 = v128.load(sum, 48);
  const c0 = f32x4.sub(b0, m0), c1 = f32x4.sub(b1, m1);
  const c2 = f32x4.sub(b2, m2), c3 = f32x4.sub(b3, m3);
  const grown = v128.or(v128.or(c0, c1), v128.or(c2, c3));
  const known = v128.or(v128.or(l0, l1), v128.or(l2, l3));
  if (v128.any_true(grown) && v128.any_true(known)) {
    const c = factors(scratch);
    v128.store(c, exp_f32x4(c0));
    v128.store(c, exp_f32x4(c1), 16);
    v128.store(c, exp_f32x4(c2), 32);
    v128.store(c, exp_f32x4(c3), 48);
    l0 = f32x4.mul(l0, v128.load(c));
    l1 = f32x4.mul(l1, v128.load(c, 16));
    l2 = f32x4.mul(l2, v128.load(c, 32));
    l3 = f32x4.mul(l3, v128.load(c, 48));
    scale_outputs(i, min(last - i, 16), padded, scratch);
  }

  let t0 = f32x4.splat(0), t1 = t0, t2 = t0, t3 = t0;
  for (let p = begin; p < end; p += TILE_BYTES) {
    const p0 = exp_f32x4(f32x4.sub(v128.load(p), m0));
    const p1 = exp_f32x4(f32x4.sub(v128.load(p, 16), m1));
    const p2 = exp_f32x4(f32x4.sub(v128.load(p, 32), m2));
    const p3 = exp_f32x4(f32x4.sub(v128.load(p, 48), m3));
    v128.store(p, p0);
    v128.store(p, p1, 16);
    v128.store(p, p2, 32);
    v128.store(p, p3, 48);
    t0 = f32x4.add(t0, p0);
    t1 = f32x4.add(t1, p1);
    t2 = f32x4.add(t2, p2);
    t3 = f32x4.add(t3, p3);
  }
  v128.store(sum, f32x4.add(l0, v128.and(t0, v0)));
  v128.store(sum, f32x4.add(l1, v128.and(t1, v1)), 16);
  v128.store(sum, f32x4.add(l2, v128.and(t2, v2)), 32);
  v128.store(sum, f32x4.add(l3, v128.and(t3, v3)), 48);
}

/** Multiplies O of the queries [i, i + count) by their factors. */
function scale_outputs(i: i32, count: i32, padded: i32, scratch: usize): void {
  let c = factors(scratch);
  let row = outputs(scratch, padded) + ((i as usize) << 6);
  for (; count > 0; count--, c += 4, row += 64) {
    const s = v128.load32_splat(c);
    for (let o = row, d = 0; d < padded; d += 16, o += PANEL_BYTES) {
      v128.store(o, f32x4.mul(v128.load(o), s));
      v128.store(o, f32x4.mul(v128.load(o, 16), s), 16);
      v128.store(o, f32x4.mul(v128.load(o, 32), s), 32);
      v128.store(o, f32x4.mul(v128.load(o, 48), s), 48);
    }
  }
}

/** out = O/l for the first `count` queries, at the offsets of `query_offsets`. */
export function softmax_end(
  out: usize,
  count: i32,
  headDim: i32,
  scratch: usize,
): void {
  const padded = (headDim + 15) & ~15;
  let o = outputs(scratch, padded), l = sums(scratch);
  for (let i = 0; i < count; i++, o += 64, l += 4) {
    unpack_row(o, element(out, query_offsets(scratch), i), headDim, 1 / load<f32>(l));
  }
}

/** m + ln l of query i. */
export function softmax_lse(i: i32, scratch: usize): f32 {
  const at = (i as usize) << 2;
  return load<f32>(maxima(scratch) + at) + Mathf.log(load<f32>(sums(scratch) + at));
}
