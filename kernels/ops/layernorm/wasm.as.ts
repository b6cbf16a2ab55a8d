// LayerNorm with the fused residual addition, and its gradient (kernels/ops/layernorm/spec.ts).
// Work unit of the forward and of dx: one row. Sums along a row are made in eight lanes, and a
// scalar tail. Work unit of dweight: COLUMNS columns. All rows are summed in order, in partial sums
// of SUM_ROWS rows, which loses fewer digits.

const COLUMNS: i32 = 16;
const SUM_ROWS: i32 = 256;

// @ts-ignore: decorator of AssemblyScript
@inline
function horizontal_sum(x: v128): f32 {
  return (f32x4.extract_lane(x, 0) + f32x4.extract_lane(x, 1)) +
    (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3));
}

/** `addend` and `sum` are 0 without a residual branch. */
export function layernorm(
  x: usize,
  addend: usize,
  sum: usize,
  weight: usize,
  bias: usize,
  out: usize,
  mean: usize,
  rho: usize,
  d: i32,
  eps: f32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  for (let row = begin; row < end; row++) {
    const offset = (row as usize) * bytes;
    let h = x + offset;
    if (addend != 0) {
      const b = addend + offset, to = sum + offset;
      let c: usize = 0;
      for (; c + 16 <= bytes; c += 16) {
        v128.store(to + c, f32x4.add(v128.load(h + c), v128.load(b + c)));
      }
      for (; c < bytes; c += 4) store<f32>(to + c, load<f32>(h + c) + load<f32>(b + c));
      h = to;
    }
    const mu = sum_row(h, bytes) / (d as f32);
    const r = (1 as f32) / sqrt<f32>(sum_squares_row(h, mu, bytes) / (d as f32) + eps);
    store<f32>(mean + ((row as usize) << 2), mu);
    store<f32>(rho + ((row as usize) << 2), r);
    const y = out + offset, m = f32x4.splat(mu), s = f32x4.splat(r);
    let c: usize = 0;
    for (; c + 16 <= bytes; c += 16) {
      const normed = f32x4.mul(f32x4.sub(v128.load(h + c), m), s);
      v128.store(y + c, f32x4.add(f32x4.mul(normed, v128.load(weight + c)), v128.load(bias + c)));
    }
    for (; c < bytes; c += 4) {
      store<f32>(y + c, (load<f32>(h + c) - mu) * r * load<f32>(weight + c) + load<f32>(bias + c));
    }
  }
}

function sum_row(h: usize, bytes: usize): f32 {
  let s0 = f32x4.splat(0), s1 = s0;
  let c: usize = 0;
  for (; c + 32 <= bytes; c += 32) {
    s0 = f32x4.add(s0, v128.load(h + c));
    s1 = f32x4.add(s1, v128.load(h + c, 16));
  }
  let sum = horizontal_sum(f32x4.add(s0, s1));
  for (; c < bytes; c += 4) sum += load<f32>(h + c);
  return sum;
}

/** Σ (h − μ)². */
function sum_squares_row(h: usize, mu: f32, bytes: usize): f32 {
  const m = f32x4.splat(mu);
  let s0 = f32x4.splat(0), s1 = s0;
  let c: usize = 0;
  for (; c + 32 <= bytes; c += 32) {
    const h0 = f32x4.sub(v128.load(h + c), m), h1 = f32x4.sub(v128.load(h + c, 16), m);
    s0 = f32x4.relaxed_madd(h0, h0, s0);
    s1 = f32x4.relaxed_madd(h1, h1, s1);
  }
  let sum = horizontal_sum(f32x4.add(s0, s1));
  for (; c < bytes; c += 4) {
    const x = load<f32>(h + c) - mu;
    sum += x * x;
  }
  return sum;
}

