/**
 * Damaged safetensors: every buffer is read with the values that it holds, or refused with an
 * RgxError, and its tensors take no more memory than the file. Buffers are whole files with bytes
 * changed, removed or inserted, and files with a made-up header.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { RgxError } from "../../../core/errors.ts";
import { encodeSafetensors } from "./safetensors_writer.ts";
import { parseSafetensors } from "./safetensors.ts";
import { cases } from "../../../tests/cases.ts";
import { accepted, editedBytes, mostAreRefused } from "../../damage_testing.ts";

const RUNS = { numRuns: cases(2_000), seed: 4 };

const WHOLE = encodeSafetensors([
  {
    name: "model.embed.weight",
    dtype: "F32",
    shape: [3, 4],
    data: Float32Array.from(Array(12).keys()),
  },
  { name: "head", dtype: "F16", shape: [5], data: new Float32Array([1, -2, 0.5, 65504, 0]) },
  { name: "half", dtype: "BF16", shape: [2, 1], data: new Float32Array([1.5, -3]) },
  { name: "step", dtype: "I64", shape: [], data: new BigInt64Array([7n]) },
  { name: "mask", dtype: "BOOL", shape: [3], data: new Uint8Array([1, 0, 1]) },
  { name: "none", dtype: "F32", shape: [0, 2], data: new Float32Array(0) },
]);

/** Reads everything; false = refused. */
function readAll(bytes: Uint8Array): Promise<boolean> {
  return accepted(async () => {
    const file = await parseSafetensors(bytes, "x.safetensors");
    let held = 0;
    for (const { name, dtype, shape } of file.tensors.values()) {
      const stored = await file.bytes(name);
      held += stored.length;
      const count = shape.reduce((a, b) => a * b, 1);
      if (dtype.startsWith("F8")) await assert.rejects(file.float32(name), RgxError);
      else if (/^(F|BF)/.test(dtype)) {
        const values = await file.float32(name);
        assert.equal(values.length, count);
        if (dtype === "F32") assert.deepEqual(new Uint8Array(values.buffer), stored);
      } else assert.equal((await file.integers(name)).length, count);
    }
    assert.ok(held < bytes.length, `${held} bytes of tensors in a file of ${bytes.length}`);
  }, "x.safetensors: ");
}

const PUTS = '0 9 -1 99999999999 null [] {} " , } F64 __proto__ 1e3 .5'.split(" ");

Deno.test("2,000 damaged safetensors files are read correctly or refused", async () => {
  await mostAreRefused(editedBytes(WHOLE, PUTS), readAll, { seed: 4 });
  assert.ok(await readAll(WHOLE));
});

const number = fc.oneof(
  fc.nat(12),
  fc.constantFrom(-1, 0.5, 2 ** 31, 2 ** 53, 2 ** 53 - 1, 1e308, null, "4", true),
);
const entry = fc.record({
  dtype: fc.constantFrom(
    "F32",
    "F16",
    "BF16",
    "F64",
    "I64",
    "I8",
    "BOOL",
    "F8_E4M3",
    "F4",
    3,
    null,
  ),
  shape: fc.oneof(fc.array(number, { maxLength: 3 }), number),
  data_offsets: fc.oneof(fc.array(number, { maxLength: 3 }), fc.tuple(fc.nat(8), fc.nat(60))),
}, { requiredKeys: [] });
const header = fc.dictionary(
  fc.constantFrom("a", "b", "__proto__", "constructor", "", "größe", "__metadata__"),
  fc.oneof({ weight: 5, arbitrary: entry }, fc.jsonValue() as fc.Arbitrary<unknown>),
  { maxKeys: 4 },
);

Deno.test("2,000 made-up headers are read correctly or refused", () =>
  fc.assert(
    fc.asyncProperty(header, fc.nat(80), fc.nat(9), async (content, dataBytes, spaces) => {
      const json = new TextEncoder().encode(JSON.stringify(content) + " ".repeat(spaces));
      const bytes = new Uint8Array(8 + json.length + dataBytes);
      new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
      bytes.set(json, 8);
      await readAll(bytes);
    }),
    RUNS,
  ));
