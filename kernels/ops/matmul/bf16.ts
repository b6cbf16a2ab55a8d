/**
 * Products in bfloat16 (`computeDtype` of a device): both operands are rounded, and the sums are in
 * float32. Everything else (norms, softmax, attention, losses, the optimizer) stays in float32.
 *
 * A number is rounded to the nearest bfloat16, ties to even. Magnitudes below MIN_MAGNITUDE become
 * zero: then no product and no sum of products is subnormal, which the units of processors treat
 * differently. A stored weight is first widened to float32. alpha and loraScale are factors of the
 * sums; xa and loraB are rounded like a and b.
 *
 * Sums on a CPU have one order: in every block of TERMS terms, the products of the even terms and
 * those of the odd terms are summed separately, each from 0 on; their sum is added to the sum of
 * the blocks before. A product of two numbers in bfloat16 is exact in float32, so a fused
 * multiply-add has the bits of a multiplication and an addition. AMX, AVX512-BF16 and the WASM
 * kernels compute in this order, and therefore give the same bits. Other devices sum in an order of
 * their own.
 */
import { narrowBF16, widenBF16 } from "../../../core/half_floats.ts";

/** Number of terms of a block. */
export const TERMS = 32;

/** Smaller magnitudes are rounded to zero. */
export const MIN_MAGNITUDE = 2 ** -56;

/** The nearest numbers in bfloat16. */
export function roundBf16(x: ArrayLike<number>): Float32Array {
  const kept = Float32Array.from(x, (value) => Math.abs(value) < MIN_MAGNITUDE ? 0 : value);
  return widenBF16(narrowBF16(kept));
}
