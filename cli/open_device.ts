/**
 * Opens the device that a command computes on: `--device`, else RGX_DEVICE, else the fastest one.
 */
import { deviceOfConfig } from "../configs/rank_layout.ts";
import { counted } from "../core/counted.ts";
import { UsageError } from "../core/errors.ts";
import { processLayout, slurmJob } from "../core/machine/job.ts";
import type { Device } from "../kernels/device.ts";
import type { ComputeDtype } from "../kernels/ops/common/compute_dtype.ts";
import { createDevice, isDeviceName, unknownDevice } from "../kernels/mod.ts";
import { broken, log } from "./terminal/terminal.ts";

export interface DeviceFlags {
  device?: string;
  threads?: number;
  native?: boolean;
  /** Absent: float32. */
  computeDtype?: ComputeDtype;
  /** The device on which a resumed run began, which `auto` takes again; null: none. */
  keep?: string | null;
}

/** The name of the device that the flags and the environment ask for. */
export function deviceNameOf({ device }: DeviceFlags): string {
  return device ?? Deno.env.get("RGX_DEVICE") ?? "auto";
}

/** @param flag what `--device` names, if given @throws UsageError for a name of no device */
function requireDeviceName(name: string, flag: string | undefined): void {
  if (!isDeviceName(name)) {
    throw unknownDevice(name, flag === undefined ? "RGX_DEVICE" : "--device");
  }
}

/**
 * The device of a run: that of the flag or of RGX_DEVICE, else what its configuration asks for;
 * undefined where nothing is asked for.
 * @throws UsageError for an unknown name, or a graphics card where the configuration wants the CPU
 */
export function runDeviceName(
  flag: string | undefined,
  training: { readonly use_cpu: boolean },
): string | undefined {
  const named = flag ?? Deno.env.get("RGX_DEVICE");
  if (named !== undefined) requireDeviceName(named, flag);
  return deviceOfConfig(training, named, flag === undefined ? "RGX_DEVICE" : "--device");
}

/** If a job has paid for a card but computes on the CPU, usually the Vulkan driver is missing. */
function warnOfUnusedCard(): void {
  const given = slurmJob()?.gpus?.length ?? 0;
  if (given === 0) return;
  const text = `SLURM gave this job ${counted(given, "GPU")}, but no graphics card is found on ` +
    "this node: computing on the CPU. rgx doctor in the job says what is missing " +
    "(docs/nodes.md); --device webgpu refuses to compute without a card, --device wasm means the CPU";
  for (const line of broken("stderr", `warning: ${text}`)) log(line);
}

/** @throws UsageError for an unknown name; RgxError when the device is not available. */
export async function openDevice(flags: DeviceFlags): Promise<Device> {
  const { threads, native, computeDtype, keep = null } = flags;
  // The choice is put into the environment, so that child processes do the same.
  if (native === false) Deno.env.set("RGX_NATIVE", "0");
  const name = deviceNameOf(flags);
  requireDeviceName(name, flags.device);
  const device = await createDevice(name, threads === undefined ? { keep } : { threads, keep });
  if (name === "auto" && device.adapter === undefined) warnOfUnusedCard();
  if (computeDtype !== undefined) device.computeDtype = computeDtype;
  return device;
}

/**
 * For commands that run as one process: of several, each would do the same work and write the same
 * files.
 * @throws UsageError when a launcher has started several processes together
 */
export function refuseOtherRanks(): void {
  const layout = processLayout();
  if (layout === null) return;
  const { rank, size, from } = layout;
  throw new UsageError(
    `this is process ${rank} of ${size} that were started together (${from}); this command is one process`,
    {
      advice:
        "Start one: srun --ntasks=1, or mpirun -np 1. rgx train, sft, bench and eval use several.",
    },
  );
}
