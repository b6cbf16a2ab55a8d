/** Stored weights on the host: the layout of the devices, and the errors of quantisation. */
import assert from "node:assert/strict";
import { refusal } from "../../core/testing.ts";
import { normals, sameBits, stream } from "../testing.ts";
import { BLOCK_CODES, fileBytes } from "./blocks.ts";
import { packStored, rowBuffer, unpackStored } from "./layout.ts";
import { quantize, QUANTIZED_TYPES } from "./quantize.ts";
import {
  blockOf,
  type BlockType,
  isBlockType,
  NF4_LEVELS,
  storedWords,
  WEIGHT_TYPES,
  type WeightType,
} from "./types.ts";

const FILE_TYPES = WEIGHT_TYPES.filter((type) => !isBlockType(type) || BLOCK_CODES[type].bytes > 0);

function randomBytes(name: string, length: number): Uint8Array {
  const random = stream(name);
  return Uint8Array.from({ length }, () => random.int(0, 255));
}

Deno.test("blocks of a file have the same values in the layout of the devices", () => {
  for (const type of FILE_TYPES) {
    if (!isBlockType(type)) continue;
    for (const n of [1, 16, 21]) {
      const k = 3 * blockOf(type), bytes = randomBytes(`${type} ${n}`, n * fileBytes(type, k));
      const found = unpackStored(type, n, k, packStored(type, n, k, bytes));
      const expected = new Float32Array(n * k), row = rowBuffer(type as BlockType);
      const { bytes: size, pack, widen } = BLOCK_CODES[type];
      for (let at = 0, to = 0; at < bytes.length; at += size, to += blockOf(type)) {
        row.fill(0);
        pack(bytes, at, row);
        widen(row, expected, to, 0);
      }
      assert.ok(sameBits(found, expected), `${type} ${n}`);
    }
  }
});

Deno.test("no bit of a block is lost: each changes exactly one bit of the words", () => {
  for (const type of FILE_TYPES) {
    const k = blockOf(type), bytes = randomBytes(`bits ${type}`, fileBytes(type, k));
    const words = packStored(type, 1, k, bytes);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = bytes.slice();
      changed[bit >> 3]! ^= 1 << (bit & 7);
      const other = packStored(type, 1, k, changed);
      let difference = 0;
      for (let w = 0; w < words.length; w++) {
        for (let x = words[w]! ^ other[w]!; x !== 0; x &= x - 1) difference++;
      }
      assert.equal(difference, 1, `${type}: bit ${bit}`);
    }
  }
});

Deno.test("the layout of the devices takes at most 3 % more memory than a file", () => {
  for (const type of FILE_TYPES) {
    const n = 64, k = 1536;
    const ratio = 4 * storedWords(type, n, k) / (n * fileBytes(type, k));
    assert.ok(ratio >= 1 && ratio < 1.03, `${type}: ${ratio}`);
  }
  assert.equal(4 * storedWords("nf4", 64, 1024) / (64 * 1024), 0.5 + 1 / 64 + 1 / 1024);
});

/** √(Σ error² / Σ value²). */
function relativeError(type: WeightType, n: number, k: number, values: Float32Array): number {
  const found = unpackStored(type, n, k, quantize(type as "int8", n, k, values));
  let error = 0, size = 0;
  for (let i = 0; i < values.length; i++) {
    error += (found[i]! - values[i]!) ** 2;
    size += values[i]! ** 2;
  }
  return Math.sqrt(error / size);
}

Deno.test("quantised normal weights have the error that is expected of each type", () => {
  const n = 37, k = 1088, values = normals(stream("quantise"), n * k, 0.02);
  const limits = { int8: 0.008, q8_0: 0.008, nf4: 0.097, q4_0: 0.1 } as const;
  for (const type of QUANTIZED_TYPES) {
    const error = relativeError(type, n, k, values);
    assert.ok(error < limits[type] && error > limits[type] / 2, `${type}: ${error}`);
  }
});

Deno.test("a block of nf4 with large values does not spoil its neighbours", () => {
  const n = 16, k = 1024, values = normals(stream("outliers"), n * k, 0.02);
  for (let e = 0; e < 64; e++) values[5 * k + 128 + e]! *= 20;
  assert.ok(relativeError("nf4", n, k, values) < 0.1);
});

Deno.test("zeros stay zero, and a single value is kept", () => {
  for (const type of QUANTIZED_TYPES) {
    const zero = unpackStored(type, 3, 128, quantize(type, 3, 128, new Float32Array(384)));
    assert.ok(zero.every((x) => x === 0), type);
    const alone = new Float32Array(384);
    alone[200] = -0.5;
    const found = unpackStored(type, 3, 128, quantize(type, 3, 128, alone));
    found.forEach((x, i) => assert.ok(Math.abs(x - alone[i]!) <= 2 ** -13, `${type} ${i}: ${x}`));
  }
});

Deno.test("weights that cannot be stored are refused with the reason", () => {
  const refused = (call: () => unknown, message: RegExp) => assert.throws(call, refusal(message));
  refused(() => storedWords("q4_k", 4, 128), /\[4, 128\] cannot be held as q4_k: .* 256 long/);
  refused(() => packStored("q8_0", 2, 32, new Uint8Array(67)), /has 68 bytes, found 67/);
  refused(() => packStored("nf4", 1, 64, new Uint8Array(36)), /no file holds nf4/);
  refused(() => quantize("int8", 1, 64, new Float32Array(63)), /has 64 values, found 63/);
  const infinite = new Float32Array(128);
  infinite[70] = Infinity;
  refused(() => quantize("nf4", 2, 64, infinite), /element \[1, 6\] is Infinity/);
});

Deno.test("a weight in nf4 has the nearest level", () => {
  const n = 16, k = 64, random = stream("levels");
  const values = Float32Array.from({ length: n * k }, (_, i) => {
    // The largest value of every row is 127, so all scales are 1 and exact.
    return i % k === 0
      ? 127
      : random.choice([random.uniform(-127, 127), random.int(-254, 254) / 2]);
  });
  const found = unpackStored("nf4", n, k, quantize("nf4", n, k, values));
  values.forEach((value, i) => {
    const best = Math.min(...NF4_LEVELS.map((level) => Math.abs(level - value)));
    assert.equal(Math.abs(found[i]! - value), best, `${value} became ${found[i]}`);
  });
});
