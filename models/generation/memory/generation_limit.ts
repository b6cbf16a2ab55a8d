/**
 * How much memory generation may take. On a GPU a decode step reads all weights, whatever the
 * number of branches, so free memory is used for the KV cache of more branches. Left out: GPUs
 * whose free memory is not known.
 */
import type { Device } from "../../../kernels/device.ts";
import { gpuAvailableBytes } from "../../../kernels/devices/webgpu/gpu_memory.ts";
import { DEFAULT_GENERATION_BYTES } from "./counted_generation.ts";

/** Share of a GPU's free memory: another process may load its model on it at the same time. */
const SHARE = 0.4;

/** Limit in bytes when `spare` bytes of the device may be used. */
export function generationLimit({ adapter }: Pick<Device, "adapter">, spare: number): number {
  const isCard = adapter !== undefined && !adapter.software && Number.isFinite(spare);
  return isCard ? Math.max(DEFAULT_GENERATION_BYTES, Math.floor(spare)) : DEFAULT_GENERATION_BYTES;
}

/** Limit in bytes on a device where the model is loaded and nothing else will be. */
export async function currentGenerationLimit(
  device: Pick<Device, "adapter">,
  available = gpuAvailableBytes,
): Promise<number> {
  const { adapter } = device;
  if (adapter === undefined || adapter.software) return DEFAULT_GENERATION_BYTES;
  return generationLimit(device, SHARE * (await available(adapter) ?? 0));
}
