/** The free memory of a GPU, from the output of the driver's tools. */
import assert from "node:assert/strict";
import { freeOfNvidia, gpuAvailableBytes } from "./gpu_memory.ts";

const TABLE = "NVIDIA H100 80GB HBM3, 81000\nNVIDIA H100 80GB HBM3, 512\nNVIDIA T4, 15000\n";
const card = (name: string) => ({ name, vendor: 4318, device: 9008, software: false });

Deno.test("of several cards with one name, the one with the least free memory counts", async () => {
  const run = () => Promise.resolve(TABLE);
  assert.equal(await gpuAvailableBytes(card("NVIDIA H100 80GB HBM3"), run), 512 * 2 ** 20);
  assert.equal(await gpuAvailableBytes(card("NVIDIA T4"), run), 15_000 * 2 ** 20);
});

Deno.test("without a tool of the driver, the free memory is unknown and not zero", async () => {
  assert.equal(freeOfNvidia(null, "NVIDIA T4"), null);
  assert.equal(freeOfNvidia("NVIDIA T4, [N/A]\n", "NVIDIA T4"), null);
  assert.equal(freeOfNvidia(TABLE, "another"), null);
  assert.equal(await gpuAvailableBytes(card("NVIDIA T4"), () => Promise.resolve(null)), null);
});

Deno.test("a software adapter uses the machine's memory", async () => {
  const free = await gpuAvailableBytes({
    name: "llvmpipe",
    vendor: 65541,
    device: 0,
    software: true,
  });
  assert.ok(free !== null && free > 2 ** 20);
});
