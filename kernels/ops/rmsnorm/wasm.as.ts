// RMSNorm with the fused residual addition, and its gradient (kernels/ops/rmsnorm/spec.ts).
// Work unit of the forward and of dx: one row. Work unit of dweight: DWEIGHT_COLUMNS columns. All
// rows are summed in order, in partial sums of SUM_ROWS rows, which loses fewer digits.

const DWEIGHT_COLUMNS: i32 = 16;
const SUM_ROWS: i32 = 256;

// @ts-ignore: decorator of AssemblyScript
@inline
function horizontal_sum(x: v128): f32 {
  return (f32x4.extract_lane(x, 0) + f32x4.extract_lane(x, 1)) +
    (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3));
}

/** `addend` and `sum` are 0 without a residual branch. */
export function rmsnorm(
  x: usize,
  addend: usize,
  sum: usize,
  weight: usize,
  out: usize,
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
      add_row(h, addend + offset, sum + offset, bytes);
      h = sum + offset;
    }
    const r = (1 as f32) / sqrt<f32>(sum_squares_row(h, bytes) / (d as f32) + eps);
    store<f32>(rho + ((row as usize) << 2), r);
    const y = out + offset, s = f32x4.splat(r);
    let c: usize = 0;
    for (; c + 32 <= bytes; c += 32) {
      const y0 = f32x4.mul(f32x4.mul(v128.load(h + c), s), v128.load(weight + c));
      const y1 = f32x4.mul(f32x4.mul(v128.load(h + c, 16), s), v128.load(weight + c, 16));
      v128.store(y + c, y0);
      v128.store(y + c, y1, 16);
    }
    for (; c < bytes; c += 4) store<f32>(y + c, load<f32>(h + c) * r * load<f32>(weight + c));
  }
}

function add_row(a: usize, b: usize, out: usize, bytes: usize): void {
  let c: usize = 0;
  for (; c + 32 <= bytes; c += 32) {
    const h0 = f32x4.add(v128.load(a + c), v128.load(b + c));
    const h1 = f32x4.add(v128.load(a + c, 16), v128.load(b + c, 16));
    v128.store(out + c, h0);
    v128.store(out + c, h1, 16);
  }
  for (; c < bytes; c += 4) store<f32>(out + c, load<f32>(a + c) + load<f32>(b + c));
}

function sum_squares_row(h: usize, bytes: usize): f32 {
  let s0 = f32x4.splat(0), s1 = s0, s2 = s0, s3 = s0;
  let c: usize = 0;
  for (; c + 64 <= bytes; c += 64) {
    const h0 = v128.load(h + c), h1 = v128.load(h + c, 16);
    const h2 = v128.load(h + c, 32), h3 = v128.load(h + c, 48);
    s0 = f32x4.relaxed_madd(h0, h0, s0);
    s1 = f32x4.relaxed_madd(h1, h1, s1);
    s2 = f32x4.relaxed_madd(h2, h2, s2);
    s3 = f32x4.relaxed_madd(h3, h3, s3);
  }
  let sum = horizontal_sum(f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3)));
  for (; c < bytes; c += 4) sum += load<f32>(h + c) * load<f32>(h + c);
  return sum;
}

/** Σ dout·weight·h of one row. */
function dot_row(dout: usize, weight: usize, h: usize, bytes: usize): f32 {
  let s0 = f32x4.splat(0), s1 = s0, s2 = s0, s3 = s0;
  let c: usize = 0;
  for (; c + 64 <= bytes; c += 64) {
    const g0 = f32x4.mul(v128.load(dout + c), v128.load(weight + c));
    const g1 = f32x4.mul(v128.load(dout + c, 16), v128.load(weight + c, 16));
    const g2 = f32x4.mul(v128.load(dout + c, 32), v128.load(weight + c, 32));
    const g3 = f32x4.mul(v128.load(dout + c, 48), v128.load(weight + c, 48));
    s0 = f32x4.relaxed_madd(g0, v128.load(h + c), s0);
    s1 = f32x4.relaxed_madd(g1, v128.load(h + c, 16), s1);
    s2 = f32x4.relaxed_madd(g2, v128.load(h + c, 32), s2);
    s3 = f32x4.relaxed_madd(g3, v128.load(h + c, 48), s3);
  }
  let sum = horizontal_sum(f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3)));
  for (; c < bytes; c += 4) {
    sum += load<f32>(dout + c) * load<f32>(weight + c) * load<f32>(h + c);
  }
  return sum;
}

