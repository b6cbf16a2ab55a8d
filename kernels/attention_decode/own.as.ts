// One query against the keys of its own branch: too few queries share these keys to transpose them, so
// each score is a dot product along the key's row, four keys at a time. Continues the online softmax
// (kernels/attention/softmax.as.ts) of query `i` of a block. headDim must be a multiple of 4.
import { exp_f32x4 } from "../wasm/math.as";
import { PANEL_BYTES, TILE } from "../attention/tile.as";
import { maxima, outputs, sums } from "../attention/softmax.as";

/** Keys and values: `count` rows, `stride` bytes apart. */
export function own_attend(
  q: usize,
  k: usize,
  v: usize,
  stride: usize,
  count: i32,
  headDim: i32,
  scale: f32,
  i: i32,
  scratch: usize,
): void {
  const offset = (i as usize) << 2;
  const state = maxima(scratch) + offset, sum = sums(scratch) + offset;
  const o = outputs(scratch, (headDim + 15) & ~15) + ((i as usize) << 6);
  for (let j = 0; j < count; j += TILE) {
    const n = min(count - j, TILE);
    const first = (j as usize) * stride;
    const before = load<f32>(state);
    const m = max(before, scores(q, k + first, stride, n, headDim, scale, scratch));
    const c = f32x4.extract_lane(exp_f32x4(f32x4.splat(before - m)), 0);
    store<f32>(state, m);
    store<f32>(sum, load<f32>(sum) * c + exponentials(n, m, scratch));
    add_values(v + first, stride, n, headDim, c, o, scratch);
  }
}

/** scratch[j] = scale·q·k_j, −1e30 up to the next multiple of 16; returns the largest. */
function scores(
  q: usize,
  k: usize,
  stride: usize,
  n: i32,
  headDim: i32,
  scale: f32,
  scratch: usize,
): f32 {
  const s = f32x4.splat(scale);
  const bytes = (headDim as usize) << 2;
  const last = k + ((n - 1) as usize) * stride;
  let largest = f32x4.splat(-1e30);
  let to = scratch;
  for (let k0 = k; k0 <= last; k0 += 4 * stride, to += 16) {
    const k1 = min(k0 + stride, last), k2 = min(k0 + 2 * stride, last);
    const k3 = min(k0 + 3 * stride, last);
    let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0;
    for (let d: usize = 0; d < bytes; d += 16) {
      const x = v128.load(q + d);
      a0 = f32x4.relaxed_madd(x, v128.load(k0 + d), a0);
      a1 = f32x4.relaxed_madd(x, v128.load(k1 + d), a1);
      a2 = f32x4.relaxed_madd(x, v128.load(k2 + d), a2);
      a3 = f32x4.relaxed_madd(x, v128.load(k3 + d), a3);
    }
    // Sums of the four lanes of each: two rounds of transposing halves.
    const b0 = f32x4.add(
      v128.shuffle<f32>(a0, a1, 0, 4, 1, 5),
      v128.shuffle<f32>(a0, a1, 2, 6, 3, 7),
    );
    const b1 = f32x4.add(
      v128.shuffle<f32>(a2, a3, 0, 4, 1, 5),
      v128.shuffle<f32>(a2, a3, 2, 6, 3, 7),
    );
    const dots = f32x4.add(
      v128.shuffle<f32>(b0, b1, 0, 1, 4, 5),
      v128.shuffle<f32>(b0, b1, 2, 3, 6, 7),
    );
    const z = f32x4.mul(dots, s);
    largest = f32x4.relaxed_max(largest, z);
    v128.store(to, z);
  }
  const end = scratch + ((((n + 15) & ~15) as usize) << 2);
  for (to = scratch + ((n as usize) << 2); to < end; to += 4) store<f32>(to, -1e30);
  largest = f32x4.relaxed_max(largest, v128.shuffle<f32>(largest, largest, 2, 3, 0, 1));
  largest = f32x4.relaxed_max(largest, v128.shuffle<f32>(largest, largest, 1, 0, 3, 2));
  return f32x4.extract_lane(largest, 0);
}

/** scratch[j] → e^(scratch[j] − m); returns the sum. */
function exponentials(n: i32, m: f32, scratch: usize): f32 {
  const mm = f32x4.splat(m);
  const end = scratch + ((((n + 15) & ~15) as usize) << 2);
  let s0 = f32x4.splat(0), s1 = s0, s2 = s0, s3 = s0;
  for (let p = scratch; p < end; p += 64) {
    const p0 = exp_f32x4(f32x4.sub(v128.load(p), mm));
    const p1 = exp_f32x4(f32x4.sub(v128.load(p, 16), mm));
    const p2 = exp_f32x4(f32x4.sub(v128.load(p, 32), mm));
    const p3 = exp_f32x4(f32x4.sub(v128.load(p, 48), mm));
    v128.store(p, p0);
    v128.store(p, p1, 16);
    v128.store(p, p2, 32);
    v128.store(p, p3, 48);
    s0 = f32x4.add(s0, p0);
    s1 = f32x4.add(s1, p1);
    s2 = f32x4.add(s2, p2);
    s3 = f32x4.add(s3, p3);
  }
  s0 = f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3));
  return (f32x4.extract_lane(s0, 0) + f32x4.extract_lane(s0, 1)) +
    (f32x4.extract_lane(s0, 2) + f32x4.extract_lane(s0, 3));
}

/** O = c·O + Σ_j scratch[j]·v_j, for one query; `o` is its row in the first panel. */
function add_values(
  v: usize,
  stride: usize,
  n: i32,
  headDim: i32,
  c: f32,
  o: usize,
  scratch: usize,
): void {
  const cc = f32x4.splat(c);
  const even = scratch + (((n & ~1) as usize) << 2);
  const bytes = (headDim as usize) << 2;
  let d: usize = 0;
  // Two columns of vectors and two chains of keys: enough chains to hide the latency of one.
  for (; d + 32 <= bytes; d += 32) {
    const to = o + (d >> 6) * PANEL_BYTES + (d & 63);
    let e0 = f32x4.mul(v128.load(to), cc), e1 = f32x4.mul(v128.load(to, 16), cc);
    let f0 = f32x4.splat(0), f1 = f0;
    let row = v + d, p = scratch;
    for (; p < even; p += 8) {
      const x = v128.load32_splat(p), y = v128.load32_splat(p, 4);
      e0 = f32x4.relaxed_madd(x, v128.load(row), e0);
      e1 = f32x4.relaxed_madd(x, v128.load(row, 16), e1);
      row += stride;
      f0 = f32x4.relaxed_madd(y, v128.load(row), f0);
      f1 = f32x4.relaxed_madd(y, v128.load(row, 16), f1);
      row += stride;
    }
    if (n & 1) {
      const x = v128.load32_splat(p);
      e0 = f32x4.relaxed_madd(x, v128.load(row), e0);
      e1 = f32x4.relaxed_madd(x, v128.load(row, 16), e1);
    }
    v128.store(to, f32x4.add(e0, f0));
    v128.store(to, f32x4.add(e1, f1), 16);
  }
  for (; d < bytes; d += 16) {
    const to = o + (d >> 6) * PANEL_BYTES + (d & 63);
    let e = f32x4.mul(v128.load(to), cc);
    let row = v + d;
    for (let p = scratch; p < scratch + ((n as usize) << 2); p += 4, row += stride) {
      e = f32x4.relaxed_madd(v128.load32_splat(p), v128.load(row), e);
    }
    v128.store(to, e);
  }
}
