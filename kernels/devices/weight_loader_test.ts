/** Weights that threads convert have the bits of quantize.ts and layout.ts, for any values. */
import assert from "node:assert/strict";
import { narrowBF16, narrowF16, widenBF16, widenF16 } from "../../core/half_floats.ts";
import { refusal } from "../../core/testing.ts";
import { createReferenceDevice } from "./reference/device.ts";
import { normals, stream } from "../testing.ts";
import { createWasmDevice } from "./wasm/device.ts";
import { BLOCK_CODES } from "../weights/blocks.ts";
import { packStored } from "../weights/layout.ts";
import { quantize } from "../weights/quantize.ts";
import { type FloatRows, floatRows, type LoadType, WeightLoader } from "./weight_loader.ts";
import { BLOCK_SHAPES, storedWords } from "../weights/types.ts";

const TYPES: readonly LoadType[] = ["int8", "nf4"];
/** Incomplete panels, incomplete groups of blocks, and more rows than one part. */
const SHAPES = [[1, 64], [16, 64], [37, 1088], [3, 128], [1100, 2048], [16, 3136]] as const;

function words(loader: WeightLoader, type: LoadType, n: number, k: number, rows: FloatRows) {
  const out = new Uint32Array(storedWords(type, n, k));
  loader.quantize(type, n, k, rows, (part, at) => out.set(part, at));
  return out;
}

function bytesOf(halves: Uint16Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(halves.buffer);
}

/**
 * Kinds of values: plain, with outliers and zeros, on borders between codes, near the min float.
 */
const KINDS: Readonly<Record<string, (n: number, k: number) => Float32Array>> = {
  normal: (n, k) => normals(stream(`normal ${n} ${k}`), n * k, 0.02),
  outliers(n, k) {
    const random = stream(`outliers ${n} ${k}`);
    return normals(random, n * k, 0.02).map((x) => random.choice([x, x, x, 0, 30 * x]));
  },
  borders(n, k) {
    const random = stream(`borders ${n} ${k}`);
    return Float32Array.from(
      { length: n * k },
      (_, i) => i % 64 === 0 ? 127 : random.int(-254, 254) / 2,
    );
  },
  tiny(n, k) {
    const random = stream(`tiny ${n} ${k}`);
    return normals(random, n * k, 1).map((x, i) =>
      x * 10 ** (i % 1024 < 512 ? -43 : -random.int(0, 20))
    );
  },
};

Deno.test("threads quantize to the bits of the definition", async () => {
  for (const threads of [1, 2]) {
    const device = await createWasmDevice({ threads });
    await device.ready();
    const loader = await WeightLoader.for(device);
    for (const [n, k] of SHAPES) {
      if (threads === 1 && n > 100) continue;
      for (const [kind, make] of Object.entries(KINDS)) {
        const values = make(n, k);
        for (const type of TYPES) {
          const found = words(loader, type, n, k, floatRows(values));
          assert.deepEqual(found, quantize(type, n, k, values), `${type} [${n}, ${k}] ${kind}`);
        }
      }
    }
    loader.dispose();
    assert.equal(device.allocatedBytes, 0);
    device.close();
  }
});

Deno.test("f16 and bf16 values of a file are quantized like the same values in f32", async () => {
  const device = await createWasmDevice({ threads: 1 }), loader = await WeightLoader.for(device);
  const n = 37, k = 1088;
  for (const make of Object.values(KINDS)) {
    const values = make(n, k), bf16 = narrowBF16(values), f16 = narrowF16(values);
    for (const type of TYPES) {
      assert.deepEqual(
        words(loader, type, n, k, { type: "bf16", bytes: bytesOf(bf16) }),
        quantize(type, n, k, widenBF16(bf16)),
      );
      assert.deepEqual(
        words(loader, type, n, k, { type: "f16", bytes: bytesOf(f16) }),
        quantize(type, n, k, widenF16(f16)),
      );
    }
  }
  loader.dispose();
  device.close();
});

Deno.test("huge values are quantized by the definition, non-finite ones are refused", async () => {
  const device = await createWasmDevice({ threads: 1 }), loader = await WeightLoader.for(device);
  const n = 20, k = 128, huge = normals(stream("huge"), n * k, 1e17);
  for (const type of TYPES) {
    assert.deepEqual(words(loader, type, n, k, floatRows(huge)), quantize(type, n, k, huge));
    const bad = normals(stream("bad"), n * k, 1);
    bad[19 * k + 70] = -Infinity;
    const rows: FloatRows[] = [
      floatRows(bad),
      { type: "bf16", bytes: bytesOf(narrowBF16(bad)) },
      { type: "f16", bytes: bytesOf(narrowF16(bad)) },
    ];
    for (const given of rows) {
      assert.throws(
        () => words(loader, type, n, k, given),
        refusal(/element \[19, 70\] is -Inf/),
      );
    }
    // Values of an earlier weight have no effect.
    const plain = normals(stream("plain"), n * k, 1);
    assert.deepEqual(words(loader, type, n, k, floatRows(plain)), quantize(type, n, k, plain));
  }
  assert.throws(
    () => words(loader, "nf4", 2, 64, floatRows(huge)),
    /have 512 bytes, found 10240/,
  );
  loader.dispose();
  device.close();
});

Deno.test("weights of another device are quantized on a temporary CPU device", async () => {
  const loader = await WeightLoader.for(createReferenceDevice());
  const values = normals(stream("elsewhere"), 32 * 128, 1);
  assert.deepEqual(
    words(loader, "nf4", 32, 128, floatRows(values)),
    quantize("nf4", 32, 128, values),
  );
  loader.dispose();
});

Deno.test("blocks of a file are packed to the words of the definition", async () => {
  const device = await createWasmDevice({ threads: 2 }), loader = await WeightLoader.for(device);
  await device.ready();
  for (const type of ["q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q6_k", "mxfp4"] as const) {
    const { weights } = BLOCK_SHAPES[type], random = stream(`pack ${type}`);
    for (const [n, blocks] of [[1, 1], [16, 3], [21, 2], [2200, 80]] as const) {
      const k = blocks * weights * (n > 100 && weights === 256 ? 0.125 : 1);
      const length = n * k / weights * BLOCK_CODES[type].bytes;
      const bytes = Uint8Array.from({ length }, () => random.int(0, 255));
      const found = new Uint32Array(storedWords(type, n, k)).fill(1);
      loader.pack(type, n, k, bytes, (part, at) => found.set(part, at));
      assert.deepEqual(found, packStored(type, n, k, bytes), `${type} [${n}, ${k}]`);
    }
  }
  loader.dispose();
  assert.equal(device.allocatedBytes, 0);
  device.close();
});
