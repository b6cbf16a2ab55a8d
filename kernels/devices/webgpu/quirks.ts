/**
 * Every workaround for Deno's WebGPU (wgpu 27–29 inside) in one place: what is odd, what is done about it,
 * and when it can go. Nothing here is about kernels; those are in the folders of the operations.
 */

/** Deno versions in which {@link mapsAtOnce} was seen to hold by `quirks_test.ts`, which runs it in a process of its own. */
const MAPS_AT_ONCE = ["2.6.10", "2.9.6"];

/**
 * Whether `mapAsync` has already waited and mapped when it returns its promise. Awaiting that promise costs 10 ms,
 * because the future sleeps between two polls; `getMappedRange` right after the call costs 0.1 ms. Where it
 * does not hold, the process aborts, so it cannot be tried out: only versions that were tested use it.
 * Can go when awaiting a mapping costs less than a millisecond.
 */
export function mapsAtOnce(version: string = Deno.version.deno): boolean {
  return MAPS_AT_ONCE.includes(version);
}

/**
 * Before the first use of `navigator.gpu` in the process:
 * - The default backends include GL, which offers a software adapter where Vulkan has none: ask for Vulkan
 *   (Metal and DX12 on the systems that have them). Can go when an adapter tells its backend.
 * - Mesa complains on stderr where XDG_RUNTIME_DIR is not set; it only looks for a display there.
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
 * Bytes that `writeBuffer` may stage before an empty submit returns them: staging memory lives until the next
 * submit, so uploading a model without one doubles its memory. Can go when wgpu recycles it by itself.
 */
export const STAGED_BYTES = 64 * 2 ** 20;

/**
 * `adapter.features` hides some features that are granted (subgroups), so an ability is known only by asking for
 * it: each of `wanted` alone, against a device that is thrown away. Can go when the list is complete.
 */
export async function grantable(
  adapter: GPUAdapter,
  wanted: readonly GPUFeatureName[],
): Promise<GPUFeatureName[]> {
  const granted: GPUFeatureName[] = [];
  for (const feature of wanted) {
    try {
      const device = await adapter.requestDevice({ requiredFeatures: [feature] });
      device.destroy();
      granted.push(feature);
    } catch {
      // Refused: the adapter does not have it.
    }
  }
  return granted;
}

/**
 * Ends an error scope and tells what it caught, if anything. Deno 2.6 returns the error itself and not a promise of it;
 * can go with the support of that version.
 */
export function popError(device: GPUDevice): Promise<GPUError | null> {
  return Promise.resolve(device.popErrorScope());
}
