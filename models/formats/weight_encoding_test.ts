/** Quantised blocks compared with ggml's bytes (tests/golden/ggml-blocks). */
import assert from "node:assert/strict";
import { GGML_TYPES } from "./gguf/ggml_types.ts";
import { readGoldenJson } from "../../tests/golden.ts";
import { WEIGHT_TYPES } from "./weight_types.ts";
import { encodedBytes, encodePieces, ENCODINGS } from "./weight_encoding.ts";

const { types } = readGoldenJson<{
  types: Record<
    string,
    { cases: { label: string; blocks: string; f32: string; quantised_from_f32?: string }[] }
  >;
}>("ggml-blocks/blocks.json");
const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

Deno.test("written blocks are ggml's, byte for byte", () => {
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

Deno.test("blocks whose scales need a search are as good as ggml's", () => {
  for (const [type, name] of [["q6_k", "Q6_K"], ["q4_k_m", "Q4_K"]] as const) {
    const { id, encode } = ENCODINGS[type], { widen } = GGML_TYPES.get(id)!;
    for (const { label, f32, quantised_from_f32: from } of types[name]!.cases) {
      if (from === undefined) continue;
      const values = new Float32Array(bytesOf(from).buffer), back = new Float32Array(values.length);
      widen(encode(values) as Uint8Array<ArrayBuffer>, back);
      const error = (found: Float32Array) =>
        Math.sqrt(found.reduce((sum, x, i) => sum + (x - values[i]!) ** 2, 0) / values.length);
      const own = error(back), theirs = error(new Float32Array(bytesOf(f32).buffer));
      assert.ok(own <= 1.02 * theirs + 1e-9, `${name}, ${label}: ${own}, ggml's is ${theirs}`);
    }
  }
});

Deno.test("written types agree with those that are read, and pieces with the whole", () => {
  const all = Float32Array.from({ length: 2 ** 20 + 256 }, (_, i) => Math.sin(i * i));
  for (const type of WEIGHT_TYPES) {
    // Types whose scales need a search take seconds for so many.
    const values = /^q\d_k/.test(type) ? all.subarray(0, 512) : all;
    const tensor = { name: "w", shape: [values.length / 256, 256] };
    const { id, weights, bytes, encode } = ENCODINGS[type], read = GGML_TYPES.get(id)!;
    const name = type.replace(/_m$/, "");
    assert.deepEqual([read.name.toLowerCase(), read.weights, read.bytes], [name, weights, bytes]);
    const pieces = [...encodePieces(type, tensor, values)];
    assert.equal(pieces.length, values === all ? 2 : 1);
    const whole = encode(values), last = pieces.at(-1)!;
    assert.equal(encodedBytes(type, values.length), whole.length);
    assert.deepEqual(last, whole.slice(-last.length));
    assert.deepEqual([...encodePieces(type, tensor, Float64Array.from(values))], pieces);
    const back = new Float32Array(256);
    read.widen(Uint8Array.from(whole.subarray(0, encodedBytes(type, 256))), back);
    const limits = { f32: 0, f16: 2.5e-4, bf16: 2e-3, q8_0: 4.1e-3, q4_0: 0.126, q6_k: 0.02 };
    const limit = { ...limits, q4_k_m: 0.1 }[type];
    back.forEach((x, i) => assert.ok(Math.abs(x - values[i]!) <= limit, `${type} ${i}: ${x}`));
  }
});

Deno.test("values that a type cannot represent are refused before the tensor is written", () => {
  const tensor = { name: "w", shape: [3, 32] }; // refused before blocks are made
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
