/**
 * Finding a GPU and asking it for what it has: the adapter that Vulkan (or Metal, DX12) offers first, its real
 * limits instead of WebGPU's small defaults, and words for what is wrong when there is none.
 */
import { EXIT, RgxError } from "../../../core/errors.ts";
import type { AdapterInfo } from "../../device.ts";
import { grantable, prepareEnvironment } from "./quirks.ts";

/** Limits that kernels profit from; asked for at the adapter's largest value. */
const LIMITS = [
  "maxStorageBufferBindingSize",
  "maxBufferSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupsPerDimension",
] as const;

/** Below these the engine cannot work. */
const LEAST: Partial<Record<typeof LIMITS[number], number>> = {
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
    // Deno before 2.7 does not tell; Mesa's and Google's software devices have these names.
    software: software || /llvmpipe|lavapipe|swiftshader|software/i.test(name),
  };
}

/** The limits of an adapter that matter here, by their WebGPU names. */
export function adapterLimits(adapter: GPUAdapter): Record<string, number> {
  return Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
}

/** Features that kernels or traces can use, as far as the adapter grants them. */
export function usableFeatures(adapter: GPUAdapter): Promise<GPUFeatureName[]> {
  return grantable(adapter, ["shader-f16", "timestamp-query", "subgroups" as GPUFeatureName]);
}

/** @throws RgxError (exit 2) when the adapter's limits are too small for the engine. */
export async function requestDevice(
  adapter: GPUAdapter,
  features: GPUFeatureName[] = [],
): Promise<GPUDevice> {
  const limits = adapterLimits(adapter);
  for (const [name, least] of Object.entries(LEAST)) {
    if (limits[name]! < least) {
      throw new RgxError(
        `the GPU ${describeAdapter(adapter).name} is too small for rgx: its ${name} is ` +
          `${limits[name]}, at least ${least} is needed`,
        { advice: "compute on the CPU: --device wasm", exitCode: EXIT.usage },
      );
    }
  }
  return await adapter.requestDevice({ requiredLimits: limits, requiredFeatures: features });
}
