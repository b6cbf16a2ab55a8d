// Draws one token for each row of logits (kernels/ops/sample/spec.ts). Work unit: one row.
// Which tokens are kept is decided from z = logit/temperature in float64, as in the reference, so
// that the keys and the comparison of min-p have the same bits. Weights e^(z − max) are float32.
// They are summed in float32 within blocks, and in float64 over the blocks. A draw first looks for
// its block. The thresholds of top-k and top-p are found with histograms of 8 bits of the key at a
// time: four passes and no sorting.
import { exp_f32x4 } from "../common/math.as";

/** Bytes of the weights of a block of 64 tokens. */
const BLOCK: usize = 256;
/** Bytes of the running sums of a block. */
const BLOCK_SUMS: usize = 32;

/**
 * Draws without a filter, or takes the most probable token where the temperature is 0. For each row
 * it leaves z − max of the token and Σ e^(z − max), both f64, in `distances`.
 * Scratch: weights f32 [vocab], padded to a multiple of 8; the running sums of each block and of
 * one more.
 */
export function sample_plain(
  logits: usize,
  scored: usize,
  counters: usize,
  tokens: usize,
  distances: usize,
  vocab: i32,
  temperature: f64,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (vocab as usize) << 2, weights = scratch;
  const sums = scratch + ((bytes + 31) & ~31);
  const t: f64 = temperature == 0 ? 1 : temperature, inverse = inverse_of(t);
  for (let row = begin; row < end; row++) {
    const x = logits + (row as usize) * bytes, y = scored + (row as usize) * bytes;
    const best = maximum(x, bytes), distance = distances + ((row as usize) << 4);
    const total = weigh(x, y, best, inverse, bytes, weights, sums, distance);
    const at = temperature == 0
      ? first_equal(x, bytes, best)
      : draw_by_blocks(weights, sums, bytes, uniform(counters, row) * total);
    note(tokens, row, y, at, t, distance);
  }
}

/**
 * Draws from the tokens that top-k, top-p and min-p keep.
 * Scratch: 256 f64 bins; weights f32 [vocab] and keys u32 [vocab], each padded to a multiple of 8;
 * the running sums of each block and of one more.
 */
export function sample_filtered(
  logits: usize,
  scored: usize,
  counters: usize,
  tokens: usize,
  distances: usize,
  vocab: i32,
  t: f64,
  topK: i32,
  topP: f64,
  minP: f64,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (vocab as usize) << 2;
  const padded = (bytes + 31) & ~31;
  const bins = scratch, weights = scratch + 2048, keys = weights + padded, sums = keys + padded;
  const inverse = inverse_of(t);
  for (let row = begin; row < end; row++) {
    const x = logits + (row as usize) * bytes, y = scored + (row as usize) * bytes;
    const best = maximum(x, bytes), distance = distances + ((row as usize) << 4);
    let mass = weigh(x, y, best, inverse, bytes, weights, sums, distance);
    const some = topK > 0 && topK < vocab;
    if (some || topP < 1) ordered_keys(x, keys, bytes, t);
    if (some) {
      mass = drop_below(keys, weights, bytes, count_threshold(keys, bytes, bins, topK));
    }
    if (topP < 1) {
      const threshold = mass_threshold(keys, weights, bytes, bins, topP * mass);
      mass = drop_below(keys, weights, bytes, threshold);
    }
    if (minP > 0) {
      mass = drop_unlikely(x, weights, bytes, t, (best as f64) / t + Math.log(minP));
    }
    const at = draw(weights, 0, bytes, 0, uniform(counters, row) * mass);
    note(tokens, row, y, at, t, distance);
  }
}

/** logp = (z − max) − log Σ e^(z − max), for each row. */
export function sample_logp(
  distances: usize,
  logp: usize,
  begin: i32,
  end: i32,
  _scratch: usize,
): void {
  for (let row = begin; row < end; row++) {
    const from = distances + ((row as usize) << 4);
    const value = load<f64>(from) - Math.log(load<f64>(from, 8));
    store<f32>(logp + ((row as usize) << 2), value as f32);
  }
}

/** 1/t, finite for every temperature, so that 0 times it is 0. */
function inverse_of(t: f64): f32 {
  return min(1 / t, 3e38) as f32;
}

/** The random number of a row, between 0 and 1. */
function uniform(counters: usize, row: i32): f64 {
  const c = counters + (row as usize) * 20;
  const seedLow = load<u32>(c, 12), seedHigh = load<u32>(c, 16);
  const word = philox_word(load<u32>(c), load<u32>(c, 4), load<u32>(c, 8), seedLow, seedHigh);
  return ((word >>> 9) as f64 + 0.5) * (1.0 / 8388608.0);
}

