/**
 * Products in float16 (IEEE binary16; `computeDtype` of a device): both operands are rounded, and
 * the sums are in float32, as with bfloat16 (bf16.ts). Everything else stays in float32.
 *
 * A number is rounded to the nearest binary16, ties to even. Numbers below 2^-14 are multiples of
 * 2^-24, and magnitudes of 65520 and more become infinite. A product of two such numbers is exact
 * in float32 and not subnormal. Sums on a CPU have the order of bf16.ts.
 *
 * Training multiplies the loss by a scale, so that small gradients do not become zero
 * (training/step/loss_scale.ts).
 */
import { narrowF16, widenF16 } from "../../../core/half_floats.ts";

/** The nearest numbers in binary16. */
export function roundF16(x: ArrayLike<number>): Float32Array {
  return widenF16(narrowF16(x));
}
