/**
 * Time per operation, printed when the device is closed (RGX_DEBUG=2) or call by call (RGX_DEBUG=3).
 * Meant for devices whose operations are done when `run` returns (reference, wasm). Floating point
 * operations count products and sums of the algorithm (a fused multiply-add is 2; elementwise work and
 * softmax are left out); bytes count each tensor argument once: a lower bound on the traffic.
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

/** Products and sums of an operation; 0 where the work is elementwise or depends on tensors' contents. */
export function flopsOf<K extends OpName>(op: K, args: Ops[K]): number {
  switch (op) {
    case "matmul": {
      const { m, n, k, r = 0 } = args as Ops["matmul"];
      return 2 * m * n * (k + r);
    }
    case "head": {
      const { rows, vocab, d, mean } = args as Ops["head"];
      return (mean === undefined ? 2 : 4) * rows * vocab * d;
    }
    case "head_backward": {
      const { rows, vocab, d, dweight, mean } = args as Ops["head_backward"];
      if (mean !== undefined) return 0;
      return (dweight === undefined ? 4 : 6) * rows * vocab * d;
    }
    default:
      return 0;
  }
}

/** Bytes of an operation's tensor arguments, each counted once. */
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
 * Times every `run` of the device, in place (tensors keep the device they know). `each` is called after
 * every operation. @returns the live table, most expensive first when read.
 */
export function profile(
  device: Device,
  each?: (call: OpProfile) => void,
): () => OpProfile[] {
  const totals = new Map<OpName, OpProfile>();
  const run = device.run.bind(device);
  device.record = undefined; // or operations would run unseen
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

/** One line of text: time, calls, GFLOP/s where it has a meaning, GB/s. */
export function formatProfile({ op, calls, milliseconds, flops, bytes }: OpProfile): string {
  const rate = (amount: number) => (amount / milliseconds / 1e6).toFixed(1).padStart(7);
  return `${op.padEnd(18)} ${milliseconds.toFixed(2).padStart(10)} ms ${
    String(calls).padStart(7)
  } x ` +
    `${flops > 0 ? rate(flops) : "      –"} GFLOP/s ${rate(bytes)} GB/s`;
}

/** Profiles the device if RGX_DEBUG asks for it; the report goes to standard error. */
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
