/**
 * How much memory generation may take. Decoding on a card reads all weights at every step, whether for ten branches
 * or for a hundred: what is free there serves keys and values. Left out: cards of which nobody knows what is free.
 */
import type { Device } from "../../kernels/device.ts";
import { gpuAvailableBytes } from "../../kernels/devices/webgpu/gpu_memory.ts";
import { DEFAULT_GENERATION_BYTES } from "./generation_memory.ts";

/** Of what a card has free beside a model: another process may load its own on it at the same time. */
const SHARE = 0.4;

/** Bytes, where `spare` can be spared. */
export function generationRoom({ adapter }: Pick<Device, "adapter">, spare: number): number {
  const isCard = adapter !== undefined && !adapter.software && Number.isFinite(spare);
  return isCard ? Math.max(DEFAULT_GENERATION_BYTES, Math.floor(spare)) : DEFAULT_GENERATION_BYTES;
}

/** Bytes on a device on which the model is loaded and nothing else is to come. */
export async function generationRoomNow(
  device: Pick<Device, "adapter">,
  available = gpuAvailableBytes,
): Promise<number> {
  const { adapter } = device;
  if (adapter === undefined || adapter.software) return DEFAULT_GENERATION_BYTES;
  return generationRoom(device, SHARE * (await available(adapter) ?? 0));
}
