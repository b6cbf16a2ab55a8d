// AdamW over a flat block, and sums of squares (kernels/ops/optimizer/spec.ts).
// Work unit of adamw: BLOCK elements. Work unit of sum_squares: a chunk of SUM_CHUNK (spec.ts)
// elements.

const BLOCK: i32 = 1024;
const SUM_CHUNK: i32 = 4096;

/**
 * The host computes `decay` = 1 − lr·weightDecay, `rest1` = 1 − beta1, `rest2` = 1 − beta2,
 * `step` = lr/correction1 and `root` = √correction2, so that each is rounded once.
 */
export function adamw(
  param: usize,
  grad: usize,
  m: usize,
  v: usize,
  n: i32,
  decay: f32,
  beta1: f32,
  rest1: f32,
  beta2: f32,
  rest2: f32,
  step: f32,
  root: f32,
  eps: f32,
  gradScale: f32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  let at = ((begin * BLOCK) as usize) << 2;
  const last = (min(end * BLOCK, n) as usize) << 2;
  const gs = f32x4.splat(gradScale);
  const b1 = f32x4.splat(beta1), r1 = f32x4.splat(rest1);
  const b2 = f32x4.splat(beta2), r2 = f32x4.splat(rest2);
  const kept = f32x4.splat(decay), rate = f32x4.splat(step);
  const c2 = f32x4.splat(root), e = f32x4.splat(eps);
  for (; at + 32 <= last; at += 32) {
    const g0 = f32x4.mul(v128.load(grad + at), gs), g1 = f32x4.mul(v128.load(grad + at, 16), gs);
    const m0 = f32x4.add(f32x4.mul(v128.load(m + at), b1), f32x4.mul(g0, r1));
    const m1 = f32x4.add(f32x4.mul(v128.load(m + at, 16), b1), f32x4.mul(g1, r1));
    const v0 = f32x4.add(f32x4.mul(v128.load(v + at), b2), f32x4.mul(f32x4.mul(g0, g0), r2));
    const v1 = f32x4.add(f32x4.mul(v128.load(v + at, 16), b2), f32x4.mul(f32x4.mul(g1, g1), r2));
    const d0 = f32x4.add(f32x4.div(f32x4.sqrt(v0), c2), e);
    const d1 = f32x4.add(f32x4.div(f32x4.sqrt(v1), c2), e);
    const p0 = f32x4.mul(v128.load(param + at), kept);
    const p1 = f32x4.mul(v128.load(param + at, 16), kept);
    v128.store(m + at, m0);
    v128.store(m + at, m1, 16);
    v128.store(v + at, v0);
    v128.store(v + at, v1, 16);
    v128.store(param + at, f32x4.sub(p0, f32x4.div(f32x4.mul(rate, m0), d0)));
    v128.store(param + at, f32x4.sub(p1, f32x4.div(f32x4.mul(rate, m1), d1)), 16);
  }
  for (; at < last; at += 4) {
    const g = load<f32>(grad + at) * gradScale;
    const mean = load<f32>(m + at) * beta1 + g * rest1;
    const square = load<f32>(v + at) * beta2 + g * g * rest2;
    store<f32>(m + at, mean);
    store<f32>(v + at, square);
    const kept1 = load<f32>(param + at) * decay;
    store<f32>(param + at, kept1 - step * mean / (sqrt<f32>(square) / root + eps));
  }
}

/** partial[c] = Σ x² of chunk c, which is summed in float64. */
export function sum_squares(
  x: usize,
  partial: usize,
  n: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  for (let chunk = begin; chunk < end; chunk++) {
    let p = x + (((chunk * SUM_CHUNK) as usize) << 2);
    const last = x + ((min((chunk + 1) * SUM_CHUNK, n) as usize) << 2);
    let s0 = f64x2.splat(0), s1 = s0, s2 = s0, s3 = s0;
    for (; p + 32 <= last; p += 32) {
      const a0 = f64x2.promote_low_f32x4(v128.load64_zero(p));
      const a1 = f64x2.promote_low_f32x4(v128.load64_zero(p, 8));
      const a2 = f64x2.promote_low_f32x4(v128.load64_zero(p, 16));
      const a3 = f64x2.promote_low_f32x4(v128.load64_zero(p, 24));
      s0 = f64x2.add(s0, f64x2.mul(a0, a0));
      s1 = f64x2.add(s1, f64x2.mul(a1, a1));
      s2 = f64x2.add(s2, f64x2.mul(a2, a2));
      s3 = f64x2.add(s3, f64x2.mul(a3, a3));
    }
    s0 = f64x2.add(f64x2.add(s0, s1), f64x2.add(s2, s3));
    let sum = f64x2.extract_lane(s0, 0) + f64x2.extract_lane(s0, 1);
    for (; p < last; p += 4) {
      const a = load<f32>(p) as f64;
      sum += a * a;
    }
    store<f32>(partial + ((chunk as usize) << 2), sum as f32);
  }
}
