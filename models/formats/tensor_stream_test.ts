import assert from "node:assert/strict";
import { bytesOf } from "../folder_testing.ts";
import { parseSafetensors } from "./safetensors/safetensors.ts";
import { encodeSafetensors } from "./safetensors/safetensors_writer.ts";
import { PART_ELEMENTS, safetensorsContent, tensorInParts } from "./tensor_stream.ts";

Deno.test("a tensor made in parts gives the bytes of the whole, in every float type", async () => {
  const n = 2 * PART_ELEMENTS + 3, data = Float32Array.from({ length: n }, (_, i) => i / 8);
  for (const dtype of ["F32", "F64", "F16", "BF16"] as const) {
    const asked: number[] = [], entry = { name: "w", dtype, shape: [1, n] };
    const content = safetensorsContent([
      tensorInParts(entry, (from, count) => {
        asked.push(count);
        return Promise.resolve(data.slice(from, from + count));
      }),
    ]);
    const bytes = await bytesOf(content);
    assert.deepEqual(asked, [PART_ELEMENTS, PART_ELEMENTS, 3]);
    assert.deepEqual(bytes, encodeSafetensors([{ ...entry, data }]));
    const file = await parseSafetensors(bytes), at = PART_ELEMENTS - 2;
    assert.deepEqual(await file.float32("w", at, 4), (await file.float32("w")).slice(at, at + 4));
    assert.deepEqual(await file.float64("w", n - 1), (await file.float64("w")).slice(n - 1));
    await assert.rejects(async () => await file.float32("w", n - 1, 2), /elements beyond its end/);
  }
});

Deno.test("stored bytes of any type are written as they are made", async () => {
  const codes = Uint8Array.from({ length: 5 }, (_, i) => 250 + i);
  const tensor = (name: string, pieces: Uint8Array[]) => ({
    name,
    dtype: "U8" as const,
    shape: [5],
    bytes: () => pieces,
  });
  const halves = [codes.subarray(0, 2), codes.subarray(2)];
  const file = await parseSafetensors(await bytesOf(safetensorsContent([tensor("m", halves)])));
  assert.deepEqual([...await file.integers("m")], [...codes]);
  await assert.rejects(
    bytesOf(safetensorsContent([tensor("m", [halves[0]!])])),
    /tensor m: 2 bytes were made, expected 5/,
  );
});
