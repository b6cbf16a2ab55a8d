import assert from "node:assert/strict";
import { narrowBF16, narrowF16, widenBF16, widenF16 } from "./half_floats.ts";

const every = Uint16Array.from({ length: 65536 }, (_, i) => i);

Deno.test("every 16-bit pattern is unchanged by widening and narrowing, NaNs stay NaNs", () => {
  for (
    const [widen, narrow] of [[widenF16, narrowF16], [widenBF16, narrowBF16]] as const
  ) {
    const wide = widen(every);
    const back = narrow(wide);
    for (let i = 0; i < 65536; i++) {
      if (Number.isNaN(wide[i])) assert.ok(Number.isNaN(widen(back.subarray(i, i + 1))[0]));
      else assert.equal(back[i], i);
    }
  }
});

Deno.test("known values are widened exactly", () => {
  const f16 = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x7c00, 0x3555];
  assert.deepEqual(
    [...widenF16(Uint16Array.from(f16))],
    [1, -2, 65504, 2 ** -24, 2 ** -14, Infinity, 0.333251953125],
  );
  assert.deepEqual([...widenBF16(Uint16Array.of(0x3f80, 0xc049, 0xff80))], [
    1,
    -3.140625,
    -Infinity,
  ]);
});

Deno.test("narrowing rounds to the nearest, ties to even", () => {
  // Midpoints between neighbouring values go to the even pattern, all others to the nearer one.
  for (const [widen, narrow] of [[widenF16, narrowF16], [widenBF16, narrowBF16]] as const) {
    for (const low of [0x0000, 0x0001, 0x03fe, 0x03ff, 0x0400, 0x3bff, 0x3c00, 0x4248, 0x7bfe]) {
      const [a, b] = widen(Uint16Array.of(low, low + 1)) as unknown as [number, number];
      const even = low % 2 === 0 ? low : low + 1;
      const middle = (a + b) / 2;
      assert.equal(narrow([middle])[0], even);
      assert.equal(narrow(Float32Array.of(0, middle).subarray(1))[0], even);
      assert.equal(narrow([-middle])[0], even | 0x8000);
      assert.equal(narrow([a + (b - a) * 0.25])[0], low);
      assert.equal(narrow([a + (b - a) * 0.75])[0], low + 1);
    }
  }
  assert.deepEqual([...narrowF16([65519, 65520, 1e9, 2 ** -26])], [0x7bff, 0x7c00, 0x7c00, 0]);
});
