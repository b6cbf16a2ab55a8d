/**
 * All workarounds for Deno's WebGPU (wgpu 27–29): what the problem is, what is done about it, and
 * when the workaround can be removed. Workarounds in kernels are in the folders of the operations.
 */

import type { Gpu } from "./gpu.ts";

/** The versions of Deno for which `quirks_test.ts` has shown that {@link mapsAtOnce} is true. */
const MAPS_AT_ONCE = ["2.6.10", "2.9.6"];

/**
 * Whether `mapAsync` has already finished the mapping when it returns its promise. Awaiting the
 * promise takes 10 ms, because it is polled at intervals; `getMappedRange` right after the call
 * takes 0.1 ms. If the mapping were not finished, the process would abort, so this cannot be tried
 * at run time and only tested versions of Deno do it. It can be removed when awaiting a mapping
 * takes less than a millisecond.
 */
export function mapsAtOnce(version: string = Deno.version.deno): boolean {
  return MAPS_AT_ONCE.includes(version);
}

/**
 * Sets environment variables. Must be called before the first use of `navigator.gpu`:
 * - The default backends include GL, which offers a software adapter when Vulkan has none.
 *   Therefore only Vulkan is allowed (Metal and DX12 on systems that have them). This can be
 *   removed when adapters report their backend.
 * - Mesa prints a warning when XDG_RUNTIME_DIR is not set. It only looks for a display there.
 */
export function prepareEnvironment(os: typeof Deno.build.os = Deno.build.os): void {
  if (Deno.env.get("DENO_WEBGPU_BACKEND") === undefined) {
    const backend = os === "darwin" ? "metal" : os === "windows" ? "dx12,vulkan" : "vulkan";
    Deno.env.set("DENO_WEBGPU_BACKEND", backend);
  }
  if (os === "linux" && Deno.env.get("XDG_RUNTIME_DIR") === undefined) {
    Deno.env.set("XDG_RUNTIME_DIR", "/tmp");
  }
}

/**
 * Bytes that `writeBuffer` may stage before an empty submit. Staging memory is freed at the next
 * submit, so the upload of a model without submits would need twice its memory. It can be removed
 * when wgpu reuses staging memory.
 */
export const STAGED_BYTES = 64 * 2 ** 20;

/**
 * Ends an error scope and returns the error that it caught, or null. Deno 2.6 returns the error and
 * not a promise. It can be removed with the support of that version.
 */
export function popError(device: Gpu): Promise<{ readonly message: string } | null> {
  return Promise.resolve(device.popErrorScope());
}