/** Σ dout·weight·(h − μ), or Σ dout·weight where `h` is 0. */
function slope_row(dout: usize, weight: usize, h: usize, mu: f32, bytes: usize): f32 {
  const m = f32x4.splat(mu);
  let s0 = f32x4.splat(0), s1 = s0;
  let c: usize = 0;
  for (; c + 32 <= bytes; c += 32) {
    const g0 = f32x4.mul(v128.load(dout + c), v128.load(weight + c));
    const g1 = f32x4.mul(v128.load(dout + c, 16), v128.load(weight + c, 16));
    if (h == 0) {
      s0 = f32x4.add(s0, g0);
      s1 = f32x4.add(s1, g1);
    } else {
      s0 = f32x4.relaxed_madd(g0, f32x4.sub(v128.load(h + c), m), s0);
      s1 = f32x4.relaxed_madd(g1, f32x4.sub(v128.load(h + c, 16), m), s1);
    }
  }
  let sum = horizontal_sum(f32x4.add(s0, s1));
  for (; c < bytes; c += 4) {
    const g = load<f32>(dout + c) * load<f32>(weight + c);
    sum += h == 0 ? g : g * (load<f32>(h + c) - mu);
  }
  return sum;
}

/** dx = (accumulate ? dx : 0) + ρ·(dout·w − mean(dout·w) − x̂·mean(dout·w·x̂)). */
export function layernorm_backward(
  dout: usize,
  x: usize,
  weight: usize,
  mean: usize,
  rho: usize,
  dx: usize,
  accumulate: i32,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2, n = d as f32;
  for (let row = begin; row < end; row++) {
    const offset = (row as usize) * bytes;
    const dy = dout + offset, h = x + offset, to = dx + offset;
    const mu = load<f32>(mean + ((row as usize) << 2));
    const r = load<f32>(rho + ((row as usize) << 2));
    const slope = slope_row(dy, weight, 0, mu, bytes) / n;
    const along = r * r * (slope_row(dy, weight, h, mu, bytes) / n);
    const m = f32x4.splat(mu), s = f32x4.splat(r);
    const b = f32x4.splat(slope), a = f32x4.splat(along);
    let c: usize = 0;
    for (; c + 16 <= bytes; c += 16) {
      const g = f32x4.sub(f32x4.mul(v128.load(dy + c), v128.load(weight + c)), b);
      let t = f32x4.mul(s, f32x4.sub(g, f32x4.mul(f32x4.sub(v128.load(h + c), m), a)));
      // Without `accumulate` the old values are not used at all: they may be NaN.
      if (accumulate) t = f32x4.add(v128.load(to + c), t);
      v128.store(to + c, t);
    }
    for (; c < bytes; c += 4) {
      const g = load<f32>(dy + c) * load<f32>(weight + c) - slope;
      const t = r * (g - (load<f32>(h + c) - mu) * along);
      store<f32>(to + c, accumulate ? load<f32>(to + c) + t : t);
    }
  }
}

/** dweight += Σ_rows dout·(h − μ)·ρ. */
export function layernorm_dweight(
  dout: usize,
  x: usize,
  mean: usize,
  rho: usize,
  dweight: usize,
  rows: i32,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  const last = min(end * COLUMNS, d);
  let column = begin * COLUMNS;
  for (; column + 4 <= last; column += 4) {
    const offset = (column as usize) << 2;
    let total = f32x4.splat(0);
    for (let row = 0; row < rows;) {
      const stop = min(row + SUM_ROWS, rows);
      let sum = f32x4.splat(0);
      for (; row < stop; row++) {
        const at = (row as usize) * bytes + offset, one = (row as usize) << 2;
        const centred = f32x4.sub(v128.load(x + at), v128.load32_splat(mean + one));
        const normed = f32x4.mul(centred, v128.load32_splat(rho + one));
        sum = f32x4.relaxed_madd(v128.load(dout + at), normed, sum);
      }
      total = f32x4.add(total, sum);
    }
    v128.store(dweight + offset, f32x4.add(v128.load(dweight + offset), total));
  }
  for (; column < last; column++) {
    const offset = (column as usize) << 2;
    let total: f32 = 0;
    for (let row = 0; row < rows;) {
      const stop = min(row + SUM_ROWS, rows);
      let sum: f32 = 0;
      for (; row < stop; row++) {
        const at = (row as usize) * bytes + offset, one = (row as usize) << 2;
        const centred = load<f32>(x + at) - load<f32>(mean + one);
        sum += load<f32>(dout + at) * (centred * load<f32>(rho + one));
      }
      total += sum;
    }
    store<f32>(dweight + offset, load<f32>(dweight + offset) + total);
  }
}
