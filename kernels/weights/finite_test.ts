/** The check finds all stored values that are not finite, and refuses no others. */
import assert from "node:assert/strict";
import { f16Value, widenBF16 } from "../../core/half_floats.ts";
import { BLOCK_CODES, fileBytes } from "./blocks.ts";
import { refuseInfinite, refuseInfiniteStored, refuseStoredBeyondF16 } from "./finite.ts";
import { BLOCK_SHAPES, blockOf, type BlockType } from "./types.ts";

Deno.test("halves: exactly the bit patterns that are not finite are refused", () => {
  const widen = { f16: f16Value, bf16: (bits: number) => widenBF16(Uint16Array.of(bits))[0]! };
  for (const type of ["f16", "bf16"] as const) {
    for (let bits = 0; bits < 65_536; bits++) {
      const at = bits & 3, halves = Uint16Array.of(0x3f80, 0xbf80, 0x8000, 1, 2, 3);
      halves[at] = bits;
      const check = () => refuseInfiniteStored(type, 3, new Uint8Array(halves.buffer), 4);
      if (Number.isFinite(widen[type](bits))) check();
      else assert.throws(check, new RegExp(`element \\[${4 + (at / 3 | 0)}, ${at % 3}\\] is `));
    }
  }
});

Deno.test("bfloat16 weights of products in float16: those of 65536 and more are refused", () => {
  for (let bits = 0; bits < 0x7f80; bits++) {
    const value = widenBF16(Uint16Array.of(bits))[0]!;
    for (const sign of [0, 0x8000]) {
      const bytes = new Uint8Array(Uint16Array.of(0x3f80, bits | sign).buffer);
      const check = () => refuseStoredBeyondF16("bf16", 2, bytes, 16);
      if (value < 65_536) check();
      else assert.throws(check, /element \[16, 1\] is -?\d.*, which is infinite as float16$/);
    }
  }
});

Deno.test("floats: exactly the values that are not finite are refused", () => {
  const usual = [0, -0, 3.4028234663852886e38, -3.4028234663852886e38, 1e-45, -1, 1];
  refuseInfinite(Float32Array.from(usual), [7]);
  refuseInfinite(Float64Array.from([...usual, 1e300]), [8]);
  for (const value of [NaN, Infinity, -Infinity]) {
    for (const values of [Float32Array.from(usual), Float64Array.from(usual)]) {
      for (let at = 0; at < values.length; at++) {
        const spoilt = values.slice();
        spoilt[at] = value;
        assert.throws(
          () => refuseInfinite(spoilt, [7]),
          { message: `element [${at}] is ${value}, expected a finite number` },
        );
      }
    }
  }
});

Deno.test("blocks of every type are refused for each of their scales, and not for codes", () => {
  const types = (Object.keys(BLOCK_SHAPES) as BlockType[]).filter((t) => BLOCK_CODES[t].bytes > 0);
  assert.equal(types.length, 6);
  for (const type of types) {
    const { bytes: size, halves } = BLOCK_CODES[type], k = 2 * blockOf(type);
    const bytes = new Uint8Array(3 * fileBytes(type, k)).fill(0xff);
    for (let at = 0; at < bytes.length; at += size) {
      for (const half of halves) bytes.set([0xff, 0x7b], at + half);
    }
    refuseInfiniteStored(type, k, bytes, 0);
    for (const half of halves) {
      const spoilt = bytes.slice();
      spoilt.set([0, 0xfc], 3 * size + half);
      assert.throws(() => refuseInfiniteStored(type, k, spoilt, 16), {
        message: `the scale of elements from [17, ${
          k / 2
        }] on is -Infinity, expected a finite number`,
      });
    }
  }
});
