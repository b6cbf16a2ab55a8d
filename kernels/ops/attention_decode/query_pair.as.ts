// The online softmax of two queries of one key head over a tile of keys, without the scores: they
// depend on how the keys are stored (few_queries.as.ts, branch_keys.as.ts), and are two rows at the
// beginning of the scratch, TILE_BYTES apart. Each sum and each output is one chain of
// multiply-adds, key after key.
// V8's revectorizer widens functions that store neighbouring pairs of vectors to 256 bits. They are
// exported because it does not widen them when they are inlined.
import { exp_f32x4 } from "../common/math.as";
import { PANEL_BYTES, TILE_BYTES } from "../attention/tile.as";
import { maxima, outputs, sums } from "../attention/softmax.as";

/** Score of the lanes of a vector behind the last key. */
const MASKED: f32 = -1e30;

/**
 * Queries i and i + 1 of a block (with `count` 1 only i) attend to `n` keys whose scores are in the
 * scratch. The values are rows `stride` bytes apart: the first `shared` ones are read from
 * `vShared` on, the others from their place behind `v`.
 */
export function attend_query_pair(
  i: i32,
  count: i32,
  n: i32,
  v: usize,
  shared: i32,
  vShared: usize,
  stride: usize,
  headDim: i32,
  scratch: usize,
): void {
  const end = scratch + ((n as usize) << 2), bytes = (((n + 7) & ~7) as usize) << 2;
  for (let p = end; p < scratch + bytes; p += 4) {
    store<f32>(p, MASKED);
    store<f32>(p, MASKED, TILE_BYTES);
  }
  // Behind the scores: eight maxima of each query, the sums of both, and room for the output of a
  // second query that does not exist.
  const found = scratch + 2 * TILE_BYTES, added = found + 64, unwanted = found + 128;
  query_pair_maxima(scratch, bytes, found);
  const padded = (headDim + 15) & ~15;
  let o = outputs(scratch, padded) + ((i as usize) << 6);
  const m0 = query_maximum(i, found, o, padded, scratch);
  const m1 = count == 2 ? query_maximum(i + 1, found + 32, o + 64, padded, scratch) : m0;
  query_pair_exponentials(scratch, bytes, m0, m1);
  const middle = scratch + ((shared as usize) << 2);
  v += (shared as usize) * stride;
  let d = headDim;
  for (; d >= 16; d -= 16, v += 64, vShared += 64, o += PANEL_BYTES) {
    const second = count == 2 ? o + 64 : unwanted;
    store<u64>(added, 0);
    if (shared > 0) query_pair_values(scratch, middle, vShared, stride, o, second, added);
    query_pair_values(middle, end, v, stride, o, second, added);
  }
  for (; d > 0; d -= 4, v += 16, vShared += 16, o += 16) {
    const second = count == 2 ? o + 64 : unwanted;
    store<u64>(added, 0);
    if (shared > 0) query_pair_values_4(scratch, middle, vShared, stride, o, second, added);
    query_pair_values_4(middle, end, v, stride, o, second, added);
  }
  for (let t: usize = 0; t < (count as usize); t++) {
    const sum = sums(scratch) + (((i as usize) + t) << 2);
    store<f32>(sum, load<f32>(sum) + load<f32>(added + (t << 2)));
  }
}

/**
 * The new maximum of query i, from its old one and the eight at `found`. Its sum and its output are
 * scaled to it.
 */
function query_maximum(i: i32, found: usize, o: usize, padded: i32, scratch: usize): f32 {
  let x = f32x4.relaxed_max(v128.load(found), v128.load(found, 16));
  x = f32x4.relaxed_max(x, v128.shuffle<f32>(x, x, 2, 3, 0, 1));
  x = f32x4.relaxed_max(x, v128.shuffle<f32>(x, x, 1, 0, 3, 2));
  const at = (i as usize) << 2, state = maxima(scratch) + at, sum = sums(scratch) + at;
  const before = load<f32>(state), m = max(before, f32x4.extract_lane(x, 0));
  if (m == before) return m;
  store<f32>(state, m);
  // Before the first key there is nothing to scale.
  if (load<f32>(sum) == 0) return m;
  const c = f32x4.extract_lane(exp_f32x4(f32x4.splat(before - m)), 0);
  store<f32>(sum, load<f32>(sum) * c);
  scale_output(o, padded, c);
  return m;
}

