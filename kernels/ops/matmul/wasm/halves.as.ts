// Products of one or two rows of x with a weight in halves, which is not widened in memory.

import * as codes from "../../../weights/codes.as";
import { touch } from "../../../memory.as";
import { reduce4 } from "./dot.as";

/**
 * Prepares rows of x for matmul_halves_dot: of every 16 elements first the even ones, then the odd
 * ones, all multiplied by `factor`. Unit: a row.
 */
export function matmul_halves_prepare(
  x: usize, k: i32, factor: f32, to: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const scale = f32x4.splat(factor);
  const row = (k as usize) * 4;
  const last = x + (end as usize) * row;
  to += (begin as usize) * row;
  for (let from = x + (begin as usize) * row; from < last; from += 64, to += 64) {
    const a = f32x4.mul(v128.load(from), scale), b = f32x4.mul(v128.load(from, 16), scale);
    const c = f32x4.mul(v128.load(from, 32), scale), d = f32x4.mul(v128.load(from, 48), scale);
    v128.store(to, v128.shuffle<f32>(a, b, 0, 2, 4, 6));
    v128.store(to, v128.shuffle<f32>(c, d, 0, 2, 4, 6), 16);
    v128.store(to, v128.shuffle<f32>(a, b, 1, 3, 5, 7), 32);
    v128.store(to, v128.shuffle<f32>(c, d, 1, 3, 5, 7), 48);
  }
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · x·Wᵀ for one or two prepared rows of x. k is a
 * multiple of 16. With f16 the result is 2^112 times too small. Unit: four rows of W. Scratch: 256
 * bytes.
 */
export function matmul_halves_dot(
  bf16: i32, x: usize, w: usize, out: usize, m: i32, n: i32, k: i32, alpha: f32, accumulate: i32,
  begin: i32, end: i32, scratch: usize,
): void {
  const step = (k as usize) * 2, xStep = (k as usize) * 4, outStep = (n as usize) * 4;
  for (let row = begin * 4, last = min(n, end * 4); row < last;) {
    const from = w + (row as usize) * step;
    // Fewer than four rows are done one by one: the four sums are then the same.
    const whole = last - row >= 4, wStep: usize = whole ? step : 0;
    if (whole) touch(from, 4 * step, scratch);
    if (bf16) {
      if (m == 1) codes.dot_bf16_1(x, xStep, from, wStep, scratch, k);
      else codes.dot_bf16_2(x, xStep, from, wStep, scratch, k);
    } else {
      if (m == 1) codes.dot_f16_1(x, xStep, from, wStep, scratch, k);
      else codes.dot_f16_2(x, xStep, from, wStep, scratch, k);
    }
    for (let i: usize = 0; i < (m as usize); i++) {
      let sums = f32x4.mul(f32x4.splat(alpha), reduce4(scratch + i * 128));
      const to = out + i * outStep + (row as usize) * 4;
      if (whole) {
        if (accumulate) sums = f32x4.add(v128.load(to), sums);
        v128.store(to, sums);
      } else {
        const sum = f32x4.extract_lane(sums, 0);
        store<f32>(to, accumulate ? load<f32>(to) + sum : sum);
      }
    }
    row += whole ? 4 : 1;
  }
}
