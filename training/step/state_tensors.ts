/**
 * Tensors of a checkpoint that are exact copies of tensors on the device: written and read in
 * parts, in the type in which the device holds them.
 */
import { RgxError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { HostArray, Tensor } from "../../kernels/tensor.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { SafetensorsFile } from "../../models/formats/safetensors/safetensors.ts";
import {
  PART_ELEMENTS,
  type StreamedTensor,
  tensorInParts,
} from "../../models/formats/tensor_stream.ts";

/** Elements of a checkpoint in an element of the device's tensor: u32 words hold several. */
const IN_ONE = { F32: 1, F64: 1, F16: 2, BF16: 2, U8: 4 } as const;
export type StateType = keyof typeof IN_ONE;

export interface StateTensor {
  name: string;
  dtype: StateType;
  shape: readonly number[];
  tensor: Tensor;
}

/** The storage type that holds the floats of a device exactly. */
export function floatType(device: Device): "F32" | "F64" {
  return device.float === "f64" ? "F64" : "F32";
}

function isFloat(dtype: string): boolean {
  return dtype === "F32" || dtype === "F64";
}

/** The tensor for a checkpoint, which is read from the device while it is written. */
export function streamedState(device: Device, state: StateTensor): StreamedTensor {
  const { name, dtype, shape, tensor } = state, each = IN_ONE[dtype];
  return tensorInParts({ name, dtype, shape }, async (from, count) => {
    const data: HostArray = await device.read(tensor, from / each, Math.ceil(count / each));
    if (isFloat(dtype)) return data;
    return new Uint8Array(data.buffer, data.byteOffset, count * 4 / each);
  });
}

/**
 * Restores a tensor from a checkpoint.
 * @param inside a larger tensor of the file that has the values from an element on
 * @throws RgxError when the file has none of this name, another shape or another type
 */
export async function restoreState(
  device: Device,
  file: SafetensorsFile,
  { name: ownName, dtype, shape, tensor }: StateTensor,
  inside: { name: string; from: number } | null = null,
): Promise<void> {
  const { name, from: begin } = inside ?? { name: ownName, from: 0 };
  const found = file.info(name), each = IN_ONE[dtype], total = elementCount(shape);
  const place = `${file.label}: "${name}"`;
  if (inside === null && found.shape.join() !== shape.join()) {
    throw new RgxError(`${place} has shape [${found.shape}], the model's tensor [${shape}]`, {
      advice: "The checkpoint belongs to a run with another model or LoRA rank.",
    });
  }
  if (found.dtype !== dtype && !(isFloat(found.dtype) && isFloat(dtype))) {
    throw new RgxError(`${place} is ${found.dtype}, this run holds it as ${dtype}`, {
      advice: "Resume with the training.optim, training.bf16_rounding and model.dtype of the run.",
    });
  }
  for (let from = 0; from < total; from += PART_ELEMENTS) {
    const count = Math.min(PART_ELEMENTS, total - from);
    device.write(tensor, await part(begin + from, count), from / each);
  }

  async function part(from: number, count: number): Promise<HostArray> {
    if (dtype === "F64") return await file.float64(name, from, count);
    if (dtype === "F32") return await file.float32(name, from, count);
    const words = new Uint32Array(Math.ceil(count / each));
    new Uint8Array(words.buffer).set(await file.bytes(name, from, count));
    return words;
  }
}
