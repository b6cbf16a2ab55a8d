/**
 * What the optimizer keeps of a trained parameter: AdamW's moments. With 8 bits, as in bitsandbytes
 * and transformers, embeddings and tensors of less than 4,096 values have float moments. Tensors of
 * a checkpoint are exact copies of those on the device: written and read in parts, in the type in
 * which the device holds them.
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
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { BLOCK } from "../../kernels/ops/adamw_8bit/spec.ts";

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
  parts?: readonly Slice[] | undefined;
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

/** How a run keeps what it trains. */
export interface OptimizerKind {
  /** Type of AdamW's two moments: float32, or 8 bits in blocks of 256 values. */
  moments: "float" | "8bit";
  /** How trained weights in bfloat16 are rounded. */
  rounding: "stochastic" | "kahan";
}

export function optimizerKind({ optim, bf16_rounding }: RunConfig["training"]): OptimizerKind {
  return {
    moments: optim === "adamw_8bit" ? "8bit" : "float",
    rounding: bf16_rounding ?? "stochastic",
  };
}

/** Smaller tensors have float moments (`min_8bit_size` of bitsandbytes). */
const MIN_8BIT = 4096;

/** Elements of a bfloat16 weight that a step widens at once: a multiple of 64 blocks of maxima. */
export const CHUNK = 2 ** 22;

interface About {
  name: string;
  shape: readonly number[];
  embedding?: boolean;
}

export function has8bitMoments({ shape, embedding }: About, { moments }: OptimizerKind): boolean {
  return moments === "8bit" && embedding !== true && elementCount(shape) >= MIN_8BIT;
}

/** The moments of `n` elements, in one of two ways. */
export type Moments =
  | { m: Tensor; v: Tensor; mMax: null; vMax: null }
  | { m: Tensor; v: Tensor; mMax: Tensor; vMax: Tensor };

/** Moments of their own for a parameter, or for `n` elements of it. */
export function createMoments(
  device: Device,
  about: About,
  kind: OptimizerKind,
  n: number,
): Moments {
  const create = (dtype: "float" | "u32", length: number, what: string) =>
    device.create(dtype, length, `optimizer.${what} of ${about.name}`);
  if (!has8bitMoments(about, kind)) {
    return { m: create("float", n, "m"), v: create("float", n, "v"), mMax: null, vMax: null };
  }
  const words = Math.ceil(n / 4), blocks = Math.ceil(n / BLOCK);
  return {
    m: create("u32", words, "m"),
    v: create("u32", words, "v"),
    mMax: create("float", blocks, "maxima of m"),
    vMax: create("float", blocks, "maxima of v"),
  };
}

/**
 * The tensors of a parameter's moments in a checkpoint.
 * @param moments those of this rank's part; null if it has none
 * @param parts the elements of each rank, where they are divided over ranks
 */
export function momentTensors(
  device: Device,
  about: About,
  kind: OptimizerKind,
  moments: Moments | null,
  parts?: readonly Slice[],
): StateTensor[] {
  const { name, shape } = about, float = floatType(device);
  const tensor = (key: keyof Moments) => moments?.[key] ?? null;
  const is8bit = has8bitMoments(about, kind), dtype = is8bit ? "U8" : float;
  const both = ["m", "v"] as const;
  const whole = both.map((key): StateTensor => {
    return { name: `${key}.${name}`, dtype, shape, tensor: tensor(key), parts };
  });
  if (!is8bit) return whole;
  const blocks = (n: number) => Math.ceil(n / BLOCK), count = [blocks(elementCount(shape))];
  const maxima = both.map((key): StateTensor => ({
    name: `${key}.absmax.${name}`,
    dtype: float,
    shape: count,
    tensor: tensor(`${key}Max`),
    parts: parts?.map(([begin, end]): Slice => [blocks(begin), blocks(end)]),
  }));
  return [...whole, ...maxima];
}

/** Bytes that the optimizer keeps for an element of a parameter. */
export function stateBytes(about: About, kind: OptimizerKind, isHalf: boolean): number {
  const moments = has8bitMoments(about, kind) ? 2 + 8 / BLOCK : 8;
  return moments + (isHalf && kind.rounding === "kahan" ? 2 : 0);
}
