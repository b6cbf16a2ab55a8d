/** Reports of the GPU device: that it was lost, and its counters. */
import { EXIT, RgxError } from "../../../core/errors.ts";
import type { MatrixUnits } from "../../ops/common/webgpu_op.ts";

export function lostError(name: string, message: string): RgxError {
  return new RgxError(`the GPU ${name} was lost: ${message}`, {
    advice: "what was saved is safe; go on with --resume (after a driver reset, if there was one)",
    exitCode: EXIT.resumable,
  });
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
