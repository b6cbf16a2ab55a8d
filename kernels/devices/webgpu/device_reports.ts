/** Reports of the GPU device: that it was lost, its counters, and how long its kernels took. */
import { EXIT, RgxError } from "../../../core/errors.ts";
import type { MatrixUnits } from "../../ops/common/webgpu_op.ts";
import { formatTrace, type KernelTime } from "./trace.ts";

export function lostError(name: string, message: string): RgxError {
  return new RgxError(`the GPU ${name} was lost: ${message}`, {
    advice: "what was saved is safe; go on with --resume (after a driver reset, if there was one)",
    exitCode: EXIT.resumable,
  });
}

interface TimedDevice {
  readonly adapter: { readonly name: string };
  kernelTimes(): KernelTime[];
  close(): void;
}

/** Prints the time of every kernel when the device is closed. */
export function printTimesAtClose(device: TimedDevice): void {
  const close = device.close.bind(device);
  let closed = false;
  device.close = () => {
    const times = closed ? [] : device.kernelTimes();
    close();
    if (closed) return;
    closed = true;
    console.error(`kernels on ${device.adapter.name}:`);
    for (const line of formatTrace(times)) console.error(line);
  };
}

/** Counters for tests and reports. */
export interface WebgpuCounters {
  dispatches: number;
  submits: number;
  /** Bytes copied to the host, and the number of copies. */
  readBytes: number;
  reads: number;
  /** Copies after which operations were ready, so that the card did not wait for the host. */
  hiddenReads: number;
  pipelines: number;
}

/** What computes products in bfloat16, for people. */
export function unitName(units: MatrixUnits | null): string {
  return units === null ? "float32 arithmetic" : `matrix units (${units.edge} × ${units.edge})`;
}
