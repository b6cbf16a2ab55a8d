/** Quantised blocks compared with ggml's bytes (tests/golden/ggml-blocks). */
import assert from "node:assert/strict";
import { GGML_TYPES } from "./gguf/ggml_types.ts";
import { goldenPath } from "../../tests/golden.ts";
import { WEIGHT_TYPES } from "./weight_types.ts";
import { encodedBytes, encodePieces, ENCODINGS } from "./weight_encoding.ts";

const golden = goldenPath("ggml-blocks");
const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

Deno.test("written blocks are ggml's, byte for byte", async () => {
  const { types } = JSON.parse(await Deno.readTextFile(`${golden}/blocks.json`)) as {
    types: Record<
      string,
      { cases: { label: string; blocks: string; quantised_from_f32?: string }[] }
    >;
  };
  for (const type of ["f16", "bf16", "q8_0", "q4_0"] as const) {
    let cases = 0;
    for (const { label, blocks, quantised_from_f32: from } of types[type.toUpperCase()]!.cases) {
      if (from === undefined) continue;
      const found = ENCODINGS[type].encode(new Float32Array(bytesOf(from).buffer));
      assert.deepEqual(found, bytesOf(blocks), `${type}, ${label}`);
      cases++;
    }
    assert.ok(cases >= 1, type);
  }
});

Deno.test("written types agree with those that are read, and pieces with the whole", () => {
  const values = Float32Array.from({ length: 2 ** 20 + 64 }, (_, i) => Math.sin(i * i));
  const tensor = { name: "w", shape: [2 ** 14 + 1, 64] };
  for (const type of WEIGHT_TYPES) {
    const { id, weights, bytes, encode } = ENCODINGS[type], read = GGML_TYPES.get(id)!;
    assert.deepEqual([read.name.toLowerCase(), read.weights, read.bytes], [type, weights, bytes]);
    const pieces = [...encodePieces(type, tensor, values)];
    assert.equal(pieces.length, 2);
    const whole = encode(values);
    assert.equal(encodedBytes(type, values.length), whole.length);
    assert.deepEqual(pieces[1], whole.slice(-pieces[1]!.length));
    assert.deepEqual([...encodePieces(type, tensor, Float64Array.from(values))], pieces);
    const back = new Float32Array(64);
    read.widen(Uint8Array.from(whole.subarray(0, encodedBytes(type, 64))), back);
    const limit = { f32: 0, f16: 2.5e-4, bf16: 2e-3, q8_0: 4.1e-3, q4_0: 0.126 }[type];
    back.forEach((x, i) => assert.ok(Math.abs(x - values[i]!) <= limit, `${type} ${i}: ${x}`));
  }
});

Deno.test("values that a type cannot represent are refused before the tensor is written", () => {
  const tensor = { name: "w", shape: [3, 32] };
  const first = (type: typeof WEIGHT_TYPES[number], at: number, value: number) => {
    const values = new Float32Array(96).fill(1);
    values[at] = value;
    return () => encodePieces(type, tensor, values).next();
  };
  for (const type of WEIGHT_TYPES) {
    assert.throws(first(type, 69, NaN), {
      message: 'tensor "w": element [2, 5] is NaN, expected a finite number',
    });
  }
  assert.throws(first("f16", 33, -65520), {
    message: 'tensor "w": element [1, 1] is -65520, which is infinite as float16',
  });
  first("f16", 33, 65519)();
  first("bf16", 33, 65520)();
});
