/** Sampling on the CPU device: the tokens of the reference. */
import assert from "node:assert/strict";
import { createReferenceDevice } from "../../devices/reference/device.ts";
import type { Device } from "../../device.ts";
import { assertWithin, normals, stream, upload } from "../../testing.ts";
import { COUNTER_WORDS } from "./spec.ts";
import { createWasmDevice } from "../../devices/wasm/device.ts";

const ROWS = 200;

/** [temperature, topK, topP, minP] */
const SETTINGS = [
  [0, 0, 1, 0],
  [1, 0, 1, 0],
  [0.7, 0, 1, 0],
  [1.3, 40, 1, 0],
  [0.6, 0, 0.9, 0],
  [0.9, 20, 0.8, 0],
  [1, 0, 1, 0.1],
  [2, 100, 0.95, 0.02],
  [1, 1, 1, 0],
] as const;

async function draw(
  device: Device,
  logits: Float32Array,
  counters: Uint32Array,
  vocab: number,
  [temperature, topK, topP, minP]: typeof SETTINGS[number],
) {
  const args = {
    logits: upload(device, logits),
    counters: upload(device, counters),
    tokens: device.create("u32", ROWS, "tokens"),
    logp: device.create("float", ROWS, "logp"),
    rows: ROWS,
    vocab,
    temperature,
    topK,
    topP,
    minP,
  };
  device.run("sample", args);
  const result = { tokens: await device.read(args.tokens), logp: await device.read(args.logp) };
  for (const value of Object.values(args)) if (typeof value === "object") device.free(value);
  return result;
}

Deno.test("the CPU device draws the reference's tokens from the same logits", async () => {
  const reference = createReferenceDevice({ float: "f64" });
  const wasm = await createWasmDevice({ threads: 1 });
  for (const vocab of [1, 3, 31, 257, 2048]) {
    const random = stream(`sample on wasm ${vocab}`);
    const logits = normals(random, ROWS * vocab, 4);
    const counters = Uint32Array.from({ length: COUNTER_WORDS * ROWS }, () => random.u32());
    for (const setting of SETTINGS) {
      const expected = await draw(reference, logits, counters, vocab, setting);
      const found = await draw(wasm, logits, counters, vocab, setting);
      assert.deepEqual(found.tokens, expected.tokens, `vocab ${vocab}, ${setting}`);
      assertWithin(found.logp, expected.logp, 5e-6, `logp, vocab ${vocab}, ${setting}`);
    }
  }
  wasm.close();
  reference.close();
});
