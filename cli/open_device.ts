/** The device that a command computes on: `--device`, then RGX_DEVICE, then the fastest there is. */
import type { Device } from "../kernels/device.ts";
import { createDevice } from "../kernels/mod.ts";

export interface DeviceFlags {
  device?: string;
  threads?: number;
}

/** @throws UsageError for an unknown name; RgxError when the device cannot be had. */
export function openDevice({ device, threads }: DeviceFlags): Promise<Device> {
  return createDevice(
    device ?? Deno.env.get("RGX_DEVICE") ?? "auto",
    threads === undefined ? {} : { threads },
  );
}
