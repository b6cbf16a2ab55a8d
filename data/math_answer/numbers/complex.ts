/** Complex numbers with exact or enclosed parts. */
import * as reals from "./real.ts";
import { ZERO } from "./rational.ts";

export interface Complex {
  re: reals.Real;
  im: reals.Real;
}

export const real = (re: reals.Real): Complex => ({ re, im: ZERO });
/** Whether the number is real for certain: its imaginary part is exactly 0. */
export const isReal = ({ im }: Complex): boolean => reals.isExact(im) && im.n === 0n;

export function add(a: Complex, b: Complex, bits: number): Complex {
  return { re: reals.add(a.re, b.re, bits), im: reals.add(a.im, b.im, bits) };
}

export const negate = (a: Complex): Complex => ({ re: reals.negate(a.re), im: reals.negate(a.im) });

export const subtract = (a: Complex, b: Complex, bits: number): Complex => add(a, negate(b), bits);

export function multiply(a: Complex, b: Complex, bits: number): Complex {
  if (isReal(a) && isReal(b)) return real(reals.multiply(a.re, b.re, bits));
  const times = (x: reals.Real, y: reals.Real) => reals.multiply(x, y, bits);
  return {
    re: reals.add(times(a.re, b.re), reals.negate(times(a.im, b.im)), bits),
    im: reals.add(times(a.re, b.im), times(a.im, b.re), bits),
  };
}

/** @throws RangeError where b is or may be 0 */
export function divide(a: Complex, b: Complex, bits: number): Complex {
  if (isReal(b)) {
    return {
      re: reals.divide(a.re, b.re, bits),
      im: isReal(a) ? a.im : reals.divide(a.im, b.re, bits),
    };
  }
  const above = multiply(a, { re: b.re, im: reals.negate(b.im) }, bits), below = square(b, bits);
  return { re: reals.divide(above.re, below, bits), im: reals.divide(above.im, below, bits) };
}

/** |a|² */
function square({ re, im }: Complex, bits: number): reals.Real {
  return reals.add(reals.multiply(re, re, bits), reals.multiply(im, im, bits), bits);
}

/** |a| */
export function size(a: Complex, bits: number): reals.Real {
  return isReal(a) ? reals.absolute(a.re, bits) : reals.rootOf(square(a, bits), 2n, bits);
}
