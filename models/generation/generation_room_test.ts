/** The memory limit of generation: the default, and on a GPU. */
import assert from "node:assert/strict";
import type { AdapterInfo } from "../../kernels/device.ts";
import { generationRoom, generationRoomNow } from "./generation_room.ts";
import { DEFAULT_GENERATION_BYTES } from "./generation_memory.ts";

const card = { name: "a card", software: false } as AdapterInfo;
const software = { name: "a processor", software: true } as AdapterInfo;

Deno.test("a GPU gives generation its spare memory, a CPU a fixed limit", () => {
  assert.equal(generationRoom({}, 1e12), DEFAULT_GENERATION_BYTES);
  assert.equal(generationRoom({ adapter: software }, 1e12), DEFAULT_GENERATION_BYTES);
  assert.equal(generationRoom({ adapter: card }, 40e9), 40e9);
  assert.equal(generationRoom({ adapter: card }, 5), DEFAULT_GENERATION_BYTES);
  assert.equal(generationRoom({ adapter: card }, Infinity), DEFAULT_GENERATION_BYTES);
});

Deno.test("with a loaded model the limit is a share of the known free memory", async () => {
  const room = (adapter: AdapterInfo | undefined, free: number | null) =>
    generationRoomNow(adapter === undefined ? {} : { adapter }, () => Promise.resolve(free));
  assert.equal(await room(card, 100e9), 40e9);
  assert.equal(await room(card, 1e9), DEFAULT_GENERATION_BYTES);
  assert.equal(await room(card, null), DEFAULT_GENERATION_BYTES);
  assert.equal(await room(software, 100e9), DEFAULT_GENERATION_BYTES);
  assert.equal(await room(undefined, 100e9), DEFAULT_GENERATION_BYTES);
});
