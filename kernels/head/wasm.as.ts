// Row passes of the fused head over one chunk of logits z [rows, width] (columns first … first + width of
// the vocabulary). Running values per row in `stats`, float64: maximum m, l = Σ e^(z−m), s = Σ e^(z−m)·(z−m);
// the shift by m keeps the entropy exact for large logits.

import { exp_f32x4 } from "../wasm/math.as";

const STATS_BYTES: usize = 24;

// @ts-ignore: decorator of AssemblyScript
@inline
function sum4(x: v128): f64 {
  return (f32x4.extract_lane(x, 0) as f64) + (f32x4.extract_lane(x, 1) as f64) +
    (f32x4.extract_lane(x, 2) as f64) + (f32x4.extract_lane(x, 3) as f64);
}

/** e^x of one number, the same as in four lanes. */
// @ts-ignore: decorator of AssemblyScript
@inline
function exp1(x: f32): f32 {
  return f32x4.extract_lane(exp_f32x4(f32x4.splat(x)), 0);
}

function row_max(z: usize, width: i32): f32 {
  let i = 0;
  let high = load<f32>(z);
  if (width >= 16) {
    let a = v128.load(z);
    let b = v128.load(z, 16);
    let c = v128.load(z, 32);
    let d = v128.load(z, 48);
    for (i = 16; i + 16 <= width; i += 16) {
      const at = z + (i as usize) * 4;
      a = f32x4.max(a, v128.load(at));
      b = f32x4.max(b, v128.load(at, 16));
      c = f32x4.max(c, v128.load(at, 32));
      d = f32x4.max(d, v128.load(at, 48));
    }
    a = f32x4.max(f32x4.max(a, b), f32x4.max(c, d));
    high = max(
      max(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1)),
      max(f32x4.extract_lane(a, 2), f32x4.extract_lane(a, 3)),
    );
  }
  for (; i < width; i++) high = max(high, load<f32>(z + (i as usize) * 4));
  return high;
}

// The two loops over exponentials are functions of their own, exported so that they are not inlined, and
// work on pairs of vectors that are stored side by side: the form that V8's revectorizer widens.

/** Σ e^(z−m) and Σ e^(z−m)·(z−m) in eight lanes each, over `width` (a multiple of 8) logits. */
export function head_sums(z: usize, width: i32, m: f32, sums: usize): void {
  const high = f32x4.splat(m);
  let l0 = f32x4.splat(0);
  let l1 = f32x4.splat(0);
  let s0 = f32x4.splat(0);
  let s1 = f32x4.splat(0);
  for (; width > 0; width -= 8) {
    const x0 = f32x4.sub(v128.load(z), high);
    const x1 = f32x4.sub(v128.load(z, 16), high);
    const e0 = exp_f32x4(x0);
    const e1 = exp_f32x4(x1);
    l0 = f32x4.add(l0, e0);
    l1 = f32x4.add(l1, e1);
    s0 = f32x4.relaxed_madd(e0, x0, s0);
    s1 = f32x4.relaxed_madd(e1, x1, s1);
    z += 32;
  }
  v128.store(sums, l0);
  v128.store(sums, l1, 16);
  v128.store(sums, s0, 32);
  v128.store(sums, s1, 48);
}

/** z ← e^x·(constant + slope·x), x = z − shift, for `width` (a multiple of 8) logits. */
export function head_slopes(z: usize, width: i32, shift: f32, constant: f32, slope: f32): void {
  const shifts = f32x4.splat(shift);
  const constants = f32x4.splat(constant);
  const slopes = f32x4.splat(slope);
  for (; width > 0; width -= 8) {
    const x0 = f32x4.sub(v128.load(z), shifts);
    const x1 = f32x4.sub(v128.load(z, 16), shifts);
    const y0 = f32x4.mul(exp_f32x4(x0), f32x4.relaxed_madd(slopes, x0, constants));
    const y1 = f32x4.mul(exp_f32x4(x1), f32x4.relaxed_madd(slopes, x1, constants));
    v128.store(z, y0);
    v128.store(z, y1, 16);
    z += 32;
  }
}

/**
 * Merges a chunk into the running values and puts the logits of targets in it into `logp`.
 * Unit = row of the chunk; `row` is the first one's index in pairStart. Scratch: 64 bytes.
 */
