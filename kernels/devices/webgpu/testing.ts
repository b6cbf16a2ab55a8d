/**
 * Helpers for tests that need an adapter for WebGPU, for tests of WGSL kernels on a device with
 * chosen limits, and for snapshots of WGSL text.
 */
import assert from "node:assert/strict";
import { findAdapter } from "./adapter.ts";
import { createWebgpuDevice, type WebgpuDevice, type WebgpuDeviceOptions } from "./device.ts";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { type Kernel, kernelText } from "../../ops/common/wgsl/kernel.ts";

/** Whether tests on webgpu are wanted. RGX_TEST_WEBGPU=off leaves them out. */
export const isWebgpuWanted = Deno.env.get("RGX_TEST_WEBGPU") !== "off";

/** Whether tests can run on webgpu: they are wanted, and there is a card or a software adapter. */
export const hasWebgpu = isWebgpuWanted && await findAdapter() !== null;

/**
 * A test that needs an adapter. Without one it is ignored with a reason. If it is not wanted, it is
 * not defined.
 * @param isIgnored further reasons to ignore the test
 */
export function webgpuTest(
  name: string,
  body: () => Promise<void>,
  isIgnored: () => boolean = () => false,
): void {
  if (!isWebgpuWanted) return;
  Deno.test({ name, ignore: isIgnored() || needs(hasWebgpu, NEEDED.webgpu), fn: body });
}

/** A test on a GPU device, which is closed at the end. */
export function testOnWebgpu(
  name: string,
  limits: NonNullable<WebgpuDeviceOptions["limits"]>,
  body: (device: WebgpuDevice) => void | Promise<void>,
): void {
  webgpuTest(name, async () => {
    const device = await createWebgpuDevice({ limits });
    try {
      await body(device);
    } finally {
      device.close();
    }
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
