/**
 * WGSL functions whose precision the operations rely on. Vulkan allows `exp` and `log` an error of
 * several units in the last place, and more far from 1, and drivers make use of that. These are
 * within 2 units everywhere, and give the same bits on every driver that rounds products and sums
 * correctly.
 */

/**
 * exp_f32(x) = e^x; 0 for x below −87.3 (no denormals), 2^127·1.99 above 88.7. Reduction by Cody
 * and Waite: x = n·ln 2 + r with |r| ≤ ln 2/2. e^r is a polynomial of degree 6 (coefficients of the
 * series, the last ones adjusted for the interval); n is added to its exponent.
 */
export const EXP = `
fn exp_f32(value: f32) -> f32 {
  let x = clamp(value, -87.3, 88.7);
  let n = round(x * 1.44269504);
  let r = fma(n, -1.42860677e-6, fma(n, -0.693145752, x));
  var q = fma(r, 1.9875691500e-4, 1.3981999507e-3);
  q = fma(q, r, 8.3334519073e-3);
  q = fma(q, r, 4.1665795894e-2);
  q = fma(q, r, 1.6666665459e-1);
  q = fma(q, r, 5.0000001201e-1);
  let e = fma(q, r * r, r) + 1.0;
  let half = i32(n) / 2;
  let a = bitcast<f32>(u32(half + 127) << 23u);
  let b = bitcast<f32>(u32(i32(n) - half + 127) << 23u);
  return select(e * a * b, 0.0, value < -87.3);
}
`;

/** sigmoid_f32(x) = 1/(1 + e^−x) without overflow. Needs {@link EXP}. */
export const SIGMOID = `
fn sigmoid_f32(x: f32) -> f32 {
  let e = exp_f32(-abs(x));
  let s = 1.0 / (1.0 + e);
  return select(e * s, s, x >= 0.0);
}
`;

/**
 * log_f32(x): the natural logarithm of a positive normal number. With x = 2^k·m, m from √½ to √2,
 * f = m − 1 (exact) and s = f/(2 + f): ln m = f − f²/2 + s·(f²/2 + s²·(2/3 + 2/5·s² + …)). k·ln 2
 * is added in two parts.
 */
export const LOG = `
fn log_f32(x: f32) -> f32 {
  let bits = bitcast<i32>(x);
  let k = (bits - 0x3f3504f3) >> 23u;
  let f = bitcast<f32>(bits - (k << 23u)) - 1.0;
  let s = f / (2.0 + f);
  let t = s * s;
  let series = t * fma(t, fma(t, fma(t, 0.22222222, 0.28571429), 0.4), 0.66666667);
  let half_square = 0.5 * f * f;
  let n = f32(k);
  return fma(n, 0.693145752, f - (half_square - fma(s, half_square + series, n * 1.42860677e-6)));
}
`;

/** tanh_f32(x): near 0 an odd polynomial (Cephes). Needs {@link EXP}. */
const TANH = `
fn tanh_f32(x: f32) -> f32 {
  let size = abs(x);
  let z = x * x;
  var q = fma(z, -5.70498872745e-3, 2.06390887954e-2);
  q = fma(q, z, -5.37397155531e-2);
  q = fma(q, z, 1.33314422036e-1);
  q = fma(q, z, -3.33332819422e-1);
  let e = exp_f32(-2.0 * size);
  let far = (1.0 - e) / (1.0 + e);
  return select(select(far, -far, x < 0.0), fma(q * z, x, x), size < 0.625);
}
`;

/**
 * soft_cap(x) = cap·tanh(x/cap) with the parameter `cap`, and cap_slope(y), its derivative from its
 * value; both also of four numbers. Needs {@link EXP}.
 */
export const SOFT_CAP = `${TANH}
fn soft_cap(x: f32) -> f32 { return p.cap * tanh_f32(x / p.cap); }
fn cap_slope(y: f32) -> f32 { let t = y / p.cap; return 1.0 - t * t; }
fn soft_cap4(x: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(soft_cap(x.x), soft_cap(x.y), soft_cap(x.z), soft_cap(x.w));
}
fn cap_slope4(y: vec4<f32>) -> vec4<f32> { let t = y / p.cap; return vec4<f32>(1.0) - t * t; }
`;
