// Online softmax (Milakov & Gimelshein 2018) over one tile of keys, shared by `attention` and
// `attention_decode`. State of a block of up to TILE queries, in scratch: Q transposed and already scaled,
// the running maximum m, the running sum l, and the unnormalised output O in panels.
import { exp_f32x4 } from "../wasm/math.as";
import { PANEL_BYTES, TILE, tile_rows, tile_scores } from "./tile.as";
import { pack_rows, pack_transposed } from "./pack.as";

/** A score that no query reaches: its exponential is 0, and differences of two of them are numbers. */
const MASKED: f32 = -1e30;

/** Floats from the start of scratch: S [6][TILE] + 4, m and l [TILE] each, then Qᵀ, Kᵀ, V, O. */
// @ts-ignore: decorator of AssemblyScript
@inline
function at(scratch: usize, floats: i32): usize {
  return scratch + ((floats as usize) << 2);
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function maxima(scratch: usize): usize {
  return at(scratch, 6 * TILE);
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function sums(scratch: usize): usize {
  return at(scratch, 7 * TILE);
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function queries(scratch: usize): usize {
  return at(scratch, 8 * TILE);
}
// @ts-ignore: decorator of AssemblyScript
@inline
function keys(scratch: usize, padded: i32): usize {
  return at(scratch, (8 + padded) * TILE);
}
// @ts-ignore: decorator of AssemblyScript
@inline
function values(scratch: usize, padded: i32): usize {
  return at(scratch, (8 + 2 * padded) * TILE);
}
// @ts-ignore: decorator of AssemblyScript
@inline
export function outputs(scratch: usize, padded: i32): usize {
  return at(scratch, (8 + 3 * padded) * TILE);
}

/** Nothing attended yet: m = −1e30, l = 0, O = 0. */
export function softmax_begin(scratch: usize, headDim: i32): void {
  const padded = (headDim + 15) & ~15;
  const m = maxima(scratch), l = sums(scratch);
  for (let i = 0; i < TILE; i++) {
    store<f32>(m + ((i as usize) << 2), MASKED);
    store<f32>(l + ((i as usize) << 2), 0);
  }
  memory.fill(outputs(scratch, padded), 0, (padded * TILE * 4) as usize);
}

/** Brings `count` ≤ TILE keys and values, rows `stride` bytes apart, into scratch. */
export function softmax_keys(
  k: usize,
  v: usize,
  stride: usize,
  count: i32,
  headDim: i32,
  scratch: usize,
): void {
  const padded = (headDim + 15) & ~15;
  pack_transposed(k, stride, 1, count, headDim, 1, keys(scratch, padded));
  pack_rows(v, stride, 1, count, headDim, 1, values(scratch, padded));
}

/**
 * Queries [from, to) of the block attend to the keys brought by `softmax_keys`: query i to the first
 * `visible` of them, or with `causal` to the first min(visible, i / group + 1 − shift).
 */
export function softmax_attend(
  from: i32,
  to: i32,
  visible: i32,
  causal: bool,
  group: i32,
  shift: i32,
  headDim: i32,
  scratch: usize,
): void {
  const padded = (headDim + 15) & ~15;
  const q = queries(scratch), k = keys(scratch, padded), v = values(scratch, padded);
  const o = outputs(scratch, padded);
  for (let i = from; i < to; i += 6) {
    const count = min(to - i, 6);
    const reach = causal ? min(visible, (i + count - 1) / group + 1 - shift) : visible;
    const columns = (reach + 15) & ~15;
    for (let j = 0; j < columns; j += 16) {
      const offset = (j as usize) << 2;
      tile_scores(q + ((i as usize) << 2), k + offset, scratch + offset, headDim);
    }
    let row = scratch;
    for (let t = 0; t < count; t++) {
      const own = causal ? min(visible, (i + t) / group + 1 - shift) : visible;
      softmax_row(row, own, columns, i + t, padded, scratch);
      row += TILE * 4;
    }
    for (let t = count; t < 6; t++) {
      memory.fill(row, 0, (columns as usize) << 2);
      row += TILE * 4;
    }
    for (let c = 0; c < padded; c += 16) {
      const panel = ((c as usize) >> 4) * PANEL_BYTES;
      tile_rows(scratch, v + panel, o + panel + ((i as usize) << 6), reach);
    }
  }
}

/** Scores of one query → e^(S − m) with the new m; brings l and O to the new m. */
function softmax_row(
  row: usize,
  visible: i32,
  columns: i32,
  query: i32,
  padded: i32,
  scratch: usize,
): void {
  const end = row + ((columns as usize) << 2);
  for (let p = row + ((visible as usize) << 2); p < end; p += 4) store<f32>(p, MASKED);
  let m0 = v128.load(row), m1 = v128.load(row, 16);
  let m2 = v128.load(row, 32), m3 = v128.load(row, 48);
  for (let p = row + 64; p < end; p += 64) {
    m0 = f32x4.max(m0, v128.load(p));
    m1 = f32x4.max(m1, v128.load(p, 16));
    m2 = f32x4.max(m2, v128.load(p, 32));
    m3 = f32x4.max(m3, v128.load(p, 48));
  }
  m0 = f32x4.max(f32x4.max(m0, m1), f32x4.max(m2, m3));
  m0 = f32x4.max(m0, v128.shuffle<f32>(m0, m0, 2, 3, 0, 1));
  m0 = f32x4.max(m0, v128.shuffle<f32>(m0, m0, 1, 0, 3, 2));

  const state = maxima(scratch) + ((query as usize) << 2);
  const before = load<f32>(state);
  const after = max(before, f32x4.extract_lane(m0, 0));
  const m = f32x4.splat(after);
  let l0 = f32x4.splat(0), l1 = l0, l2 = l0, l3 = l0;
  for (let p = row; p < end; p += 64) {
    const p0 = exp_f32x4(f32x4.sub(v128.load(p), m));
    const p1 = exp_f32x4(f32x4.sub(v128.load(p, 16), m));
    const p2 = exp_f32x4(f32x4.sub(v128.load(p, 32), m));
    const p3 = exp_f32x4(f32x4.sub(v128.load(p, 48), m));
    v128.store(p, p0);
    v128.store(p, p1, 16);
    v128.store(p, p2, 32);
    v128.store(p, p3, 48);
    l0 = f32x4.add(l0, p0);
    l1 = f32x4.add(l1, p1);
    l2 = f32x4.add(l2, p2);
    l3 = f32x4.add(l3, p3);
  }
  l0 = f32x4.add(f32x4.add(l0, l1), f32x4.add(l2, l3));
  l0 = f32x4.add(l0, v128.shuffle<f32>(l0, l0, 2, 3, 0, 1));
  let l = f32x4.extract_lane(l0, 0) + f32x4.extract_lane(l0, 1);

  const sum = sums(scratch) + ((query as usize) << 2);
  const previous = load<f32>(sum);
  if (previous != 0 && after != before) {
    const c = exp_f32x4(f32x4.splat(before - after));
    l += previous * f32x4.extract_lane(c, 0);
    let o = outputs(scratch, padded) + ((query as usize) << 6);
    for (let d = 0; d < padded; d += 16) {
      v128.store(o, f32x4.mul(v128.load(o), c));
      v128.store(o, f32x4.mul(v128.load(o, 16), c), 16);
      v128.store(o, f32x4.mul(v128.load(o, 32), c), 32);
      v128.store(o, f32x4.mul(v128.load(o, 48), c), 48);
      o += PANEL_BYTES;
    }
  } else {
    l += previous;
  }
  store<f32>(state, after);
  store<f32>(sum, l);
}
