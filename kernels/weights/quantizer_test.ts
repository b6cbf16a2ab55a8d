/** Quantising on a device's threads: the bits of quantize.ts for any values, from floats and from halves. */
import assert from "node:assert/strict";
import { narrowBF16, narrowF16, widenBF16, widenF16 } from "../../core/half_floats.ts";
import { RgxError } from "../../core/errors.ts";
import { createReferenceDevice } from "../reference/device.ts";
import { normals, stream } from "../testing.ts";
import { createWasmDevice } from "../wasm/device.ts";
import { quantize } from "./quantize.ts";
import { type FloatRows, floatRows, type LoadType, Quantizer } from "./quantizer.ts";
import { storedWords } from "./types.ts";

const TYPES: readonly LoadType[] = ["int8", "nf4"];
/** Rows that fill no panel, blocks that fill no group, more rows than go through at once. */
const SHAPES = [[1, 64], [16, 64], [37, 1088], [3, 128], [1100, 2048], [16, 3136]] as const;

function words(quantizer: Quantizer, type: LoadType, n: number, k: number, rows: FloatRows) {
  const out = new Uint32Array(storedWords(type, n, k));
  quantizer.quantize(type, n, k, rows, (part, at) => out.set(part, at));
  return out;
}

function bytesOf(halves: Uint16Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(halves.buffer);
}

/** Values by kind: plain, with outliers and zeros, on the borders between codes, close to the least float. */
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

Deno.test("threads quantise to the bits of the definition", async () => {
  for (const threads of [1, 2]) {
    const device = await createWasmDevice({ threads });
    await device.ready();
    const quantizer = await Quantizer.for(device);
    for (const [n, k] of SHAPES) {
      if (threads === 1 && n > 100) continue;
      for (const [kind, make] of Object.entries(KINDS)) {
        const values = make(n, k);
        for (const type of TYPES) {
          const found = words(quantizer, type, n, k, floatRows(values));
          assert.deepEqual(found, quantize(type, n, k, values), `${type} [${n}, ${k}] ${kind}`);
        }
      }
    }
    quantizer.dispose();
    assert.equal(device.allocatedBytes, 0);
    device.close();
  }
});

Deno.test("a file's halves are quantised as the floats that they stand for", async () => {
  const device = await createWasmDevice({ threads: 1 }), quantizer = await Quantizer.for(device);
  const n = 37, k = 1088;
  for (const make of Object.values(KINDS)) {
    const values = make(n, k), bf16 = narrowBF16(values), f16 = narrowF16(values);
    for (const type of TYPES) {
      assert.deepEqual(
        words(quantizer, type, n, k, { type: "bf16", bytes: bytesOf(bf16) }),
        quantize(type, n, k, widenBF16(bf16)),
      );
      assert.deepEqual(
        words(quantizer, type, n, k, { type: "f16", bytes: bytesOf(f16) }),
        quantize(type, n, k, widenF16(f16)),
      );
    }
  }
  quantizer.dispose();
  device.close();
});

Deno.test("what is huge is left to the definition, what is not finite is refused", async () => {
  const device = await createWasmDevice({ threads: 1 }), quantizer = await Quantizer.for(device);
  const n = 20, k = 128, huge = normals(stream("huge"), n * k, 1e37);
  for (const type of TYPES) {
    assert.deepEqual(words(quantizer, type, n, k, floatRows(huge)), quantize(type, n, k, huge));
    const bad = normals(stream("bad"), n * k, 1);
    bad[19 * k + 70] = -Infinity;
    const rows: FloatRows[] = [
      floatRows(bad),
      { type: "bf16", bytes: bytesOf(narrowBF16(bad)) },
      { type: "f16", bytes: bytesOf(narrowF16(bad)) },
    ];
    for (const given of rows) {
      assert.throws(
        () => words(quantizer, type, n, k, given),
        (error) => error instanceof RgxError && /element 70 of row 19 is -Inf/.test(error.message),
      );
    }
    // What came before does not stay.
    const plain = normals(stream("plain"), n * k, 1);
    assert.deepEqual(words(quantizer, type, n, k, floatRows(plain)), quantize(type, n, k, plain));
  }
  assert.throws(
    () => words(quantizer, "nf4", 2, 64, floatRows(huge)),
    /has 512 bytes, found 10240/,
  );
  quantizer.dispose();
  device.close();
});

Deno.test("weights of another device are quantised on a CPU device that lives as long", async () => {
  const quantizer = await Quantizer.for(createReferenceDevice());
  const values = normals(stream("elsewhere"), 32 * 128, 1);
  assert.deepEqual(
    words(quantizer, "nf4", 32, 128, floatRows(values)),
    quantize("nf4", 32, 128, values),
  );
  quantizer.dispose();
});