/**
 * The weights e^(z − max) of a row of logits; returns their sum. `distance` gets the largest logit
 * and the sum of the scored row, both f64: those of the logits, unless other ones are scored.
 */
function weigh(
  x: usize,
  y: usize,
  best: f32,
  inverse: f32,
  bytes: usize,
  weights: usize,
  sums: usize,
  distance: usize,
): f64 {
  if (y != x) {
    const scoredBest = maximum(y, bytes);
    store<f64>(distance, scoredBest as f64);
    store<f64>(distance, exponentials(y, weights, sums, bytes, scoredBest, inverse), 8);
  }
  const total = exponentials(x, weights, sums, bytes, best, inverse);
  if (y == x) {
    store<f64>(distance, best as f64);
    store<f64>(distance, total, 8);
  }
  return total;
}

/**
 * Stores the token of a row, at byte `at` of its logits. The largest logit in `distance` becomes
 * z − max of the token.
 */
function note(tokens: usize, row: i32, y: usize, at: usize, t: f64, distance: usize): void {
  store<u32>(tokens + ((row as usize) << 2), (at >> 2) as u32);
  store<f64>(distance, (load<f32>(y + at) as f64) / t - load<f64>(distance) / t);
}

// @ts-ignore: decorator of AssemblyScript
@inline
function largest_lane(x: v128): f32 {
  return max(
    max(f32x4.extract_lane(x, 0), f32x4.extract_lane(x, 1)),
    max(f32x4.extract_lane(x, 2), f32x4.extract_lane(x, 3)),
  );
}

/** The largest element. */
function maximum(x: usize, bytes: usize): f32 {
  let c: usize = 0;
  let best = load<f32>(x);
  if (bytes >= 64) {
    let a = v128.load(x), b = v128.load(x, 16), d = v128.load(x, 32), e = v128.load(x, 48);
    for (c = 64; c + 64 <= bytes; c += 64) {
      a = f32x4.pmax(a, v128.load(x + c));
      b = f32x4.pmax(b, v128.load(x + c, 16));
      d = f32x4.pmax(d, v128.load(x + c, 32));
      e = f32x4.pmax(e, v128.load(x + c, 48));
    }
    best = largest_lane(f32x4.pmax(f32x4.pmax(a, b), f32x4.pmax(d, e)));
  }
  for (; c < bytes; c += 4) best = max(best, load<f32>(x + c));
  return best;
}

/** Byte offset of the first element that equals `value`; 0 when there is none. */
function first_equal(x: usize, bytes: usize, value: f32): usize {
  const v = f32x4.splat(value);
  let c: usize = 0;
  for (; c + 64 <= bytes; c += 64) {
    const a = v128.or(f32x4.eq(v128.load(x + c), v), f32x4.eq(v128.load(x + c, 16), v));
    const b = v128.or(f32x4.eq(v128.load(x + c, 32), v), f32x4.eq(v128.load(x + c, 48), v));
    if (v128.any_true(v128.or(a, b))) break;
  }
  for (; c < bytes; c += 4) if (load<f32>(x + c) == value) return c;
  return 0;
}

// @ts-ignore: decorator of AssemblyScript
@inline
function sum_lanes(x: v128): f64 {
  return ((f32x4.extract_lane(x, 0) as f64) + (f32x4.extract_lane(x, 1) as f64)) +
    ((f32x4.extract_lane(x, 2) as f64) + (f32x4.extract_lane(x, 3) as f64));
}

/**
 * weights = e^((x − max)·inverse) of `bytes` bytes (a multiple of 32), with eight running sums for
 * each block. It is exported because V8's revectorizer does not widen it when it is inlined.
 */
export function sample_blocks(
  x: usize,
  weights: usize,
  bytes: usize,
  max: f32,
  inverse: f32,
  sums: usize,
): void {
  const high = f32x4.splat(max), scale = f32x4.splat(inverse);
  for (let c: usize = 0; c < bytes; sums += BLOCK_SUMS) {
    const end = min(c + BLOCK, bytes);
    let s0 = f32x4.splat(0), s1 = f32x4.splat(0);
    for (; c < end; c += 32) {
      const e0 = exp_f32x4(f32x4.mul(f32x4.sub(v128.load(x + c), high), scale));
      const e1 = exp_f32x4(f32x4.mul(f32x4.sub(v128.load(x + c, 16), high), scale));
      v128.store(weights + c, e0);
      v128.store(weights + c, e1, 16);
      s0 = f32x4.add(s0, e0);
      s1 = f32x4.add(s1, e1);
    }
    v128.store(sums, s0);
    v128.store(sums, s1, 16);
  }
}

