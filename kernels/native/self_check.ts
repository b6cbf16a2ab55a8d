/**
 * The check before native kernels are used: some operations of all kinds, with native kernels and
 * without, must have the same bits. It takes about a tenth of a second, and finds processors,
 * emulators and virtual machines that compute something else.
 */
import type { Device } from "../device.ts";
import type { OpName, Ops } from "../ops/ops.ts";
import type { HostArray, Tensor } from "../tensor.ts";
import type { ComputeDtype } from "../ops/common/compute_dtype.ts";
import { type Check, checks, roundedChecks } from "./check_cases.ts";

/** Runs an operation. @returns the bits of its outputs, one after the other */
async function outputs(device: Device, { op, args, outputs }: Check): Promise<Uint32Array[]> {
  const tensors = new Map<string, Tensor>(), all: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(args)) {
    all[name] = value;
    if (!(value instanceof Float32Array || value instanceof Uint32Array)) continue;
    const tensor = device.create(
      value instanceof Uint32Array ? "u32" : "float",
      value.length,
      name,
    );
    device.write(tensor, value as HostArray);
    tensors.set(name, tensor);
    all[name] = tensor;
  }
  try {
    device.run(op, all as unknown as Ops[OpName]);
    const bits = [];
    for (const name of outputs) {
      bits.push(new Uint32Array((await device.read(tensors.get(name)!)).buffer));
    }
    return bits;
  } finally {
    for (const tensor of tensors.values()) device.free(tensor);
  }
}

/** The operation in words: its name, and the arguments that are no tensors. */
function describe({ op, args }: Check): string {
  const plain = Object.entries(args).filter(([, value]) => typeof value !== "object");
  return `${op} ${JSON.stringify(Object.fromEntries(plain))}`;
}

/**
 * The first operation that differs between two devices, in words; null when there is none.
 * @param computeDtype other than float32: looks at the products in this type only
 */
export async function findDifference(
  one: Device,
  other: Device,
  computeDtype: ComputeDtype = "float32",
): Promise<string | null> {
  one.computeDtype = other.computeDtype = computeDtype;
  for (const check of computeDtype === "float32" ? checks() : roundedChecks()) {
    const found = await outputs(one, check), expected = await outputs(other, check);
    const differs = found.some((bits, i) => bits.some((word, j) => word !== expected[i]![j]));
    if (differs) return describe(check);
  }
  return null;
}
