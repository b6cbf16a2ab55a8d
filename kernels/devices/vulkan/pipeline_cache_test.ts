/** The driver's compiled pipelines on disk: found again whole, or not at all. */
import assert from "node:assert/strict";
import { test } from "../../../core/testing.ts";
import type { Vulkan } from "./library.ts";
import { PipelineCacheFile } from "./pipeline_cache.ts";
import { PipelineObjects } from "./pipeline_objects.ts";
import { VkPipelineCacheCreateInfo as Info } from "./structs.ts";

const ADAPTER = {
  name: "A card / 80 GB",
  vendor: 1,
  device: 2,
  software: false,
  driver: "one 1.2",
};
const BYTES = Uint8Array.from({ length: 500 }, (_, i) => (7 * i) % 251);

test.inFolder("what a driver compiled is found again, by its adapter and version", (cache) => {
  const file = new PipelineCacheFile(ADAPTER, cache);
  assert.equal(file.read(), null);
  file.write(BYTES);
  assert.deepEqual(new PipelineCacheFile(ADAPTER, cache).read(), BYTES);
  const names = [...Deno.readDirSync(`${cache}/pipelines`)].map(({ name }) => name);
  assert.match(names.join(), /^A_card___80_GB-[0-9a-f]{12}\.bin$/, "and no part remains");
  const newer = new PipelineCacheFile({ ...ADAPTER, driver: "one 1.3" }, cache);
  assert.equal(newer.read(), null);
  // Vulkan's bare header says that the driver keeps nothing.
  newer.write(BYTES.slice(0, 32));
  assert.equal(newer.read(), null);
  assert.equal(new PipelineCacheFile(ADAPTER, null).read(), null);
  return Promise.resolve();
});

test.inFolder("a damaged file of pipelines is not used, and is replaced", (cache) => {
  new PipelineCacheFile(ADAPTER, cache).write(BYTES);
  const [{ name }] = [...Deno.readDirSync(`${cache}/pipelines`)] as [Deno.DirEntry];
  const path = `${cache}/pipelines/${name}`, whole = Deno.readFileSync(path);
  const damaged = [
    whole.slice(0, 300),
    whole.slice(0, 20),
    new Uint8Array(),
    whole.with(200, whole[200]! ^ 1),
    whole.with(0, 0),
  ];
  for (const bytes of damaged) {
    Deno.writeFileSync(path, bytes);
    const file = new PipelineCacheFile(ADAPTER, cache);
    assert.equal(file.read(), null);
    file.write(BYTES);
    assert.deepEqual(file.read(), BYTES);
  }
  // What cannot be written is not kept, without an error.
  Deno.removeSync(path);
  Deno.mkdirSync(path);
  const file = new PipelineCacheFile(ADAPTER, cache);
  file.write(BYTES);
  assert.equal(file.read(), null);
  assert.equal([...Deno.readDirSync(`${cache}/pipelines`)].length, 1);
  return Promise.resolve();
});

Deno.test("the driver gets what was kept, and gives what it has; one that gives nothing is left", () => {
  const given: bigint[] = [], length = (size: Uint8Array) => new DataView(size.buffer);
  let has: Uint8Array | null = BYTES;
  const vulkan = {
    vkCreatePipelineCache: (_: bigint, info: Uint8Array) => {
      given.push(BigInt(Info.number(info as never, "initialDataSize")));
      return 0;
    },
    vkDestroyPipelineCache: () => {},
    // Like a driver: the size, or at most so many bytes.
    vkGetPipelineCacheData: (_: bigint, __: bigint, size: Uint8Array, out: Uint8Array | null) => {
      if (has === null) return -1;
      if (out === null) length(size).setBigUint64(0, BigInt(has.length), true);
      else out.set(has);
      return 0;
    },
  } as unknown as Vulkan;
  const open = (compiled: Uint8Array<ArrayBuffer> | null) =>
    new PipelineObjects({ vulkan, device: 1n }, compiled);
  assert.deepEqual(open(null).compiled(), BYTES);
  assert.deepEqual(open(BYTES).compiled(), BYTES);
  assert.deepEqual(given, [0n, 500n]);
  has = null;
  assert.equal(open(null).compiled(), null);
});
