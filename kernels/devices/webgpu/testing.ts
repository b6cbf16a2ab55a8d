/** Helpers for tests of WGSL kernels: a device with chosen limits, and snapshots of WGSL text. */
import assert from "node:assert/strict";
import { findAdapter } from "./adapter.ts";
import { createWebgpuDevice, type WebgpuDevice, type WebgpuDeviceOptions } from "./device.ts";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { type Kernel, kernelText } from "../../ops/common/wgsl/kernel.ts";

const hasAdapter = await findAdapter() !== null;

/** A test on a GPU device, which is closed at the end; ignored without an adapter. */
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
 * Compares a kernel's text with `testdata/<name>.wgsl` beside the test, so that a change of the
 * generated text is noticed. The text is that for different tensors, of which only the outputs are
 * writable. UPDATE_SNAPSHOTS=1 writes the file.
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
