import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { createDevice } from "../../kernels/mod.ts";
import { withCacheIn } from "../../rewards/testing.ts";
import { deviceSpeed } from "./device_speed.ts";

test.inFolder("a device is measured once, and again if the cache is damaged", (folder) =>
  withCacheIn(folder, async () => {
    using device = await createDevice("reference");
    const { products, bandwidth, start } = await deviceSpeed(device);
    assert.ok(products > 1e6 && bandwidth > 1e6 && start > 0 && start < 1);
    const [file] = [...Deno.readDirSync(`${folder}/speed`)], path = `${folder}/speed/${file!.name}`;
    const known = { products: 3e9, bandwidth: 2e9, start: 1e-5 };
    await Deno.writeTextFile(path, JSON.stringify(known));
    assert.deepEqual(await deviceSpeed(device), known);
    await Deno.writeTextFile(path, '{"products":');
    assert.notDeepEqual(await deviceSpeed(device), known);
  }));
