/** The memory limit of generation: the default, and on a GPU. */
import assert from "node:assert/strict";
import type { AdapterInfo } from "../../../kernels/device.ts";
import { currentGenerationLimit, generationLimit } from "./generation_limit.ts";
import { DEFAULT_GENERATION_BYTES } from "./counted_generation.ts";

const card = { name: "a card", software: false } as AdapterInfo;
const software = { name: "a processor", software: true } as AdapterInfo;

Deno.test("a GPU gives generation its spare memory, a CPU a fixed limit", () => {
  assert.equal(generationLimit({}, 1e12), DEFAULT_GENERATION_BYTES);
  assert.equal(generationLimit({ adapter: software }, 1e12), DEFAULT_GENERATION_BYTES);
  assert.equal(generationLimit({ adapter: card }, 40e9), 40e9);
  assert.equal(generationLimit({ adapter: card }, 5), DEFAULT_GENERATION_BYTES);
  assert.equal(generationLimit({ adapter: card }, Infinity), DEFAULT_GENERATION_BYTES);
});

Deno.test("with a loaded model the limit is a share of the known free memory", async () => {
  const room = (adapter: AdapterInfo | undefined, free: number | null) =>
    currentGenerationLimit(adapter === undefined ? {} : { adapter }, () => Promise.resolve(free));
  assert.equal(await room(card, 100e9), 40e9);
  assert.equal(await room(card, 1e9), DEFAULT_GENERATION_BYTES);
  assert.equal(await room(card, null), DEFAULT_GENERATION_BYTES);
  assert.equal(await room(software, 100e9), DEFAULT_GENERATION_BYTES);
  assert.equal(await room(undefined, 100e9), DEFAULT_GENERATION_BYTES);
});
