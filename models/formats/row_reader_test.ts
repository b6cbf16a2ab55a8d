import assert from "node:assert/strict";
import { rowReader } from "./row_reader.ts";
import type { WeightReader } from "./weight_reader.ts";

Deno.test("rows of a table are read in any order, from files that give parts of it", async () => {
  const values = Float32Array.from({ length: 12 }, (_, i) => i),
    whole = new Uint8Array(values.buffer);
  let reads = 0;
  const file = (givesParts: boolean): WeightReader => ({
    label: "m",
    values: () => Promise.resolve(values),
    typeOf: () => null,
    dtype: () => "F32",
    bytes: () => Promise.resolve(whole),
    bytesInto: (_name, _shape, from, out) => {
      reads++;
      if (givesParts) out.set(whole.subarray(from, from + out.length));
      return Promise.resolve(givesParts);
    },
  });
  const rows = (await rowReader(file(true), "t", [4, 3]))!;
  reads = 0;
  assert.deepEqual([...await rows(Uint32Array.of(3, 0, 3))], [9, 10, 11, 0, 1, 2, 9, 10, 11]);
  assert.equal(reads, 2);
  assert.equal(await rowReader(file(false), "t", [4, 3]), null);
});