/** dx = (accumulate ? dx : 0) + ρ·(dout·w − h·ρ²·mean(dout·w·h)). */
export function rmsnorm_backward(
  dout: usize,
  x: usize,
  weight: usize,
  rho: usize,
  dx: usize,
  accumulate: i32,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  for (let row = begin; row < end; row++) {
    const offset = (row as usize) * bytes;
    const dy = dout + offset, h = x + offset, to = dx + offset;
    const r = load<f32>(rho + ((row as usize) << 2));
    const along = r * r * (dot_row(dy, weight, h, bytes) / (d as f32));
    const s = f32x4.splat(r), a = f32x4.splat(along);
    // Without `accumulate` the old values are not used at all: they may be NaN.
    let c: usize = 0;
    if (accumulate) {
      for (; c + 32 <= bytes; c += 32) {
        const g0 = f32x4.mul(v128.load(dy + c), v128.load(weight + c));
        const g1 = f32x4.mul(v128.load(dy + c, 16), v128.load(weight + c, 16));
        const t0 = f32x4.mul(s, f32x4.sub(g0, f32x4.mul(v128.load(h + c), a)));
        const t1 = f32x4.mul(s, f32x4.sub(g1, f32x4.mul(v128.load(h + c, 16), a)));
        v128.store(to + c, f32x4.add(v128.load(to + c), t0));
        v128.store(to + c, f32x4.add(v128.load(to + c, 16), t1), 16);
      }
    } else {
      for (; c + 32 <= bytes; c += 32) {
        const g0 = f32x4.mul(v128.load(dy + c), v128.load(weight + c));
        const g1 = f32x4.mul(v128.load(dy + c, 16), v128.load(weight + c, 16));
        v128.store(to + c, f32x4.mul(s, f32x4.sub(g0, f32x4.mul(v128.load(h + c), a))));
        v128.store(to + c, f32x4.mul(s, f32x4.sub(g1, f32x4.mul(v128.load(h + c, 16), a))), 16);
      }
    }
    for (; c < bytes; c += 4) {
      const t = r * (load<f32>(dy + c) * load<f32>(weight + c) - load<f32>(h + c) * along);
      store<f32>(to + c, accumulate ? load<f32>(to + c) + t : t);
    }
  }
}

/** dweight += Σ_rows dout·h·ρ. */
export function rmsnorm_dweight(
  dout: usize,
  x: usize,
  rho: usize,
  dweight: usize,
  rows: i32,
  d: i32,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const bytes = (d as usize) << 2;
  const last = min(end * DWEIGHT_COLUMNS, d);
  let column = begin * DWEIGHT_COLUMNS;
  for (; column + DWEIGHT_COLUMNS <= last; column += DWEIGHT_COLUMNS) {
    const offset = (column as usize) << 2;
    const to = dweight + offset;
    let t0 = f32x4.splat(0), t1 = t0, t2 = t0, t3 = t0;
    for (let row = 0; row < rows;) {
      const stop = min(row + SUM_ROWS, rows);
      let s0 = f32x4.splat(0), s1 = s0, s2 = s0, s3 = s0;
      let a = dout + offset + (row as usize) * bytes;
      let b = x + offset + (row as usize) * bytes;
      for (; row < stop; row++) {
        const r = v128.load32_splat(rho + ((row as usize) << 2));
        s0 = f32x4.relaxed_madd(f32x4.mul(v128.load(a), v128.load(b)), r, s0);
        s1 = f32x4.relaxed_madd(f32x4.mul(v128.load(a, 16), v128.load(b, 16)), r, s1);
        s2 = f32x4.relaxed_madd(f32x4.mul(v128.load(a, 32), v128.load(b, 32)), r, s2);
        s3 = f32x4.relaxed_madd(f32x4.mul(v128.load(a, 48), v128.load(b, 48)), r, s3);
        a += bytes;
        b += bytes;
      }
      t0 = f32x4.add(t0, s0);
      t1 = f32x4.add(t1, s1);
      t2 = f32x4.add(t2, s2);
      t3 = f32x4.add(t3, s3);
    }
    v128.store(to, f32x4.add(v128.load(to), t0));
    v128.store(to, f32x4.add(v128.load(to, 16), t1), 16);
    v128.store(to, f32x4.add(v128.load(to, 32), t2), 32);
    v128.store(to, f32x4.add(v128.load(to, 48), t3), 48);
  }
  for (; column < last; column++) {
    const offset = (column as usize) << 2;
    let total: f32 = 0;
    for (let row = 0; row < rows;) {
      const stop = min(row + SUM_ROWS, rows);
      let sum: f32 = 0;
      for (; row < stop; row++) {
        const at = (row as usize) * bytes + offset;
        sum += load<f32>(dout + at) * load<f32>(x + at) * load<f32>(rho + ((row as usize) << 2));
      }
      total += sum;
    }
    store<f32>(dweight + offset, load<f32>(dweight + offset) + total);
  }
}
