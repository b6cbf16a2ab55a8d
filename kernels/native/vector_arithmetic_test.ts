/** Arithmetic on vectors in native code beside the plain functions. */
import assert from "node:assert/strict";
import { PLAIN_ARITHMETIC } from "../../core/vector_arithmetic.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { wantedLibraries } from "./choice.ts";
import { hasPlainBits, vectorArithmetic } from "./vector_arithmetic.ts";

Deno.test("native arithmetic has the bits of the plain functions and stays in its arrays", {
  ignore: needs(wantedLibraries().codes.length > 0, NEEDED.native),
}, () => {
  const native = vectorArithmetic();
  assert.notEqual(native, PLAIN_ARITHMETIC);
  assert.ok(hasPlainBits(native));
  // Starts and lengths that fit no vector, in shared memory; what is around stays as it is.
  for (const [begin, length] of [[1, 0], [3, 1], [5, 15], [7, 33], [2, 100]] as const) {
    const make = () => {
      const all = new Float32Array(new SharedArrayBuffer(4 * 128));
      all.set(all.map((_, i) => Math.sin(i * 78.233) * 10 ** (i % 9 - 4)));
      return all;
    };
    const run = ({ add, round, narrow, widen }: typeof native) => {
      const sum = make(), rounded = make(), widened = make(), patterns = new Uint16Array(128);
      const of = (all: Float32Array) => all.subarray(begin, begin + length);
      add(of(sum), of(sum), of(make()).map((x) => x / 3));
      round(of(rounded));
      narrow(of(make()), patterns.subarray(begin, begin + length));
      widen(patterns.subarray(begin, begin + length), of(widened));
      return [sum, rounded, widened, patterns].map((all) => [...all]);
    };
    assert.deepEqual(run(native), run(PLAIN_ARITHMETIC), `${length} values from ${begin} on`);
  }
  assert.throws(() => native.add(new Float32Array(3), new Float32Array(2), new Float32Array(3)), {
    name: "RangeError",
    message: "arrays of 3, 2, 3 values; expected the same number",
  });
  const doubles = Float64Array.of(1, 1e300);
  native.add(doubles, doubles, doubles);
  assert.deepEqual([...doubles], [2, 2e300]);
});

Deno.test("arithmetic with another rounding is not taken", () => {
  const cut = (values: Float32Array | Float64Array, out: Uint16Array) => {
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
    bits.forEach((word, i) => out[i] = word >>> 16);
  };
  assert.equal(hasPlainBits({ ...PLAIN_ARITHMETIC, narrow: cut }), false);
});
