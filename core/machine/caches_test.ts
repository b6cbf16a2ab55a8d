import assert from "node:assert/strict";
import { test, writeFiles } from "../testing.ts";
import { coreCacheBytes } from "./caches.ts";

test.inFolder("the second-level cache is what the system says, or unknown", async (root) => {
  assert.equal(coreCacheBytes(root), null);
  const file = "sys/devices/system/cpu/cpu0/cache/index2/size";
  await writeFiles(root, { [file]: "2048K\n" });
  assert.equal(coreCacheBytes(root), 2 ** 21);
  await writeFiles(root, { [file]: "unknown\n" });
  assert.equal(coreCacheBytes(root), null);
});
