import assert from "node:assert/strict";
import { test } from "../testing.ts";
import { coreCacheBytes } from "./caches.ts";

test.inFolder("the second-level cache is what the system says, or unknown", async (root) => {
  assert.equal(coreCacheBytes(root), null);
  const folder = `${root}/sys/devices/system/cpu/cpu0/cache/index2`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/size`, "2048K\n");
  assert.equal(coreCacheBytes(root), 2 ** 21);
  await Deno.writeTextFile(`${folder}/size`, "unknown\n");
  assert.equal(coreCacheBytes(root), null);
});
