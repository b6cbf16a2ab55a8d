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
import { printTime, printTimesAtClose, type Time, Times } from "./times.ts";

/**
 * Floating point operations of a call; 0 if its work is elementwise or depends on the contents of
 * tensors.
 */
function flopsOf<K extends OpName>(op: K, args: Ops[K]): number {
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
export function profile(device: Device, each: ((call: Time) => void) | null = null): () => Time[] {
  const times = new Times(each), run = device.run.bind(device);
  device.record = undefined; // recorded operations would not be measured
  device.run = (op, args) => {
    const start = performance.now();
    run(op, args);
    const milliseconds = performance.now() - start;
    times.add({ name: op, milliseconds, flops: flopsOf(op, args), bytes: bytesOf(args) });
  };
  return () => times.table();
}

/** Profiles the device if RGX_DEBUG is at least 2; the report goes to standard error. */
export function profileByEnvironment(device: Device, debug = Deno.env.get("RGX_DEBUG")): void {
  const level = Number(debug ?? 0);
  if (!(level >= 2)) return;
  const table = profile(device, level >= 3 ? printTime : null);
  printTimesAtClose(device, `operations on ${device.name}, ${device.threads} threads`, table);
}
