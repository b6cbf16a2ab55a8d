// Draws one token per row of logits (kernels/sample/spec.ts). Work unit: one row.
// Ordered keys and the comparison of min-p use z = logit/temperature in float64, the reference's numbers;
// e^(z − max) is computed in float32 vectors; all sums are float64. The thresholds of top-k and
// top-p are built from histograms of 8 bits of the key at a time: four passes and no sort.
import { exp_f32x4 } from "../wasm/math.as";

/** Scratch: weights f32 [vocab], keys u32 [vocab], each padded to a multiple of 4, and 256 f64 bins. */
export function sample(
  logits: usize,
  counters: usize,
  tokens: usize,
  logp: usize,
  vocab: i32,
  seedLow: u32,
  seedHigh: u32,
  temperature: f64,
  topK: i32,
  topP: f64,
  minP: f64,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (vocab as usize) << 2;
  const padded = (bytes + 15) & ~15;
  const bins = scratch, weights = scratch + 2048, keys = weights + padded;
  const t: f64 = temperature == 0 ? 1 : temperature;
  const filtered = temperature != 0 && ((topK > 0 && topK < vocab) || topP < 1);
  for (let row = begin; row < end; row++) {
    const x = logits + (row as usize) * bytes;
    const best = argmax(x, bytes);
    const max = (load<f32>(x + best) as f64) / t;
    const total = exponentials(x, weights, bytes, load<f32>(x + best), t);
    let at = best;
    if (temperature != 0) {
      let mass = total;
      if (filtered) {
        ordered_keys(x, keys, bytes, t);
        if (topK > 0 && topK < vocab) {
          const threshold = count_threshold(keys, bytes, bins, topK);
          mass = drop_below(keys, weights, bytes, threshold);
        }
        if (topP < 1) {
          const threshold = mass_threshold(keys, weights, bytes, bins, topP * mass);
          mass = drop_below(keys, weights, bytes, threshold);
        }
      }
      if (minP > 0) mass = drop_unlikely(x, weights, bytes, t, max + Math.log(minP));
      const c = counters + (row as usize) * 12;
      const word = philox_word(load<u32>(c), load<u32>(c, 4), load<u32>(c, 8), seedLow, seedHigh);
      const u = ((word >>> 9) as f64 + 0.5) * (1.0 / 8388608.0);
      at = draw(weights, bytes, u * mass);
    }
    store<u32>(tokens + ((row as usize) << 2), (at >> 2) as u32);
    const z = (load<f32>(x + at) as f64) / t;
    store<f32>(logp + ((row as usize) << 2), (z - max - Math.log(total)) as f32);
  }
}

/** Byte offset of the largest element, the first of equals. */
function argmax(x: usize, bytes: usize): usize {
  let at: usize = 0;
  let best = load<f32>(x);
  let c: usize = 0;
  // A block is searched only when it holds something larger.
  for (; c + 64 <= bytes; c += 64) {
    const a = f32x4.max(v128.load(x + c), v128.load(x + c, 16));
    const b = f32x4.max(v128.load(x + c, 32), v128.load(x + c, 48));
    if (v128.any_true(f32x4.gt(f32x4.max(a, b), f32x4.splat(best)))) {
      for (let i = c; i < c + 64; i += 4) {
        if (load<f32>(x + i) > best) {
          best = load<f32>(x + i);
          at = i;
        }
      }
    }
  }
  for (; c < bytes; c += 4) {
    if (load<f32>(x + c) > best) {
      best = load<f32>(x + c);
      at = c;
    }
  }
  return at;
}

/** weights = e^(z − max), where (x − best)/t is as good in f32 as z − max; returns their sum. */
function exponentials(x: usize, weights: usize, bytes: usize, best: f32, t: f64): f64 {
  const rate = (1 / t) as f32;
  const bb = f32x4.splat(best), rr = f32x4.splat(rate);
  let s0 = f64x2.splat(0), s1 = s0, s2 = s0, s3 = s0;
  let c: usize = 0;
  for (; c + 32 <= bytes; c += 32) {
    const e0 = exp_f32x4(f32x4.mul(f32x4.sub(v128.load(x + c), bb), rr));
    const e1 = exp_f32x4(f32x4.mul(f32x4.sub(v128.load(x + c, 16), bb), rr));
    v128.store(weights + c, e0);
    v128.store(weights + c, e1, 16);
    s0 = f64x2.add(s0, f64x2.promote_low_f32x4(e0));
    s1 = f64x2.add(s1, f64x2.promote_low_f32x4(v128.shuffle<f32>(e0, e0, 2, 3, 2, 3)));
    s2 = f64x2.add(s2, f64x2.promote_low_f32x4(e1));
    s3 = f64x2.add(s3, f64x2.promote_low_f32x4(v128.shuffle<f32>(e1, e1, 2, 3, 2, 3)));
  }
  s0 = f64x2.add(f64x2.add(s0, s1), f64x2.add(s2, s3));
  let sum = f64x2.extract_lane(s0, 0) + f64x2.extract_lane(s0, 1);
  for (; c < bytes; c += 4) {
    const z = (load<f32>(x + c) - best) * rate;
    const e = f32x4.extract_lane(exp_f32x4(f32x4.splat(z)), 0);
    store<f32>(weights + c, e);
    sum += e as f64;
  }
  return sum;
}

