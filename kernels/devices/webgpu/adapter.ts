/**
 * Finds a GPU: the first adapter of Vulkan (or Metal, DX12). Its device is requested with the
 * limits of the adapter, since WebGPU's default limits are small.
 */
import { EXIT, RgxError } from "../../../core/errors.ts";
import type { AdapterInfo } from "../../device.ts";
import { prepareEnvironment } from "./quirks.ts";

/** The limits that kernels use; requested with the adapter's maximum. */
const LIMITS = [
  "maxStorageBufferBindingSize",
  "maxBufferSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupsPerDimension",
] as const;

/** The minimum that the kernels need. */
const MIN_LIMITS: Partial<Record<typeof LIMITS[number], number>> = {
  maxStorageBufferBindingSize: 2 ** 27,
  maxComputeWorkgroupStorageSize: 16_384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxStorageBuffersPerShaderStage: 8,
};

/** The first adapter, or null. */
export async function findAdapter(): Promise<GPUAdapter | null> {
  prepareEnvironment();
  const gpu = navigator.gpu as GPU | undefined;
  return await gpu?.requestAdapter({ powerPreference: "high-performance" }) ?? null;
}

export function describeAdapter(adapter: GPUAdapter): AdapterInfo {
  const { info } = adapter;
  const { isFallbackAdapter } = info as GPUAdapterInfo & { isFallbackAdapter?: boolean };
  const name = info.description || info.device || "an adapter without a name";
  const software = isFallbackAdapter ?? false;
  return {
    name,
    vendor: Number(info.vendor),
    device: Number(info.device),
    // Deno before 2.7 does not report it; software adapters of Mesa and Google have these names.
    software: software || /llvmpipe|lavapipe|swiftshader|software/i.test(name),
  };
}

/** The limits of an adapter that kernels use, by their WebGPU names. */
export function adapterLimits(adapter: GPUAdapter): Record<string, number> {
  return Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
}

/**
 * A device with these features.
 * @throws RgxError (exit 2) when the adapter's limits are too small for the engine
 */
export async function requestDevice(
  adapter: GPUAdapter,
  features: GPUFeatureName[] = [],
): Promise<GPUDevice> {
  const limits = adapterLimits(adapter);
  for (const [name, min] of Object.entries(MIN_LIMITS)) {
    if (limits[name]! < min) {
      throw new RgxError(
        `the GPU ${describeAdapter(adapter).name} is too small for rgx: its ${name} is ` +
          `${limits[name]}, at least ${min} is needed`,
        { advice: "compute on the CPU, the device wasm", exitCode: EXIT.usage },
      );
    }
  }
  return await adapter.requestDevice({ requiredLimits: limits, requiredFeatures: features });
}
