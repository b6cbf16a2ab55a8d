/** For tests only: the exact value of an expression, independently of the generators. */
import assert from "node:assert/strict";

/** A fraction n / d of bigints. */
export type Fraction = [bigint, bigint];

/**
 * Evaluates an expression by the usual rules and counts its numbers. `exact`: no division leaves a
 * remainder.
 */
export function evaluate(text: string): { value: Fraction; numbers: number; exact: boolean } {
  const tokens = text.match(/\d+(?:\.\d+)?|[-+*/()]/g)!;
  let at = 0, numbers = 0, exact = true;
  const factor = (): Fraction => {
    const token = tokens[at++]!;
    if (token === "-") {
      const [n, d] = factor();
      return [-n, d];
    }
    if (token === "(") {
      const value = sum();
      assert.equal(tokens[at++], ")");
      return value;
    }
    numbers++;
    return decimal(token);
  };
  const product = (): Fraction => {
    let [n, d] = factor();
    while (tokens[at] === "*" || tokens[at] === "/") {
      const divide = tokens[at++] === "/";
      const [a, b] = factor();
      if (divide) {
        assert.notEqual(a, 0n, `division by zero in ${text}`);
        [n, d] = [n * b, d * a];
        exact &&= n % d === 0n;
      } else [n, d] = [n * a, d * b];
      [n, d] = n % d === 0n ? [n / d, 1n] : [n, d];
    }
    return [n, d];
  };
  const sum = (): Fraction => {
    let [n, d] = product();
    while (tokens[at] === "+" || tokens[at] === "-") {
      const sign = tokens[at++] === "+" ? 1n : -1n;
      const [a, b] = product();
      [n, d] = [n * b + sign * a * d, d * b];
    }
    return [n, d];
  };
  const value = sum();
  assert.equal(at, tokens.length, `cannot read ${text}`);
  return { value, numbers, exact };
}

/** The value of a decimal text. */
export function decimal(text: string): Fraction {
  const [whole, fraction = ""] = text.split(".") as [string, string?];
  return [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
}
