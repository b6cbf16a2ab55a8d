/** Complex numbers with exact or enclosed parts. */
import {
  absolute,
  addReal,
  divideReal,
  isExact,
  multiplyReal,
  negateReal,
  type Real,
  rootOf,
  signOf,
} from "./real.ts";
import { ZERO } from "./rational.ts";

export interface Complex {
  re: Real;
  im: Real;
}

export const real = (re: Real): Complex => ({ re, im: ZERO });
/** Whether the number is real for certain: its imaginary part is exactly 0. */
export const isReal = ({ im }: Complex): boolean => isExact(im) && im.n === 0n;

export function add(a: Complex, b: Complex, bits: number): Complex {
  return { re: addReal(a.re, b.re, bits), im: addReal(a.im, b.im, bits) };
}

export const negate = (a: Complex): Complex => ({ re: negateReal(a.re), im: negateReal(a.im) });

export const subtract = (a: Complex, b: Complex, bits: number): Complex => add(a, negate(b), bits);

export function multiply(a: Complex, b: Complex, bits: number): Complex {
  if (isReal(a) && isReal(b)) return real(multiplyReal(a.re, b.re, bits));
  const times = (x: Real, y: Real) => multiplyReal(x, y, bits);
  return {
    re: addReal(times(a.re, b.re), negateReal(times(a.im, b.im)), bits),
    im: addReal(times(a.re, b.im), times(a.im, b.re), bits),
  };
}

/** @throws RangeError where b is or may be 0 */
export function divide(a: Complex, b: Complex, bits: number): Complex {
  if (isReal(b)) {
    return {
      re: divideReal(a.re, b.re, bits),
      im: isReal(a) ? a.im : divideReal(a.im, b.re, bits),
    };
  }
  const above = multiply(a, { re: b.re, im: negateReal(b.im) }, bits), below = square(b, bits);
  return { re: divideReal(above.re, below, bits), im: divideReal(above.im, below, bits) };
}

/** |a|² */
function square({ re, im }: Complex, bits: number): Real {
  return addReal(multiplyReal(re, re, bits), multiplyReal(im, im, bits), bits);
}

export function modulus(a: Complex, bits: number): Real {
  return isReal(a) ? absolute(a.re, bits) : rootOf(square(a, bits), 2n, bits);
}

/** The principal square root. */
export function squareRoot(a: Complex, bits: number): Complex {
  if (isReal(a)) {
    return signOf(a.re) === -1
      ? { re: ZERO, im: rootOf(negateReal(a.re), 2n, bits) }
      : real(rootOf(a.re, 2n, bits));
  }
  const sign = signOf(a.im), size = modulus(a, bits);
  // On the negative half of the real line the root jumps from one sign to the other.
  if (sign === null && signOf(a.re) !== 1) throw new RangeError("near the cut of the root");
  const half = (x: Real) => rootOf(divideReal(x, { n: 2n, d: 1n }, bits), 2n, bits);
  const im = half(addReal(size, negateReal(a.re), bits));
  return { re: half(addReal(size, a.re, bits)), im: sign === -1 ? negateReal(im) : im };
}

/** a^n for a whole n, by squaring. @throws RangeError for a large n */
export function powerByWhole(a: Complex, n: bigint, bits: number): Complex {
  const count = n < 0n ? -n : n;
  if (count > 4096n) throw new RangeError("an exponent of this size is not computed");
  let value: Complex = real({ n: 1n, d: 1n }), factor = a;
  for (let left = count; left > 0n; left >>= 1n) {
    if (left & 1n) value = multiply(value, factor, bits);
    if (left > 1n) factor = multiply(factor, factor, bits);
  }
  return n < 0n ? divide(real({ n: 1n, d: 1n }), value, bits) : value;
}
