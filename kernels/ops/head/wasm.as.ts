// The ends of the fused head (kernels/ops/head/spec.ts). The rest is in C
// (kernels/native/c/head.c).
import { widen_row } from "../../weights/rows.as";

/** Bytes of the running values of a row: m, l and s as 64-bit floats. */
const STATS_BYTES: usize = 24;

/** x ← factor·x, `count` elements. */
function scale_row(x: usize, count: i32, factor: f32): void {
  const f = f32x4.splat(factor);
  let i = 0;
  for (; i + 8 <= count; i += 8, x += 32) {
    const a = f32x4.mul(f, v128.load(x));
    const b = f32x4.mul(f, v128.load(x, 16));
    v128.store(x, a);
    v128.store(x, b, 16);
  }
  for (; i < count; i++, x += 4) store<f32>(x, factor * load<f32>(x));
}

/**
 * lse, entropy, log-probabilities and mean (or 0) of each row from its running values `stats`.
 * Unit: a row. It is a kernel of its own, because it alone needs a logarithm, which the native
 * kernels (kernels/native/) do not have in float64.
 */
export function head_finish(
  stats: usize, pairStart: usize, logp: usize, lse: usize, entropy: usize, mean: usize, d: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  for (let row = begin; row < end; row++) {
    const from = stats + (row as usize) * STATS_BYTES, at = (row as usize) * 4;
    const l = load<f64>(from, 8);
    const logL = Math.log(l);
    const total = load<f64>(from) + logL;
    store<f32>(lse + at, total as f32);
    store<f32>(entropy + at, (logL - load<f64>(from, 16) / l) as f32);
    const endPair = load<u32>(pairStart + at, 4);
    for (let pair = load<u32>(pairStart + at); pair < endPair; pair++) {
      const p = logp + (pair as usize) * 4;
      store<f32>(p, ((load<f32>(p) as f64) - total) as f32);
    }
    if (mean != 0) scale_row(mean + at * (d as usize), d, (1 / l) as f32);
  }
}

/** out ← out + factor·x, `count` elements. */
function add_row(out: usize, x: usize, count: i32, factor: f32): void {
  const f = f32x4.splat(factor);
  let i = 0;
  for (; i + 8 <= count; i += 8, x += 32, out += 32) {
    const a = f32x4.relaxed_madd(f, v128.load(x), v128.load(out));
    const b = f32x4.relaxed_madd(f, v128.load(x, 16), v128.load(out, 16));
    v128.store(out, a);
    v128.store(out, b, 16);
  }
  for (; i < count; i++, x += 4, out += 4) store<f32>(out, load<f32>(out) + factor * load<f32>(x));
}

/**
 * dhidden = scale·(Σ_pairs dlogp·weight[target] − (Σ_pairs dlogp)·mean). Unit: a row. `type` is
 * that of a stored weight, or −1. Scratch for a stored weight: d floats, rounded up to 64 bytes,
 * and ROW_BYTES of kernels/weights/rows.as.ts.
 */
export function head_from_mean(
  mean: usize, weight: usize, type: i32, pairStart: usize, targets: usize, dlogp: usize,
  dhidden: usize, d: i32, scale: f32,
  begin: i32, end: i32, scratch: usize,
): void {
  const bytes = (d as usize) * 4;
  for (let row = begin; row < end; row++) {
    const pairs = pairStart + (row as usize) * 4;
    const firstPair = load<u32>(pairs), endPair = load<u32>(pairs, 4);
    const to = dhidden + (row as usize) * bytes;
    let sum: f64 = 0;
    for (let pair = firstPair; pair < endPair; pair++) {
      sum += load<f32>(dlogp + (pair as usize) * 4) as f64;
    }
    memory.fill(to, 0, bytes);
    add_row(to, mean + (row as usize) * bytes, d, -(sum as f32) * scale);
    for (let pair = firstPair; pair < endPair; pair++) {
      const at = (pair as usize) * 4;
      const token = load<u32>(targets + at) as usize;
      let from = weight + token * bytes;
      if (type >= 0) {
        widen_row(type, weight, d, token as i32, scratch, scratch + ((bytes + 63) & ~63));
        from = scratch;
      }
      add_row(to, from, d, load<f32>(dlogp + at) * scale);
    }
  }
}
