// Packing of a weight that is stored in halves (binary16 or the upper half of a float32): widened, exactly, into the
// same panels of 16 rows as matmul_pack_transposed makes.

import { transpose4 } from "./pack.as";

const LANES = 16;

/** Four f32 from the lower halves of four i32 lanes. */
// @ts-ignore: decorator of AssemblyScript
@inline
function widen(halves: v128, bf16: i32): v128 {
  if (bf16) return i32x4.shl(halves, 16);
  // The exponent and the mantissa are moved into place; a product mends the exponent, also that of denormals.
  const sign = i32x4.shl(v128.and(halves, i32x4.splat(0x8000)), 16);
  const size = i32x4.shl(v128.and(halves, i32x4.splat(0x7fff)), 13);
  const value = f32x4.mul(size, i32x4.splat(0x77800000)); // 2^112
  const endless = v128.and(i32x4.ge_s(size, i32x4.splat(0x0f800000)), i32x4.splat(0x7f800000));
  return v128.or(v128.or(value, endless), sign);
}

/**
 * Panels of the transpose of `source` [columns, k] of halves; k is even. Unit = panel. Scratch: 64 bytes,
 * where sixteen widened elements wait to be transposed.
 */
export function matmul_pack_halves(
  source: usize,
  bf16: i32,
  columns: i32,
  k: i32,
  panels: usize,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const size = (k as usize) * 64;
  const stride = (k as usize) * 2;
  for (let p = begin; p < end; p++) {
    const first = p * LANES;
    const count = min(LANES, columns - first);
    let from = source + (first as usize) * stride;
    let to = panels + (p as usize) * size;
    if (count < LANES) memory.fill(to, 0, size);
    const whole = count & ~3;
    let kk = 0;
    for (; kk + 4 <= k; kk += 4) {
      for (let c = 0; c < whole; c += 4) {
        const at = from + (c as usize) * stride;
        v128.store(scratch, widen(v128.load16x4_u(at), bf16));
        v128.store(scratch, widen(v128.load16x4_u(at + stride), bf16), 16);
        v128.store(scratch, widen(v128.load16x4_u(at + 2 * stride), bf16), 32);
        v128.store(scratch, widen(v128.load16x4_u(at + 3 * stride), bf16), 48);
        transpose4(scratch, 16, to + (c as usize) * 4);
      }
      for (let c = whole; c < count; c++) {
        const row = widen(v128.load16x4_u(from + (c as usize) * stride), bf16);
        const at = to + (c as usize) * 4;
        v128.store32_lane(at, row, 0, 0);
        v128.store32_lane(at, row, 1, 64);
        v128.store32_lane(at, row, 2, 128);
        v128.store32_lane(at, row, 3, 192);
      }
      from += 8;
      to += 256;
    }
    if (kk < k) {
      for (let c = 0; c < count; c++) {
        const pair = load<u32>(from + (c as usize) * stride);
        const both = widen(i32x4(pair & 0xffff, pair >>> 16, 0, 0), bf16);
        const at = to + (c as usize) * 4;
        v128.store32_lane(at, both, 0, 0);
        v128.store32_lane(at, both, 1, 64);
      }
    }
  }
}

/** `count` halves, in order; count is even. */
export function widen_halves(from: usize, to: usize, count: i32, bf16: i32): void {
  let i = 0;
  for (; i + 8 <= count; i += 8, from += 16, to += 32) {
    const a = widen(v128.load16x4_u(from), bf16), b = widen(v128.load16x4_u(from, 8), bf16);
    v128.store(to, b, 16);
    v128.store(to, a);
  }
  for (; i < count; i += 2, from += 4, to += 8) {
    const pair = load<u32>(from);
    v128.store64_lane(to, widen(i32x4(pair & 0xffff, pair >>> 16, 0, 0), bf16), 0);
  }
}

/**
 * Panels of 16 columns of `source` [k, columns] of halves, of which each row begins `stride` bytes after the one
 * before; columns is even. Unit = panel.
 */
export function matmul_pack_halves_rows(
  source: usize,
  stride: usize,
  bf16: i32,
  columns: i32,
  k: i32,
  panels: usize,
  begin: i32,
  end: i32,
  scratch: usize,
): void {
  const size = (k as usize) * 64;
  for (let p = begin; p < end; p++) {
    const count = min(LANES, columns - p * LANES);
    let from = source + (p as usize) * 32;
    let to = panels + (p as usize) * size;
    if (count < LANES) memory.fill(to, 0, size);
    for (let kk = 0; kk < k; kk++, from += stride, to += 64) widen_halves(from, to, count, bf16);
  }
}
