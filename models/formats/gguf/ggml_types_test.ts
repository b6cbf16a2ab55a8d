import assert from "node:assert/strict";
import { GGML_TYPES, ggmlTypeName } from "./ggml_types.ts";
import { readGoldenJson } from "../../../tests/golden.ts";

interface GoldenType {
  id: number;
  values_per_block: number;
  bytes_per_block: number;
  cases: { label: string; values: number; blocks: string; f32: string }[];
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

Deno.test("blocks of every quantised type widen to the same bits as in ggml", () => {
  const read = (path: string) => readGoldenJson<{ types: Record<string, GoldenType> }>(path).types;
  const types = { ...read("ggml-blocks/blocks.json"), ...read("gguf_blocks.json") };
  let cases = 0;
  for (const [name, expected] of Object.entries(types)) {
    const type = GGML_TYPES.get(expected.id)!;
    assert.deepEqual(
      [type.name, type.weights, type.bytes],
      [name, expected.values_per_block, expected.bytes_per_block],
    );
    for (const { label, values, blocks, f32 } of expected.cases) {
      const out = new Float32Array(values);
      type.widen(bytesOf(blocks), out);
      const bits = new Uint32Array(out.buffer), wanted = new Uint32Array(bytesOf(f32).buffer);
      assert.equal(wanted.length, values);
      for (let i = 0; i < values; i++) {
        assert.equal(bits[i], wanted[i], `${name}, ${label}, weight ${i}: ${out[i]}`);
      }
      cases++;
    }
  }
  assert.ok(cases > 100);
  assert.equal(Object.keys(types).length, GGML_TYPES.size - 1, "all but F32");
});

Deno.test("every type has a name, supported or not", () => {
  assert.equal(ggmlTypeName(19), "IQ1_S");
  assert.equal(ggmlTypeName(13), "Q5_K");
  assert.equal(ggmlTypeName(12), "Q4_K");
  assert.equal(ggmlTypeName(4), "number 4");
});
