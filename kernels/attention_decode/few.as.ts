// Few queries against the keys of a prompt that they share with nobody else. The tiles of softmax.as.ts would be
// mostly empty: here keys lie in the lanes, one query at a time, and values are read where they lie. Every score,
// sum and output is the same chain of multiply-adds in the same order as there, so it has the same bits: a branch
// does not know how many others attend to its prompt. headDim must be a multiple of 4.
import { exp_f32x4 } from "../wasm/math.as";
import { PANEL_BYTES, TILE, TILE_BYTES } from "../attention/tile.as";
import { key_offsets, keys, maxima, outputs, queries, sums } from "../attention/softmax.as";
import { pack_transposed } from "../attention/pack.as";

/** Queries [from, to) of the block attend to `count` keys, rows `stride` bytes apart as `key_offsets` says. */
export function few_attend(
  k: usize,
  v: usize,
  stride: usize,
  count: i32,
  from: i32,
  to: i32,
  headDim: i32,
  scratch: usize,
): void {
  const padded = (headDim + 15) & ~15;
  const transposed = keys(scratch, padded);
  for (let j = 0; j < count; j += TILE) {
    const n = min(count - j, TILE);
    const offset = (j as usize) * stride;
    pack_transposed(k + offset, key_offsets(scratch), n, headDim, 1, transposed);
    for (let i = from; i < to; i++) {
      const at = (i as usize) << 2;
      const state = maxima(scratch) + at, sum = sums(scratch) + at;
      const o = outputs(scratch, padded) + ((i as usize) << 6);
      const before = load<f32>(state);
      const m = max(before, scores(queries(scratch) + at, transposed, n, headDim, scratch));
      if (m != before) {
        const c = f32x4.extract_lane(exp_f32x4(f32x4.splat(before - m)), 0);
        store<f32>(state, m);
        store<f32>(sum, load<f32>(sum) * c);
        scale_output(o, padded, c);
      }
      store<f32>(sum, load<f32>(sum) + exponentials(n, m, scratch));
      add_values(v + offset, stride, n, headDim, o, scratch);
    }
  }
}

/** scratch[j] = q·k_j for j < n; returns the largest. */
function scores(q: usize, k: usize, n: i32, headDim: i32, scratch: usize): f32 {
  let largest = f32x4.splat(-1e30);
  const end = k + (headDim as usize) * TILE_BYTES;
  for (let j = 0; j < n; j += 32) {
    let a0 = f32x4.splat(0), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
    for (let p = k + ((j as usize) << 2), x = q; p < end; p += TILE_BYTES, x += TILE_BYTES) {
      const y = v128.load32_splat(x);
      a0 = f32x4.relaxed_madd(v128.load(p), y, a0);
      a1 = f32x4.relaxed_madd(v128.load(p, 16), y, a1);
      a2 = f32x4.relaxed_madd(v128.load(p, 32), y, a2);
      a3 = f32x4.relaxed_madd(v128.load(p, 48), y, a3);
      a4 = f32x4.relaxed_madd(v128.load(p, 64), y, a4);
      a5 = f32x4.relaxed_madd(v128.load(p, 80), y, a5);
      a6 = f32x4.relaxed_madd(v128.load(p, 96), y, a6);
      a7 = f32x4.relaxed_madd(v128.load(p, 112), y, a7);
    }
    const s = scratch + ((j as usize) << 2);
    v128.store(s, a0);
    v128.store(s, a1, 16);
    v128.store(s, a2, 32);
    v128.store(s, a3, 48);
    v128.store(s, a4, 64);
    v128.store(s, a5, 80);
    v128.store(s, a6, 96);
    v128.store(s, a7, 112);
  }
  // What fills up the last vector repeats the last key.
  for (let s = scratch; s < scratch + ((n as usize) << 2); s += 16) {
    largest = f32x4.relaxed_max(largest, v128.load(s));
  }
  largest = f32x4.relaxed_max(largest, v128.shuffle<f32>(largest, largest, 2, 3, 0, 1));
  largest = f32x4.relaxed_max(largest, v128.shuffle<f32>(largest, largest, 1, 0, 3, 2));
  return f32x4.extract_lane(largest, 0);
}

/** scratch[j] → e^(scratch[j] − m); returns the sum, key after key. */
function exponentials(n: i32, m: f32, scratch: usize): f32 {
  const mm = f32x4.splat(m), end = scratch + ((n as usize) << 2);
  for (let p = scratch; p < end; p += 16) {
    v128.store(p, exp_f32x4(f32x4.sub(v128.load(p), mm)));
  }
  let sum: f32 = 0;
  for (let p = scratch; p < end; p += 4) sum += load<f32>(p);
  return sum;
}

/** A query's row of the panels times c. */
function scale_output(o: usize, padded: i32, c: f32): void {
  const s = f32x4.splat(c);
  for (let d = 0; d < padded; d += 16, o += PANEL_BYTES) {
    v128.store(o, f32x4.mul(v128.load(o), s));
    v128.store(o, f32x4.mul(v128.load(o, 16), s), 16);
    v128.store(o, f32x4.mul(v128.load(o, 32), s), 32);
    v128.store(o, f32x4.mul(v128.load(o, 48), s), 48);
  }
}

/** O += Σ_j scratch[j]·v_j, key after key. */
function add_values(v: usize, stride: usize, n: i32, headDim: i32, o: usize, scratch: usize): void {
  const end = scratch + ((n as usize) << 2);
  let d = headDim;
  for (; d >= 16; d -= 16, v += 64, o += PANEL_BYTES) {
    let o0 = v128.load(o), o1 = v128.load(o, 16), o2 = v128.load(o, 32), o3 = v128.load(o, 48);
    for (let p = scratch, row = v; p < end; p += 4, row += stride) {
      const x = v128.load32_splat(p);
      o0 = f32x4.relaxed_madd(x, v128.load(row), o0);
      o1 = f32x4.relaxed_madd(x, v128.load(row, 16), o1);
      o2 = f32x4.relaxed_madd(x, v128.load(row, 32), o2);
      o3 = f32x4.relaxed_madd(x, v128.load(row, 48), o3);
    }
    v128.store(o, o0);
    v128.store(o, o1, 16);
    v128.store(o, o2, 32);
    v128.store(o, o3, 48);
  }
  for (; d > 0; d -= 4, v += 16, o += 16) {
    let sum = v128.load(o);
    for (let p = scratch, row = v; p < end; p += 4, row += stride) {
      sum = f32x4.relaxed_madd(v128.load32_splat(p), v128.load(row), sum);
    }
    v128.store(o, sum);
  }
}