/** Multiplies a query's row of the panels by c. */
function scale_output(o: usize, padded: i32, c: f32): void {
  const s = f32x4.splat(c);
  for (let d = 0; d < padded; d += 16, o += PANEL_BYTES) {
    v128.store(o, f32x4.mul(v128.load(o), s));
    v128.store(o, f32x4.mul(v128.load(o, 16), s), 16);
    v128.store(o, f32x4.mul(v128.load(o, 32), s), 32);
    v128.store(o, f32x4.mul(v128.load(o, 48), s), 48);
  }
}

/**
 * found[2][8] = maxima of the two rows of scores, in eight lanes each; `bytes` is a multiple of 32.
 */
export function query_pair_maxima(scores: usize, bytes: usize, found: usize): void {
  let a0 = v128.load(scores), a1 = v128.load(scores, 16);
  let b0 = v128.load(scores, 384), b1 = v128.load(scores, 400);
  for (const end = scores + bytes; scores < end; scores += 32) {
    a0 = f32x4.relaxed_max(a0, v128.load(scores));
    a1 = f32x4.relaxed_max(a1, v128.load(scores, 16));
    b0 = f32x4.relaxed_max(b0, v128.load(scores, 384));
    b1 = f32x4.relaxed_max(b1, v128.load(scores, 400));
  }
  v128.store(found, a0);
  v128.store(found, a1, 16);
  v128.store(found, b0, 32);
  v128.store(found, b1, 48);
}

/** Both rows of scores → e^(score − m), with the maximum of each query. */
export function query_pair_exponentials(p: usize, bytes: usize, m0: f32, m1: f32): void {
  const a = f32x4.splat(m0), b = f32x4.splat(m1);
  for (const end = p + bytes; p < end; p += 32) {
    const a0 = exp_f32x4(f32x4.sub(v128.load(p), a));
    const a1 = exp_f32x4(f32x4.sub(v128.load(p, 16), a));
    const b0 = exp_f32x4(f32x4.sub(v128.load(p, 384), b));
    const b1 = exp_f32x4(f32x4.sub(v128.load(p, 400), b));
    v128.store(p, a0);
    v128.store(p, a1, 16);
    v128.store(p, b0, 384);
    v128.store(p, b1, 400);
  }
}

/** o[16] += Σ_j p[j]·v_j for both rows of p; adds the sums of p to the two floats at `added`. */
export function query_pair_values(
  p: usize,
  end: usize,
  v: usize,
  stride: usize,
  o: usize,
  second: usize,
  added: usize,
): void {
  let a0 = v128.load(o), a1 = v128.load(o, 16), a2 = v128.load(o, 32), a3 = v128.load(o, 48);
  let b0 = v128.load(second), b1 = v128.load(second, 16);
  let b2 = v128.load(second, 32), b3 = v128.load(second, 48);
  let s = load<f32>(added), t = load<f32>(added, 4);
  for (; p < end; p += 4, v += stride) {
    const x = v128.load32_splat(p), y = v128.load32_splat(p, 384);
    const v0 = v128.load(v), v1 = v128.load(v, 16), v2 = v128.load(v, 32), v3 = v128.load(v, 48);
    a0 = f32x4.relaxed_madd(x, v0, a0);
    a1 = f32x4.relaxed_madd(x, v1, a1);
    a2 = f32x4.relaxed_madd(x, v2, a2);
    a3 = f32x4.relaxed_madd(x, v3, a3);
    b0 = f32x4.relaxed_madd(y, v0, b0);
    b1 = f32x4.relaxed_madd(y, v1, b1);
    b2 = f32x4.relaxed_madd(y, v2, b2);
    b3 = f32x4.relaxed_madd(y, v3, b3);
    s += load<f32>(p);
    t += load<f32>(p, 384);
  }
  v128.store(o, a0);
  v128.store(o, a1, 16);
  v128.store(o, a2, 32);
  v128.store(o, a3, 48);
  v128.store(second, b0);
  v128.store(second, b1, 16);
  v128.store(second, b2, 32);
  v128.store(second, b3, 48);
  store<f32>(added, s);
  store<f32>(added, t, 4);
}

/** query_pair_values for four columns. */
function query_pair_values_4(
  p: usize,
  end: usize,
  v: usize,
  stride: usize,
  o: usize,
  second: usize,
  added: usize,
): void {
  let a = v128.load(o), b = v128.load(second);
  let s = load<f32>(added), t = load<f32>(added, 4);
  for (; p < end; p += 4, v += stride) {
    const row = v128.load(v);
    a = f32x4.relaxed_madd(v128.load32_splat(p), row, a);
    b = f32x4.relaxed_madd(v128.load32_splat(p, 384), row, b);
    s += load<f32>(p);
    t += load<f32>(p, 384);
  }
  v128.store(o, a);
  v128.store(second, b);
  store<f32>(added, s);
  store<f32>(added, t, 4);
}
