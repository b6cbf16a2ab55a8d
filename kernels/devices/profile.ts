/**
 * Measures the time of each operation, and prints it when the device is closed (RGX_DEBUG=2) or
 * after every call (RGX_DEBUG=3). It needs a device whose operations have finished when `run`
 * returns (reference, wasm). Floating point operations are the products and sums of the algorithm:
 * a fused multiply-add counts as 2, and elementwise work and softmax do not count. Bytes count each
 * tensor argument once, which is a lower bound of the memory traffic.
 */
import type { Device } from "../device.ts";
import type { Tensor } from "../tensor.ts";
import type { OpName, Ops } from "../ops/ops.ts";

/** One row of the report. */
export interface OpProfile {
  op: OpName;
  calls: number;
  milliseconds: number;
  flops: number;
  bytes: number;
}

/**
 * Floating point operations of a call; 0 if its work is elementwise or depends on the contents of
 * tensors.
 */
export function flopsOf<K extends OpName>(op: K, args: Ops[K]): number {
  switch (op) {
    case "matmul": {
      const { m, n, k, r = 0 } = args as Ops["matmul"];
      return 2 * m * n * (k + r);
    }
    case "head": {
      const { rows, vocab, d, r = 0, mean } = args as Ops["head"];
      return 2 * rows * vocab * (mean === undefined ? d + r : 2 * d);
    }
    case "head_backward": {
      const { rows, vocab, d, r = 0, dweight, dloraB, mean } = args as Ops["head_backward"];
      if (mean !== undefined) return 0;
      const products = (dweight: unknown) => dweight === undefined ? 4 : 6;
      return rows * vocab * (products(dweight) * d + products(dloraB) * r);
    }
    default:
      return 0;
  }
}

/** Bytes of the tensor arguments of a call, each counted once. */
export function bytesOf(args: object): number {
  let elements = 0;
  for (const value of Object.values(args)) {
    if (typeof value === "object" && value !== null && "length" in value) {
      elements += (value as Tensor).length;
    }
  }
  return 4 * elements;
}

/**
 * Replaces the device's `run` by one that measures time. (A wrapper around the device would not be
 * the device that its tensors belong to.)
 * @param each called after every operation
 * @returns a function that gives the current totals, most expensive first
 */
export function profile(
  device: Device,
  each?: (call: OpProfile) => void,
): () => OpProfile[] {
  const totals = new Map<OpName, OpProfile>();
  const run = device.run.bind(device);
  device.record = undefined; // recorded operations would not be measured
  device.run = (op, args) => {
    const start = performance.now();
    run(op, args);
    const milliseconds = performance.now() - start;
    const call = { op, calls: 1, milliseconds, flops: flopsOf(op, args), bytes: bytesOf(args) };
    const total = totals.get(op);
    if (total === undefined) totals.set(op, { ...call });
    else {
      total.calls++;
      total.milliseconds += milliseconds;
      total.flops += call.flops;
      total.bytes += call.bytes;
    }
    each?.(call);
  };
  return () => [...totals.values()].sort((a, b) => b.milliseconds - a.milliseconds);
}

/** One line of text: time, calls, GFLOP/s if known, GB/s. */
export function formatProfile({ op, calls, milliseconds, flops, bytes }: OpProfile): string {
  const rate = (amount: number) => (amount / milliseconds / 1e6).toFixed(1).padStart(7);
  return `${op.padEnd(18)} ${milliseconds.toFixed(2).padStart(10)} ms ${
    String(calls).padStart(7)
  } x ` +
    `${flops > 0 ? rate(flops) : "      –"} GFLOP/s ${rate(bytes)} GB/s`;
}

/** Profiles the device if RGX_DEBUG is at least 2; the report goes to standard error. */
export function profileByEnvironment(device: Device, debug = Deno.env.get("RGX_DEBUG")): void {
  const level = Number(debug ?? 0);
  if (!(level >= 2)) return;
  const each = level >= 3 ? (call: OpProfile) => console.error(formatProfile(call)) : undefined;
  const table = profile(device, each);
  const close = device.close.bind(device);
  let closed = false;
  device.close = () => {
    close();
    if (closed) return;
    closed = true;
    const rows = table();
    const sum = rows.reduce((total, row) => total + row.milliseconds, 0);
    console.error(`operations on ${device.name}, ${device.threads} threads: ${sum.toFixed(1)} ms`);
    for (const row of rows) console.error(formatProfile(row));
  };
}
