/**
 * Opens the device that a command computes on: `--device`, else RGX_DEVICE, else the fastest one.
 */
import type { Device } from "../kernels/device.ts";
import type { ComputeDtype } from "../kernels/ops/common/compute_dtype.ts";
import { createDevice } from "../kernels/mod.ts";

export interface DeviceFlags {
  device?: string;
  threads?: number;
  /** False with `--no-native`. */
  native?: boolean;
  /** Absent: float32. */
  computeDtype?: ComputeDtype;
  /** The device on which the run began that goes on; null: none. `auto` takes it again. */
  keep?: string | null;
}

/** The name of the device that the flags and the environment ask for. */
export function deviceNameOf({ device }: DeviceFlags): string {
  return device ?? Deno.env.get("RGX_DEVICE") ?? "auto";
}

/** @throws UsageError for an unknown name; RgxError when the device is not available. */
export async function openDevice(flags: DeviceFlags): Promise<Device> {
  const { threads, native, computeDtype, keep = null } = flags;
  // In the environment, so that the processes that this one starts do the same.
  if (native === false) Deno.env.set("RGX_NATIVE", "0");
  const device = await createDevice(
    deviceNameOf(flags),
    threads === undefined ? { keep } : { threads, keep },
  );
  if (computeDtype !== undefined) device.computeDtype = computeDtype;
  return device;
}
