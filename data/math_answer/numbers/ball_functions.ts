/** exp, ln, sin, cos, arctan and π of balls. Each computes with fixed-point bigints. */
import {
  addBalls,
  type Ball,
  ball,
  divideBalls,
  floorOfBall,
  multiplyBalls,
  negateBall,
  radiusBit,
  rootOfBall,
  signOfBall,
  topBit,
} from "./ball.ts";
import { bitsOf, magnitude } from "./rational.ts";

/** Bits beyond the wanted ones; their last 16 absorb the rounding of all terms of a series. */
const GUARD = 40, LOST = 1n << 16n;

const ONE: Ball = { m: 1n, r: 0n, e: 0 };

/** artanh(1/n) or, alternating, arctan(1/n), times 2^bits. */
function inverse(n: bigint, bits: number, alternating: boolean): bigint {
  let term = (1n << BigInt(bits)) / n, sum = term;
  for (let k = 3n, sign = -1n; term !== 0n; k += 2n, sign = -sign) {
    term /= n * n;
    sum += alternating ? sign * (term / k) : term / k;
  }
  return sum;
}

function cached(compute: (bits: number) => bigint): (bits: number) => Ball {
  const known = new Map<number, Ball>();
  return (bits) => {
    const wanted = bits + GUARD;
    let value = known.get(wanted);
    if (value === undefined) {
      value = { m: compute(wanted), r: LOST, e: -wanted };
      if (known.size > 50) known.clear();
      known.set(wanted, value);
    }
    return value;
  };
}

/** Machin's formula. */
export const piBall = cached((bits) =>
  16n * inverse(5n, bits, true) - 4n * inverse(239n, bits, true)
);
const ln2Ball = cached((bits) => 2n * inverse(3n, bits, false));

/** The middle of a ball as a fixed-point number. */
function fixed(a: Ball, bits: number): bigint {
  const shift = a.e + bits;
  return shift >= 0 ? a.m << BigInt(shift) : a.m >> BigInt(-shift);
}

/** A ball from the computed middle in fixed point, and the error that comes from the argument. */
function result(m: bigint, wanted: number, argument: Ball, bits: number): Ball {
  const error = argument.r === 0n
    ? 0n
    : argument.e + wanted >= 0
    ? argument.r << BigInt(argument.e + wanted)
    : (argument.r >> BigInt(-argument.e - wanted)) + 1n;
  return ball(m, error + LOST, -wanted, bits);
}

/** x less a whole multiple of a period, and the multiple. */
function reduced(x: Ball, period: (bits: number) => Ball, bits: number): [Ball, bigint] {
  const wanted = bits + Math.max(0, topBit(x));
  if (wanted > 6000) throw new RangeError("an argument of this size is not computed");
  const unit = period(wanted);
  const turns = divideBalls(x, unit, wanted);
  const half = addBalls(turns, { m: 1n, r: 0n, e: -1 }, wanted);
  const count = floorOfBall({ ...half, r: 0n }) ?? 0n;
  const rest = addBalls(
    x,
    negateBall(multiplyBalls(unit, ball(count, 0n, 0, wanted), wanted)),
    wanted,
  );
  return [rest, count];
}

export function expOfBall(x: Ball, bits: number): Ball {
  if (topBit(x) > 42) throw new RangeError("a number of this size is not computed");
  if (radiusBit(x) > -2) throw new RangeError("the argument is not known well enough");
  const [rest, turns] = reduced(x, ln2Ball, bits);
  const wanted = bits + GUARD, one = 1n << BigInt(wanted);
  // e^t = (e^(t/2^8))^(2^8) makes the series short.
  const t = fixed(rest, wanted) >> 8n;
  let sum = one, term = one;
  for (let k = 1n; term !== 0n && term !== -1n; k++) {
    term = ((term * t) >> BigInt(wanted)) / k;
    sum += term;
  }
  for (let i = 0; i < 8; i++) sum = (sum * sum) >> BigInt(wanted);
  // e^rest < 2, and |e^δ − 1| ≤ 2|δ|.
  const near = result(sum, wanted, { ...rest, r: rest.r * 4n }, bits);
  return ball(near.m, near.r, near.e + Number(turns), bits);
}

