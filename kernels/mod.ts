/**
 * Devices by name. Implementations are imported when they are asked for, so that a command that needs
 * no device does not pay for loading one.
 */
import { UsageError } from "../core/errors.ts";
import type { Device } from "./device.ts";

/** What a user may ask for; "auto" takes the fastest one that this machine has. */
export const DEVICE_NAMES = ["auto", "wasm", "reference"] as const;
export type DeviceName = typeof DEVICE_NAMES[number];

/**
 * @param options.threads Threads of the CPU device; default: what the machine grants this process.
 * @throws UsageError for an unknown name; RgxError when the device cannot be had.
 */
export async function createDevice(
  name: string,
  options: { threads?: number } = {},
): Promise<Device> {
  switch (name) {
    case "reference":
      return (await import("./reference/device.ts")).createReferenceDevice();
    case "auto":
    case "wasm":
      return await (await import("./wasm/device.ts")).createWasmDevice(options);
    default:
      throw new UsageError(`unknown device "${name}", expected ${DEVICE_NAMES.join(", ")}`);
  }
}
