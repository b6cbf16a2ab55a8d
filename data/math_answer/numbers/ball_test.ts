import assert from "node:assert/strict";
import { readGoldenJson } from "../../../tests/golden.ts";
import * as balls from "./ball.ts";
import { fraction } from "./rational.ts";

/** `values`: a function, n, d, and the function's value at n/d, times 10^100 as `pi` is. */
const GOLDEN = readGoldenJson<{ pi: string; values: [string, string, string, string][] }>(
  "function_values.json",
);
const VALUES = GOLDEN.values.map(([name, n, d, value]) =>
  [name, BigInt(n), BigInt(d), BigInt(value)] as const
);

const FUNCTIONS: Readonly<Record<string, (x: balls.Ball, bits: number) => balls.Ball>> = {
  exp: balls.exp,
  ln: balls.ln,
  sin: (x, bits) => balls.sinCos(x, bits)[0],
  cos: (x, bits) => balls.sinCos(x, bits)[1],
  arctan: balls.arctan,
};

/** Whether a ball holds value / 10^100, and how wide it is there. */
function assertHolds(a: balls.Ball, value: bigint, what: string): void {
  const scale = 10n ** 100n,
    up = (m: bigint) => a.e >= 0 ? (m * scale) << BigInt(a.e) : (m * scale) >> BigInt(-a.e);
  const [low, high] = [up(a.m - a.r), up(a.m + a.r)];
  assert.ok(low - 1n <= value && value <= high + 1n, `${what} is not in its ball`);
}

Deno.test("balls hold the values of functions, at every precision", () => {
  for (const [name, n, d, value] of VALUES) {
    for (const bits of [40, 128, 300]) {
      const x = balls.of(fraction(n, d), bits + 80);
      assertHolds(FUNCTIONS[name]!(x, bits), value, `${name}(${n}/${d}) to ${bits} bits`);
    }
  }
  for (const bits of [40, 128, 300]) {
    assertHolds(balls.pi(bits), BigInt(GOLDEN.pi), `π to ${bits} bits`);
  }
});

Deno.test("balls are narrow", () => {
  for (const [name, n, d] of VALUES) {
    const value = FUNCTIONS[name]!(balls.of(fraction(n, d), 400), 300);
    const relative = value.r === 0n
      ? -Infinity
      : value.r.toString(2).length - value.m.toString(2).length;
    assert.ok(relative < -250, `${name}(${n}/${d}): ${relative} bits`);
  }
});

Deno.test("sums, products, quotients and roots of balls hold those of their numbers", () => {
  const holds = (a: balls.Ball, n: bigint, d: bigint) => {
    const at = (m: bigint) => a.e >= 0 ? m * d << BigInt(a.e) : m * d;
    const value = a.e >= 0 ? n : n << BigInt(-a.e);
    return at(a.m - a.r) <= value && value <= at(a.m + a.r);
  };
  for (const [a, b] of [[1n, 3n], [-22n, 7n], [10n ** 40n, 9n], [5n, 10n ** 50n]] as const) {
    for (const [c, d] of [[2n, 7n], [-1n, 10n ** 45n], [8n ** 60n, 3n]] as const) {
      const [x, y] = [balls.of(fraction(a, b), 100), balls.of(fraction(c, d), 100)];
      assert.ok(holds(balls.add(x, y, 100), a * d + c * b, b * d), `${a}/${b} + ${c}/${d}`);
      assert.ok(holds(balls.add(x, balls.negate(y), 100), a * d - c * b, b * d));
      assert.ok(holds(balls.multiply(x, y, 100), a * c, b * d));
      if (c > 0n) assert.ok(holds(balls.divide(x, y, 100), a * d, b * c));
    }
  }
  for (const degree of [2n, 3n, 7n]) {
    const root = balls.root(balls.of(fraction(5n, 7n), 200), degree, 150);
    let power: balls.Ball = balls.ball(1n, 0n, 0, 200);
    for (let i = 0n; i < degree; i++) power = balls.multiply(power, root, 200);
    assert.ok(holds(power, 5n, 7n), `root of degree ${degree}`);
  }
});

Deno.test("a division by what may be 0 has no value", () => {
  assert.throws(
    () => balls.divide(balls.ball(1n, 0n, 0, 64), balls.ball(1n, 2n, 0, 64), 64),
    RangeError,
  );
  assert.throws(() => balls.ln(balls.ball(0n, 1n, 0, 64), 64), RangeError);
});
