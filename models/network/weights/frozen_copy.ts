/**
 * Copies the values of trained parameters to those of a frozen model, in parts, exactly. Halves
 * take half the memory of floats; a weight that has changed since it was read from a file of halves
 * does not fit them, and stays float.
 */
import { narrowBF16, narrowF16, widenBF16, widenF16 } from "../../../core/half_floats.ts";
import type { Device } from "../../../kernels/device.ts";
import { elementCount } from "../../formats/element_count.ts";
import type { WeightStorage } from "../../formats/stored_weight.ts";
import type { Parameter } from "../types.ts";
import { toDevicePrecision } from "../workspace.ts";

/** How a frozen copy stores what is trained in full; adapters are float. */
export interface CopyOptions {
  /** Halves by tensor; a tensor whose values they do not hold exactly is float. */
  storage: WeightStorage;
  /** Operations may change the values, which are float then; default false. */
  writable?: boolean;
  /** The values are written later, in exactly these types; default false. */
  empty?: boolean;
}

/** Elements that are on the host at once; even. */
const PART = 2 ** 22;

type Half = "f16" | "bf16";
const narrow = { f16: narrowF16, bf16: narrowBF16 } as const;
const widen = { f16: widenF16, bf16: widenBF16 } as const;

/** Those of the wanted types (halves) that hold the present values exactly. */
export async function exactHalves(
  device: Device,
  parameters: readonly Parameter[],
  wanted: WeightStorage,
): Promise<WeightStorage> {
  const exact = new Map(wanted);
  for (const parameter of parameters) {
    const type = wanted.get(parameter.name) as Half | undefined;
    if (type === undefined || parameter.storage === type) continue;
    const fits = parameter.storage === null && await fitsHalf(device, parameter, type);
    if (!fits) exact.delete(parameter.name);
  }
  return exact;
}

async function fitsHalf(device: Device, { value, shape }: Parameter, type: Half): Promise<boolean> {
  const total = elementCount(shape);
  for (let from = 0; from < total; from += PART) {
    const values = await device.read(value, from, Math.min(PART, total - from));
    const rounded = widen[type](narrow[type](values));
    for (let i = 0; i < rounded.length; i++) if (rounded[i] !== values[i]) return false;
  }
  return true;
}

/** Copies the values of one parameter to another of the same shape, whose type holds them. */
export async function copyValues(device: Device, from: Parameter, to: Parameter): Promise<void> {
  const total = elementCount(from.shape);
  for (let begin = 0; begin < total; begin += PART) {
    const count = Math.min(PART, total - begin);
    const width = from.storage === null ? 1 : 2, at = begin / (to.storage === null ? 1 : 2);
    const data = await device.read(from.value, begin / width, count / width);
    if (from.storage === to.storage) device.write(to.value, data, at);
    else if (to.storage === null) {
      const halves = new Uint16Array(data.buffer, data.byteOffset, count);
      device.write(to.value, toDevicePrecision(device, widen[from.storage as Half](halves)), at);
    } else {
      const halves = narrow[to.storage as Half](data as Float32Array);
      device.write(to.value, new Uint32Array(halves.buffer), at);
    }
  }
}