// @ts-ignore: decorator of AssemblyScript
@inline
function block_sum(sums: usize): f64 {
  return sum_lanes(f32x4.add(v128.load(sums), v128.load(sums, 16)));
}

/**
 * weights = e^((x − max)·inverse), with zeros up to the next multiple of 8, and the block sums as
 * float64. Returns the total sum.
 */
function exponentials(
  x: usize,
  weights: usize,
  sums: usize,
  bytes: usize,
  max: f32,
  inverse: f32,
): f64 {
  const whole = bytes & ~31;
  sample_blocks(x, weights, whole, max, inverse, sums);
  let total: f64 = 0, c: usize = 0, at = sums;
  // The block sums overwrite the running sums, which are longer.
  for (let running = sums; c < whole; c += BLOCK, running += BLOCK_SUMS, at += 8) {
    const sum = block_sum(running);
    store<f64>(at, sum);
    total += sum;
  }
  if (whole == bytes) return total;
  const rest = bytes - whole;
  memory.copy(weights + whole, x + whole, rest);
  for (let i = rest; i < 32; i += 4) store<f32>(weights + whole + i, -Infinity);
  if (c > whole) at -= 8; // The rest belongs to the last block, which is not full.
  else store<f64>(at, 0);
  sample_blocks(weights + whole, weights + whole, 32, max, inverse, at + 8);
  const sum = block_sum(at + 8);
  store<f64>(at, load<f64>(at) + sum);
  return total + sum;
}

/** The key of each token: u32 numbers in the order of the f32 nearest to z; −0 counts as 0. */
function ordered_keys(x: usize, keys: usize, bytes: usize, t: f64): void {
  for (let c: usize = 0; c < bytes; c += 4) {
    const bits = reinterpret<u32>(((load<f32>(x + c) as f64) / t) as f32 + 0);
    store<u32>(keys + c, bits >>> 31 ? ~bits : bits | 0x80000000);
  }
}

/** The largest t with #{key ≥ t} ≥ wanted. */
function count_threshold(keys: usize, bytes: usize, bins: usize, wanted: i32): u32 {
  let prefix: u32 = 0;
  let above: i32 = 0; // number of keys above the range that `prefix` selects
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
    // If rounding leaves the sum below `wanted`, the lowest bin with any mass is taken.
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

/** Sets the weights of keys below the threshold to 0; returns the sum of the others. */
function drop_below(keys: usize, weights: usize, bytes: usize, threshold: u32): f64 {
  let mass: f64 = 0;
  for (let c: usize = 0; c < bytes; c += 4) {
    if (load<u32>(keys + c) < threshold) store<f32>(weights + c, 0);
    else mass += load<f32>(weights + c) as f64;
  }
  return mass;
}

/** Sets the weights of tokens with z < `lowest` to 0; returns the sum of the others. */
function drop_unlikely(x: usize, weights: usize, bytes: usize, t: f64, lowest: f64): f64 {
  let mass: f64 = 0;
  for (let c: usize = 0; c < bytes; c += 4) {
    if ((load<f32>(x + c) as f64) / t < lowest) store<f32>(weights + c, 0);
    else mass += load<f32>(weights + c) as f64;
  }
  return mass;
}

/**
 * Byte offset of the first token from `c` on whose cumulative weight exceeds `target`, or of the
 * last kept token if there is none. `cumulative` is the weight before `c`.
 */
function draw(weights: usize, c: usize, bytes: usize, cumulative: f64, target: f64): usize {
  let last = c;
  for (; c < bytes; c += 4) {
    const w = load<f32>(weights + c);
    if (w == 0) continue;
    cumulative += w as f64;
    last = c;
    if (cumulative > target) break;
  }
  return last;
}

/** The same over all tokens: first finds the block that contains the token. */
function draw_by_blocks(weights: usize, sums: usize, bytes: usize, target: f64): usize {
  let cumulative: f64 = 0, before: f64 = 0;
  let block: usize = 0;
  for (let c: usize = 0; c < bytes; c += BLOCK, sums += 8) {
    const sum = load<f64>(sums);
    if (sum == 0) continue;
    before = cumulative;
    cumulative += sum;
    block = c;
    if (cumulative > target) break;
  }
  return draw(weights, block, min(block + BLOCK, bytes), before, target);
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
