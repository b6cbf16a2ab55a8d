/** Helpers for tests of gradients, on the float64 reference device. Not part of the program. */
import assert from "node:assert/strict";
import { createReferenceDevice } from "../devices/reference/device.ts";
import type { OpName } from "../ops/ops.ts";
import type { HostArray } from "../tensor.ts";
import { assertWithin, largest, stream } from "../testing.ts";
import { type Case, execute, type HostArgs } from "./runner_testing.ts";

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

type Args = Record<string, unknown>;
type Arrays = Record<string, HostArray>;

/** A forward with its loss, and the backward whose outputs are the loss's derivatives. */
export interface BackwardCase {
  forward: OpName;
  /** The arguments that both have. Those that are differentiated are Float64Arrays. */
  inputs: Args;
  /** The lengths of the forward's outputs, or arrays of another type. */
  outputs: Record<string, number | Uint32Array>;
  /** The loss is the sum of these times the outputs of the same names, and what `loss` adds. */
  weights: Arrays;
  loss?: () => number;
  backward: OpName;
  /** What only the backward has, beside its gradients. @param found what the forward gives */
  more: (found: Arrays) => Args;
  /** The gradients, each with the input that it is of, and perhaps how it becomes the input's. */
  of: readonly (readonly [
    gradient: string,
    input: string,
    summed?: (gradient: HostArray) => HostArray,
  ])[];
  /** Gradients that are added to what is there. */
  adds?: readonly string[];
}

/** Compares all gradients with differences. @returns what the forward and the backward give */
export async function checkBackward(
  { forward, inputs, outputs, weights, loss: more = () => 0, backward, of, adds = [], ...rest }:
    BackwardCase,
): Promise<{ found: Arrays; back: Arrays }> {
  const call = async (op: OpName, args: Args): Promise<Arrays> =>
    Object.fromEntries(await execute(device, { op, args } as unknown as Case));
  const made = Object.entries(outputs);
  const evaluate = () => {
    const room = made.map(([name, of]) => [name, typeof of === "number" ? empty(of) : of.slice()]);
    return call(forward, { ...inputs, ...Object.fromEntries(room) });
  };
  const loss = async () => {
    const found = await evaluate();
    return Object.entries(weights).reduce((sum, [name, w]) => sum + dot(w, found[name]!), more());
  };
  const found = await evaluate(), before: Arrays = {};
  for (const [name, input, summed] of of) {
    if (summed !== undefined) continue; // its room is given
    const { length } = inputs[input] as Float64Array;
    before[name] = adds.includes(name) ? random64(`${name} before`, length) : empty(length);
  }
  const back = await call(backward, { ...inputs, ...rest.more(found), ...before });
  for (const [name, start] of Object.entries(before)) {
    back[name] = back[name]!.map((g, i) => g - start[i]!);
  }
  for (const [name, input, summed = (gradient: HostArray) => gradient] of of) {
    const x = inputs[input] as Float64Array;
    await checkGradient(`${backward}: ${name} of ${input}`, x, summed(back[name]!), loss);
  }
  return { found, back };
}
