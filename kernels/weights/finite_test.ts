/** The check finds all stored values that are not finite, and refuses no others. */
import assert from "node:assert/strict";
import { f16Value, widenBF16 } from "../../core/half_floats.ts";
import { BLOCK_CODES, fileBytes } from "./blocks.ts";
import {
  refuseInfinite,
  refuseInfiniteStored,
  refuseQuantizedBeyondF16,
  refuseStoredBeyondF16,
  WEIGHT_LIMIT,
} from "./finite.ts";
import { packStored, unpackStored } from "./layout.ts";
import { quantize } from "./quantize.ts";
import { BLOCK_SHAPES, blockOf, type BlockType } from "./types.ts";

Deno.test("halves: exactly the bit patterns that are not finite or too large are refused", () => {
  const widen = { f16: f16Value, bf16: (bits: number) => widenBF16(Uint16Array.of(bits))[0]! };
  for (const type of ["f16", "bf16"] as const) {
    for (let bits = 0; bits < 65_536; bits++) {
      const at = bits & 3, halves = Uint16Array.of(0x3f80, 0xbf80, 0x8000, 1, 2, 3);
      halves[at] = bits;
      const check = () => refuseInfiniteStored(type, 3, new Uint8Array(halves.buffer), 4);
      if (Math.abs(widen[type](bits)) < WEIGHT_LIMIT) check();
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

Deno.test("blocks of products in float16: exactly those with a value of 65520 or more are refused", () => {
  for (const type of ["q4_0", "q4_1", "q5_0", "q8_0", "q4_k", "q6_k", "mxfp4"] as const) {
    const { bytes: size, scales } = BLOCK_CODES[type], k = 2 * blockOf(type), n = 3;
    const found = { refused: 0, taken: 0 };
    for (let seed = 0; seed < 400; seed++) {
      let state = seed;
      const random = () => (state = Math.imul(state, 1664525) + 1013904223 >>> 0) >>> 8;
      const bytes = Uint8Array.from({ length: n * fileBytes(type, k) }, () => random() & 0xff);
      for (let at = 0; at < bytes.length; at += size) {
        // Small scales, and one block with any finite ones.
        const isLarge = at === size * 3;
        for (const scale of scales) {
          if (type === "mxfp4") {
            bytes[at + scale] = random() % (isLarge ? 150 : 130);
            continue;
          }
          const magnitude = isLarge ? 0x4800 + random() % 0x3400 : random() % 0x4000;
          bytes.set([magnitude & 0xff, magnitude >> 8 | random() & 0x80], at + scale);
        }
      }
      const values = unpackStored(type, n, k, packStored(type, n, k, bytes));
      const at = values.findIndex((value) => Math.abs(value) >= 65_520);
      const check = () => refuseStoredBeyondF16(type, k, bytes, 16);
      if (at < 0) check();
      else {
        const place = `element [${16 + Math.floor(at / k)}, ${at % k}] is ${values[at]}`;
        assert.throws(check, { message: `${place}, which is infinite as float16` });
      }
      found[at < 0 ? "taken" : "refused"]++;
    }
    assert.ok(found.refused > 20 && found.taken > 20, `${type}: ${JSON.stringify(found)}`);
  }
});

Deno.test("floats that are quantised for products in float16 are refused by what they become", () => {
  const k = 64, n = 20;
  const check = (type: "int8" | "nf4" | "q8_0" | "q4_0", largest: number) => {
    const values = Float32Array.from({ length: n * k }, (_, i) => i % 7 - 3);
    values[17 * k + 5] = -largest;
    const words = quantize(type, n, k, values);
    const rows = { type: "f32" as const, bytes: new Uint8Array(values.buffer) };
    refuseQuantizedBeyondF16(type, k, rows, 32)?.(words, 0);
    return unpackStored(type, n, k, words)[17 * k + 5]!;
  };
  for (const type of ["int8", "nf4", "q8_0", "q4_0"] as const) {
    assert.ok(check(type, 60_000) < -59_000);
    assert.throws(() => check(type, 65_600), /element \[49, 5\] is -6\d+.*, which is infinite/);
  }
  // A scale of q8_0 is a half, here rounded up to 516.
  assert.throws(() => check("q8_0", 65_510), /element \[49, 5\] is -65532, which is infinite/);
  assert.ok(check("int8", 65_510) > -65_511);
});

Deno.test("floats: exactly the values that are not finite or too large are refused", () => {
  const largest = 2 ** 60 - 2 ** 36, usual = [0, -0, largest, -largest, 1e-45, -1, 1];
  refuseInfinite(Float32Array.from(usual), [7]);
  refuseInfinite(Float64Array.from(usual), [7]);
  for (const value of [NaN, Infinity, -Infinity, WEIGHT_LIMIT, -WEIGHT_LIMIT]) {
    for (const values of [Float32Array.from(usual), Float64Array.from(usual)]) {
      for (let at = 0; at < values.length; at++) {
        const spoilt = values.slice();
        spoilt[at] = value;
        assert.throws(
          () => refuseInfinite(spoilt, [7]),
          (error: Error) => error.message.startsWith(`element [${at}] is ${value}, `),
        );
      }
    }
  }
});

Deno.test("blocks of every type are refused for each of their scales, and not for codes", () => {
  const types = (Object.keys(BLOCK_SHAPES) as BlockType[]).filter((t) => BLOCK_CODES[t].bytes > 0);
  assert.equal(types.length, 7);
  for (const type of types) {
    const { bytes: size, scales } = BLOCK_CODES[type], k = 2 * blockOf(type);
    const [largest, beyond, what] = type === "mxfp4"
      ? [[184], [185], `${2 ** 58}, which overflows`]
      : [[0xff, 0x7b], [0, 0xfc], "-Infinity, expected a finite number"];
    const bytes = new Uint8Array(3 * fileBytes(type, k)).fill(0xff);
    for (let at = 0; at < bytes.length; at += size) {
      for (const scale of scales) bytes.set(largest, at + scale);
    }
    refuseInfiniteStored(type, k, bytes, 0);
    for (const scale of scales) {
      const spoilt = bytes.slice(), from = `the scale of elements from [17, ${k / 2}] on is `;
      spoilt.set(beyond, 3 * size + scale);
      assert.throws(
        () => refuseInfiniteStored(type, k, spoilt, 16),
        (error: Error) => error.message.startsWith(from + what),
      );
    }
  }
});