export function head_chunk(
  z: usize, width: i32, first: i32, isFirst: i32, stats: usize,
  row: i32, pairStart: usize, targets: usize, logp: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  for (let r = begin; r < end; r++) {
    const from = z + (r as usize) * (width as usize) * 4;
    const high = row_max(from, width);
    const at = stats + (r as usize) * STATS_BYTES;
    let l: f64 = 0;
    let s: f64 = 0;
    let m = high;
    if (!isFirst) {
      const before = load<f64>(at);
      m = max(high, before as f32);
      const shift = before - (m as f64);
      const factor = exp1(shift as f32) as f64;
      l = load<f64>(at, 8);
      s = factor * (load<f64>(at, 16) + shift * l);
      l *= factor;
    }
    let i = width & ~7;
    head_sums(from, i, m, scratch);
    l += sum4(f32x4.add(v128.load(scratch), v128.load(scratch, 16)));
    s += sum4(f32x4.add(v128.load(scratch, 32), v128.load(scratch, 48)));
    for (; i < width; i++) {
      const x = load<f32>(from + (i as usize) * 4) - m;
      const e = exp1(x);
      l += e as f64;
      s += (e as f64) * (x as f64);
    }
    store<f64>(at, m as f64);
    store<f64>(at, l, 8);
    store<f64>(at, s, 16);
    const pairs = pairStart + ((row + r) as usize) * 4;
    const endPair = load<u32>(pairs, 4);
    for (let pair = load<u32>(pairs); pair < endPair; pair++) {
      const column = (load<u32>(targets + (pair as usize) * 4) as i32) - first;
      if (column >= 0 && column < width) {
        store<f32>(logp + (pair as usize) * 4, load<f32>(from + (column as usize) * 4));
      }
    }
  }
}

/** lse, entropy and log-probabilities from the running values of all chunks. Unit = row. */
export function head_finish(
  stats: usize, row: i32, pairStart: usize, logp: usize, lse: usize, entropy: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  for (let r = begin; r < end; r++) {
    const at = stats + (r as usize) * STATS_BYTES;
    const l = load<f64>(at, 8);
    const logL = Math.log(l);
    const total = load<f64>(at) + logL;
    const index = (row + r) as usize;
    store<f32>(lse + index * 4, total as f32);
    store<f32>(entropy + index * 4, (logL - load<f64>(at, 16) / l) as f32);
    const endPair = load<u32>(pairStart + index * 4, 4);
    for (let pair = load<u32>(pairStart + index * 4); pair < endPair; pair++) {
      const p = logp + (pair as usize) * 4;
      store<f32>(p, ((load<f32>(p) as f64) - total) as f32);
    }
  }
}

/** Turns a chunk of logits into the loss's derivative by them, in place. Unit = row of the chunk. */
export function head_dlogits(
  z: usize, width: i32, first: i32, row: i32, pairStart: usize, targets: usize,
  lse: usize, entropy: usize, dlogp: usize, dentropy: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  for (let r = begin; r < end; r++) {
    const from = z + (r as usize) * (width as usize) * 4;
    const index = (row + r) as usize;
    const firstPair = load<u32>(pairStart + index * 4);
    const endPair = load<u32>(pairStart + index * 4, 4);
    let sum: f64 = 0;
    for (let pair = firstPair; pair < endPair; pair++) {
      sum += load<f32>(dlogp + (pair as usize) * 4) as f64;
    }
    const alpha = sum as f32;
    const b: f32 = dentropy ? load<f32>(dentropy + index * 4) : 0;
    const shift = load<f32>(lse + index * 4);
    // dz = p·(−α − b·(x + H)), x = z − lse
    const constant = -alpha - b * load<f32>(entropy + index * 4);
    let i = width & ~7;
    head_slopes(from, i, shift, constant, -b);
    for (; i < width; i++) {
      const at = from + (i as usize) * 4;
      const x = load<f32>(at) - shift;
      store<f32>(at, exp1(x) * (constant - b * x));
    }
    for (let pair = firstPair; pair < endPair; pair++) {
      const column = (load<u32>(targets + (pair as usize) * 4) as i32) - first;
      if (column < 0 || column >= width) continue;
      const at = from + (column as usize) * 4;
      store<f32>(at, load<f32>(at) + load<f32>(dlogp + (pair as usize) * 4));
    }
  }
}