/** A u32 for each token that is ordered as the f32 nearest to z is; −0 counts as 0. */
function ordered_keys(x: usize, keys: usize, bytes: usize, t: f64): void {
  for (let c: usize = 0; c < bytes; c += 4) {
    const bits = reinterpret<u32>(((load<f32>(x + c) as f64) / t) as f32 + 0);
    store<u32>(keys + c, bits >>> 31 ? ~bits : bits | 0x80000000);
  }
}

/** The largest t with #{key ≥ t} ≥ wanted. */
function count_threshold(keys: usize, bytes: usize, bins: usize, wanted: i32): u32 {
  let prefix: u32 = 0;
  let above: i32 = 0; // keys beyond the range that `prefix` selects
  for (let shift = 24; shift >= 0; shift -= 8) {
    memory.fill(bins, 0, 2048);
    for (let c: usize = 0; c < bytes; c += 4) {
      const key = load<u32>(keys + c);
      if (shift < 24 && key >>> ((shift + 8) as u32) != prefix) continue;
      const bin = bins + ((((key >>> (shift as u32)) & 255) as usize) << 3);
      store<i32>(bin, load<i32>(bin) + 1);
    }
    let bin = 255;
    for (; bin > 0; bin--) {
      const count = load<i32>(bins + ((bin as usize) << 3));
      if (above + count >= wanted) break;
      above += count;
    }
    prefix = prefix << 8 | (bin as u32);
  }
  return prefix;
}

/** The largest t with Σ_{key ≥ t} weight ≥ wanted. */
function mass_threshold(
  keys: usize,
  weights: usize,
  bytes: usize,
  bins: usize,
  wanted: f64,
): u32 {
  let prefix: u32 = 0;
  let above: f64 = 0;
  for (let shift = 24; shift >= 0; shift -= 8) {
    memory.fill(bins, 0, 2048);
    for (let c: usize = 0; c < bytes; c += 4) {
      const key = load<u32>(keys + c);
      if (shift < 24 && key >>> ((shift + 8) as u32) != prefix) continue;
      const bin = bins + ((((key >>> (shift as u32)) & 255) as usize) << 3);
      store<f64>(bin, load<f64>(bin) + (load<f32>(weights + c) as f64));
    }
    // When rounding leaves the sum short of `wanted`, the lowest bin that holds anything is right.
    let bin = 255, lowest = -1;
    let before = above;
    for (; bin >= 0; bin--) {
      const mass = load<f64>(bins + ((bin as usize) << 3));
      if (mass > 0) {
        lowest = bin;
        before = above;
      }
      if (above + mass >= wanted) break;
      above += mass;
    }
    if (bin < 0) {
      if (lowest < 0) return shift == 24 ? 0 : prefix << ((shift + 8) as u32);
      bin = lowest;
      above = before;
    }
    prefix = prefix << 8 | (bin as u32);
  }
  return prefix;
}

/** Weight 0 for keys below the threshold; returns the sum of the others. */
function drop_below(keys: usize, weights: usize, bytes: usize, threshold: u32): f64 {
  let mass: f64 = 0;
  for (let c: usize = 0; c < bytes; c += 4) {
    if (load<u32>(keys + c) < threshold) store<f32>(weights + c, 0);
    else mass += load<f32>(weights + c) as f64;
  }
  return mass;
}

/** Weight 0 for z below `lowest`; returns the sum of the others. */
function drop_unlikely(x: usize, weights: usize, bytes: usize, t: f64, lowest: f64): f64 {
  let mass: f64 = 0;
  for (let c: usize = 0; c < bytes; c += 4) {
    if ((load<f32>(x + c) as f64) / t < lowest) store<f32>(weights + c, 0);
    else mass += load<f32>(weights + c) as f64;
  }
  return mass;
}

/** Byte offset of the first token whose cumulative weight exceeds `target`, else of the last kept one. */
function draw(weights: usize, bytes: usize, target: f64): usize {
  let cumulative: f64 = 0;
  let last: usize = 0;
  for (let c: usize = 0; c < bytes; c += 4) {
    const w = load<f32>(weights + c);
    if (w == 0) continue;
    cumulative += w as f64;
    last = c;
    if (cumulative > target) break;
  }
  return last;
}

/** Word 0 of Philox4x32-10 at counter (0, c1, c2, c3) (core/philox.ts). */
function philox_word(c1: u32, c2: u32, c3: u32, k0: u32, k1: u32): u32 {
  let c0: u32 = 0;
  for (let round = 0; round < 10; round++) {
    const p0 = (0xd2511f53 as u64) * (c0 as u64), p1 = (0xcd9e8d57 as u64) * (c2 as u64);
    c0 = (p1 >>> 32) as u32 ^ c1 ^ k0;
    c1 = p1 as u32;
    c2 = (p0 >>> 32) as u32 ^ c3 ^ k1;
    c3 = p0 as u32;
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  return c0;
}
