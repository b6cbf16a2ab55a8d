/**
 * Damaged GGUF files: every buffer is read completely or refused with an RgxError. Buffers are
 * files with bytes changed, removed or inserted, and files made of arbitrary metadata and tensors.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { GGML_TYPES } from "./ggml_types.ts";
import { parseGguf } from "./gguf.ts";
import { cases } from "../../../tests/cases.ts";
import { accepted, editedBytes, mostAreRefused } from "../../damage_testing.ts";
import { encodeTestGguf } from "./testing.ts";

const RUNS = { numRuns: cases(2_000), seed: 6 };

const WHOLE = encodeTestGguf({
  "general.architecture": ["string", "llama"],
  "llama.block_count": ["u32", 2],
  "tokens": ["string", ["a", "größe", ""]],
  "types": ["i32", [1, 3, 6]],
}, [
  { name: "a", shape: [2, 3], typeId: 0, data: new Uint8Array(24).fill(7) },
  { name: "b", shape: [2, 32], typeId: 8, data: new Uint8Array(68).fill(0x3c) },
  { name: "k", shape: [256], typeId: 12, data: new Uint8Array(144).fill(0x31) },
]);

/** Reads everything; false = refused. */
function readAll(bytes: Uint8Array): Promise<boolean> {
  return accepted(async () => {
    const file = await parseGguf(bytes, "x.gguf");
    for (const { name, shape } of file.tensors.values()) {
      const values = await file.float32(name);
      assert.equal(values.length, shape.reduce((a, b) => a * b, 1));
    }
  }, "x.gguf: ");
}

/** Numbers of eight bytes. */
const PUTS = [0, 1, 3, 32, 40, 255].flatMap((n) => [[n, 0, 0, 0, 0, 0, 0, 0], Array(8).fill(n)]);

Deno.test("2,000 damaged GGUF files are read completely or refused", async () => {
  await mostAreRefused(editedBytes(WHOLE, PUTS), readAll, { seed: 6 });
  assert.ok(await readAll(WHOLE));
});

const tensor = fc.record({
  name: fc.string({ maxLength: 4 }),
  type: fc.constantFrom(...GGML_TYPES),
  rows: fc.nat(3),
  blocks: fc.nat(2),
  fill: fc.nat(255),
});

Deno.test("2,000 sets of tensors are read back with their sizes, in order", () =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(tensor, { maxLength: 4, selector: ({ name }) => name }),
      fc.constantFrom(1, 8, 32, 256),
      async (list, alignment) => {
        const tensors = list.map(({ name, type: [typeId, type], rows, blocks, fill }) => ({
          name,
          typeId,
          shape: [rows, blocks * type.weights],
          data: new Uint8Array(rows * blocks * type.bytes).fill(fill),
        }));
        const file = await parseGguf(
          encodeTestGguf({ "general.alignment": ["u32", alignment] }, tensors, { alignment }),
        );
        assert.deepEqual(
          [...file.tensors.values()].map(({ name, shape }) => ({ name, shape })),
          tensors.map(({ name, shape }) => ({ name, shape })),
        );
      },
    ),
    RUNS,
  ));
