/**
 * Opens the device that a command computes on: `--device`, else RGX_DEVICE, else the fastest one.
 */
import type { Device } from "../kernels/device.ts";
import { createDevice } from "../kernels/mod.ts";

export interface DeviceFlags {
  device?: string;
  threads?: number;
  /** False with `--no-native`. */
  native?: boolean;
}

/** @throws UsageError for an unknown name; RgxError when the device is not available. */
export function openDevice({ device, threads, native }: DeviceFlags): Promise<Device> {
  // In the environment, so that the processes that this one starts do the same.
  if (native === false) Deno.env.set("RGX_NATIVE", "0");
  return createDevice(
    device ?? Deno.env.get("RGX_DEVICE") ?? "auto",
    threads === undefined ? {} : { threads },
  );
}
