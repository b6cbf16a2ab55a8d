/** What tests of WGSL kernels share: a device with limits of their own, and snapshots of generated text. */
import assert from "node:assert/strict";
import { findAdapter } from "./adapter.ts";
import { createWebgpuDevice, type WebgpuDevice, type WebgpuDeviceOptions } from "./device.ts";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { type Kernel, kernelText } from "../../ops/common/wgsl/kernel.ts";

const hasAdapter = await findAdapter() !== null;

/** A test on a GPU device, closed whatever happens; ignored without an adapter. */
export function testOnWebgpu(
  name: string,
  limits: NonNullable<WebgpuDeviceOptions["limits"]>,
  body: (device: WebgpuDevice) => void | Promise<void>,
): void {
  Deno.test({
    name,
    ignore: needs(hasAdapter, NEEDED.webgpu),
    async fn() {
      const device = await createWebgpuDevice({ limits });
      try {
        await body(device);
      } finally {
        device.close();
      }
    },
  });
}

/**
 * Holds a kernel's text (each buffer a tensor of its own, what it writes and nothing else writable) against
 * `testdata/<name>.wgsl` beside the test, so that a change of generated text is seen. UPDATE_SNAPSHOTS=1 writes it.
 */
export async function checkSnapshot(test: ImportMeta, name: string, kernel: Kernel): Promise<void> {
  const text = kernelText(kernel, {
    standsFor: kernel.bufferNames.map((_, i) => i),
    writable: kernel.bufferNames.map((buffer) => kernel.buffers[buffer]!.startsWith("write")),
  });
  const path = `${test.dirname}/testdata/${name}.wgsl`;
  if (Deno.env.get("UPDATE_SNAPSHOTS") === "1") {
    await Deno.mkdir(`${test.dirname}/testdata`, { recursive: true });
    await Deno.writeTextFile(path, text);
  }
  const advice = "the text of the kernel changed; if it should have, run with UPDATE_SNAPSHOTS=1";
  assert.equal(text, await Deno.readTextFile(path), advice);
}
