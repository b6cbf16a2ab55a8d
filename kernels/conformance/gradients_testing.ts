/** Helpers for tests of gradients, on the float64 reference device. Not part of the program. */
import assert from "node:assert/strict";
import { createReferenceDevice } from "../devices/reference/device.ts";
import type { OpName } from "../ops/ops.ts";
import type { HostArray } from "../tensor.ts";
import { assertWithin, largest, stream } from "../testing.ts";
import { execute, type HostArgs } from "./runner_testing.ts";

const device = createReferenceDevice({ float: "f64" });

export function random64(name: string, n: number, scale = 1): Float64Array {
  const random = stream(name);
  return Float64Array.from({ length: n }, () => scale * random.normal());
}

export const empty = (n: number) => new Float64Array(n);

export async function run<K extends OpName>(
  op: K,
  args: HostArgs<K>,
): Promise<Map<string, HostArray>> {
  return await execute(device, { op, args: args as never });
}

export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** Compares `gradient` with differences of `loss`, which reads `x`; `x` is changed and restored. */
export async function checkGradient(
  what: string,
  x: Float64Array,
  gradient: HostArray,
  loss: () => Promise<number>,
): Promise<void> {
  const differences = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) {
    const at = x[i]!, step = 1e-6 * Math.max(1, Math.abs(at));
    x[i] = at + step;
    const above = await loss();
    x[i] = at - step;
    const below = await loss();
    x[i] = at;
    differences[i] = (above - below) / (2 * step);
  }
  assert.ok(largest(differences) > 0, `${what}: all derivatives are 0`);
  assertWithin(gradient, differences, 1e-6 * largest(differences), what);
}
