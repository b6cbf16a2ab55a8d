/**
 * The workarounds are right for this version of Deno. What may abort the process runs in a separate
 * process.
 */
import assert from "node:assert/strict";
import { needs } from "../../../tests/skipped.ts";
import { mapsAtOnce } from "./quirks.ts";
import { webgpuTest } from "./testing.ts";

const ADAPTER = new URL("./adapter.ts", import.meta.url).href;

/** Maps a buffer many times without awaiting, compares every copy, and prints "right". */
const MAPPING = `
import { findAdapter, requestDevice } from ${JSON.stringify(ADAPTER)};
const adapter = await findAdapter();
if (adapter === null) { console.log("no adapter"); Deno.exit(0); }
const device = await requestDevice(adapter);
const size = 4096;
const { COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const source = device.createBuffer({ size, usage: COPY_SRC | COPY_DST });
const target = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
await target.mapAsync(GPUMapMode.READ);
target.unmap();
for (let round = 1; round <= 300; round++) {
  device.queue.writeBuffer(source, 0, new Uint32Array(size / 4).fill(round));
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(source, 0, target, 0, size);
  device.queue.submit([encoder.finish()]);
  target.mapAsync(GPUMapMode.READ).catch(() => {});
  const words = new Uint32Array(target.getMappedRange().slice(0));
  target.unmap();
  if (!words.every((word) => word === round)) throw new Error("wrong in round " + round);
}
device.destroy();
console.log("right");
`;

webgpuTest(
  "in the listed versions of Deno, a buffer is mapped when mapAsync returns",
  async () => {
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    try {
      await Deno.writeTextFile(file, MAPPING);
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--unstable-webgpu", file],
        stdout: "piped",
        stderr: "piped",
      }).output();
      const text = new TextDecoder().decode(stdout).trim();
      assert.equal(text, "right", new TextDecoder().decode(stderr));
      assert.equal(code, 0);
    } finally {
      await Deno.remove(file);
    }
  },
  () => needs(mapsAtOnce(), "this version of Deno is not listed: readbacks are awaited and slow"),
);

Deno.test("untested versions of Deno await mappings", () => {
  assert.equal(mapsAtOnce("1.0.0"), false);
});