/** @throws RangeError unless x > 0 */
export function lnOfBall(x: Ball, bits: number): Ball {
  if (signOfBall(x) !== 1) throw new RangeError("the logarithm of no positive number");
  const size = bitsOf(x.m) + x.e;
  // y = x / 2^size is from 1/16 to 1; ln y = 2 artanh((y − 1)/(y + 1)).
  const wanted = bits + GUARD;
  const y: Ball = { ...x, e: x.e - size };
  let shift = 0;
  let m = fixed(y, wanted);
  while (m < (3n << BigInt(wanted - 2))) {
    m <<= 1n;
    shift++;
  }
  const one = 1n << BigInt(wanted);
  const z = ((m - one) << BigInt(wanted)) / (m + one), square = (z * z) >> BigInt(wanted);
  let sum = z, term = z;
  for (let k = 3n; term !== 0n && term !== -1n; k += 2n) {
    term = (term * square) >> BigInt(wanted);
    sum += term / k;
  }
  // |ln'| ≤ 1 / (lowest y) ≤ 16 · x.m / (x.m − x.r)
  const error = x.r === 0n ? 0n : (x.r << BigInt(wanted + 1)) / (x.m - x.r) + 1n;
  const near = ball(2n * sum, error + LOST, -wanted, bits);
  const powers = ball(BigInt(size - shift), 0n, 0, bits);
  return addBalls(near, multiplyBalls(ln2Ball(bits + 50), powers, bits + 50), bits);
}

const quarter = (bits: number): Ball => {
  const pi = piBall(bits);
  return { ...pi, e: pi.e - 1 };
};

export function sinCosOfBall(x: Ball, bits: number): [sin: Ball, cos: Ball] {
  const [rest, turns] = reduced(x, quarter, bits);
  const wanted = bits + GUARD, one = 1n << BigInt(wanted);
  const t = fixed(rest, wanted), square = (t * t) >> BigInt(wanted);
  const series = (start: bigint, first: bigint): Ball => {
    let sum = start, term = start;
    for (let k = first; term !== 0n && term !== -1n; k += 2n) {
      term = -((term * square) >> BigInt(wanted)) / (k * (k + 1n));
      sum += term;
    }
    return result(sum, wanted, rest, bits);
  };
  const sin = series(t, 2n), cos = series(one, 1n);
  switch (((turns % 4n) + 4n) % 4n) {
    case 0n:
      return [sin, cos];
    case 1n:
      return [cos, negateBall(sin)];
    case 2n:
      return [negateBall(sin), negateBall(cos)];
    default:
      return [negateBall(cos), sin];
  }
}

export function arctanOfBall(x: Ball, bits: number): Ball {
  const wanted = bits + GUARD;
  if (topBit({ ...x, r: 0n }) > 1) {
    const sign = signOfBall(x);
    if (sign === null) throw new RangeError("the argument is not known well enough");
    const rest = arctanOfBall(divideBalls(ONE, x, wanted), bits);
    const half = quarter(bits);
    return addBalls(sign > 0 ? half : negateBall(half), negateBall(rest), bits);
  }
  // arctan x = 2 arctan(x / (1 + √(1 + x²))), three times.
  let y: Ball = x;
  for (let i = 0; i < 3; i++) {
    const root = rootOfBall(addBalls(ONE, multiplyBalls(y, y, wanted), wanted), 2n, wanted);
    y = divideBalls(y, addBalls(ONE, root, wanted), wanted);
  }
  const t = fixed(y, wanted), square = (t * t) >> BigInt(wanted);
  let sum = t, term = t;
  for (let k = 3n; term !== 0n && term !== -1n && magnitude(term) > 0n; k += 2n) {
    term = -((term * square) >> BigInt(wanted));
    sum += term / k;
  }
  const near = result(sum, wanted, y, bits);
  return ball(near.m, near.r, near.e + 3, bits);
}
