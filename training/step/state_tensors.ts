/**
 * Tensors of a checkpoint that are exact copies of tensors on the device: written and read in
 * parts, in the type in which the device holds them.
 */
import { RgxError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { HostArray, Tensor } from "../../kernels/tensor.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import { consecutive } from "../../cluster/ranks/transport.ts";
import type { Slice } from "../../cluster/ranks/vector_sum.ts";
import type { SafetensorsFile } from "../../models/formats/safetensors/safetensors.ts";
import {
  PART_ELEMENTS,
  type StreamedTensor,
  tensorInParts,
} from "../../models/formats/tensor_stream.ts";

/** Elements of a checkpoint in an element of the device's tensor: u32 words hold several. */
const IN_ONE = { F32: 1, F64: 1, F16: 2, BF16: 2, U8: 4 } as const;
const BYTES = { F32: 4, F64: 8, F16: 2, BF16: 2, U8: 1 } as const;
export type StateType = keyof typeof IN_ONE;

export interface StateTensor {
  name: string;
  dtype: StateType;
  shape: readonly number[];
  /** Null: this rank has no part of it. */
  tensor: Tensor | null;
  /** The elements that each rank has, where they are divided over ranks. */
  parts?: readonly Slice[];
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
  const { name, dtype, shape } = state;
  return tensorInParts({ name, dtype, shape }, async (from, count) => {
    const bytes = await readState(device, state, from, count);
    return dataOf(dtype, bytes);
  });
}

/** Elements of this rank's tensor; `from` counts from the first one that it has. */
async function readState(
  device: Device,
  { dtype, tensor }: StateTensor,
  from: number,
  count: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const each = IN_ONE[dtype];
  const data: HostArray = await device.read(tensor!, from / each, Math.ceil(count / each));
  return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, count * BYTES[dtype]);
}

function dataOf(dtype: StateType, { buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>) {
  if (dtype === "F32") return new Float32Array(buffer, byteOffset, byteLength / 4);
  if (dtype === "F64") return new Float64Array(buffer, byteOffset, byteLength / 8);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * The state of a tensor that is divided over ranks. All ranks make the bytes of the same tensors in
 * the same order. The first rank gets the values of all parts, the others only their part.
 */
export function gatheredState(
  device: Device,
  ranks: Ranks,
  state: StateTensor & { parts: readonly Slice[] },
): StreamedTensor {
  const { name, dtype, shape, parts } = state, each = BYTES[dtype];
  return tensorInParts({ name, dtype, shape }, async (from, count) => {
    const bytes = new Uint8Array(count * each);
    const inside = parts.map(([begin, end]): Slice => {
      const first = Math.max(begin, from);
      return [first, Math.max(first, Math.min(end, from + count))];
    });
    const [first, last] = inside[ranks.rank]!, [begin] = parts[ranks.rank]!;
    const own = first < last
      ? await readState(device, state, first - begin, last - first)
      : new Uint8Array(0);
    bytes.set(own, first < last ? (first - from) * each : 0);
    if (inside.some(([first, last], rank) => rank > 0 && first < last)) {
      const { isFirst } = ranks;
      // A large checkpoint takes long, and no operation of the device runs meanwhile.
      ranks.progress.beat();
      await ranks.exchange(
        consecutive(inside.map((_, to) => to === 0 && !isFirst ? own.length : 0), own),
        {
          bytes,
          starts: inside.map(([first, last]) => first < last ? (first - from) * each : 0),
          lengths: inside.map(([first, last], rank) =>
            isFirst && rank > 0 ? (last - first) * each : 0
          ),
        },
      );
    }
    return dataOf(dtype, bytes);
  });
}

/**
 * Restores a tensor from a checkpoint.
 * @param inside a larger tensor of the file that has the values from an element on
 * @param part the elements that `tensor` has; default: all
 * @throws RgxError when the file has none of this name, another shape or another type
 */
export async function restoreState(
  device: Device,
  file: SafetensorsFile,
  { name: ownName, dtype, shape, tensor }: StateTensor,
  inside: { name: string; from: number } | null = null,
  part: Slice = [0, elementCount(shape)],
): Promise<void> {
  const { name, from: begin } = inside ?? { name: ownName, from: 0 };
  const found = file.info(name), each = IN_ONE[dtype], total = part[1] - part[0];
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
    device.write(tensor!, await values(begin + part[0] + from, count), from / each);
  }

  async function values(from: number, count: number): Promise<HostArray> {
    if (dtype === "F64") return await file.float64(name, from, count);
    if (dtype === "F32") return await file.float32(name, from, count);
    const words = new Uint32Array(Math.ceil(count / each));
    new Uint8Array(words.buffer).set(await file.bytes(name, from, count));
    return words;
  }
}
