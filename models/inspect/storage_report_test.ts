import assert from "node:assert/strict";
import { createReferenceDevice } from "../../kernels/devices/reference/device.ts";
import { readModelFolder } from "../model_folder.ts";
import { storageReport } from "./storage_report.ts";
import { goldenPath } from "../../tests/golden.ts";

const floats = goldenPath("models/tinystories-656k");
const blocks = goldenPath("ggml-blocks/tiny-llama.q8_0.gguf");

Deno.test("the report of a model's weights: narrower types take less memory and change more", async () => {
  using device = createReferenceDevice({ float: "f32" });
  const told: string[] = [];
  let loaded = 0;
  const folder = await readModelFolder(floats!);
  const { stored, held, note } = await storageReport(folder, device, (how) => {
    told.push(how);
    return (done, total) => loaded = done / total;
  });
  assert.equal(note, null);
  assert.deepEqual(stored.map(({ type }) => type), ["f32"]);
  assert.equal(stored[0]!.bytes, 4 * stored[0]!.values);
  assert.deepEqual(held.map(({ how }) => how), told);
  assert.equal(loaded, 1);
  const [asStored, f16, bf16, eight, four] = held as [typeof held[0], ...typeof held];
  assert.equal(asStored!.weight_error, null);
  assert.equal(asStored!.bytes, stored[0]!.bytes);
  for (const { weight_error, bytes, perplexity } of [f16!, bf16!, eight!, four!]) {
    assert.ok(
      bytes < 0.6 * asStored!.bytes && weight_error !== null,
      `${bytes} ${weight_error}`,
    );
    assert.ok(Math.abs(Math.log(perplexity / asStored!.perplexity)) < 0.2, `${perplexity}`);
  }
  // The file's values are halves widened.
  assert.deepEqual([f16!.weight_error, bf16!.logprob_change!.largest], [0, 0]);
  assert.ok(eight!.weight_error! > 2e-3 && eight!.weight_error! < 1e-2);
  assert.ok(four!.weight_error! > 0.06 && four!.weight_error! < 0.12);
  assert.ok(eight!.logprob_change!.mean < four!.logprob_change!.mean);
  assert.ok(four!.logprob_change!.mean < four!.logprob_change!.largest);
  assert.equal(device.allocatedBytes, 0);
});

Deno.test("a model in blocks is reported as stored, and is not quantised again", async () => {
  using device = createReferenceDevice({ float: "f32" });
  const { stored, held, note } = await storageReport(await readModelFolder(blocks!), device);
  assert.ok(
    stored.some(({ type, bytes, values }) => type === "q8_0" && bytes === values / 32 * 34),
  );
  assert.equal(held.length, 1);
  assert.match(note!, /quantised already/);
});
