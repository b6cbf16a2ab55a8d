/**
 * AdamW's moments, and what else the optimizer keeps of a trained parameter. With 8-bit moments, as
 * in bitsandbytes and transformers, embeddings and tensors of less than 4,096 values have float
 * moments.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { Device } from "../../kernels/device.ts";
import { BLOCK } from "../../kernels/ops/adamw_8bit/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { Slice } from "../../cluster/ranks/vector_sum.ts";
import { floatType, type StateTensor } from "./state_tensors.ts";

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
  const divided = parts === undefined ? {} : { parts };
  if (!has8bitMoments(about, kind)) {
    return (["m", "v"] as const).map((key) => ({
      name: `${key}.${name}`,
      dtype: float,
      shape,
      tensor: tensor(key),
      ...divided,
    }));
  }
  const blocks = (n: number) => Math.ceil(n / BLOCK), count = [blocks(elementCount(shape))];
  const dividedBlocks = parts === undefined ? {} : {
    parts: parts.map(([begin, end]): Slice => [blocks(begin), blocks(end)]),
  };
  return [
    ...(["m", "v"] as const).map((key) => ({
      name: `${key}.${name}`,
      dtype: "U8" as const,
      shape,
      tensor: tensor(key),
      ...divided,
    })),
    ...(["m", "v"] as const).map((key) => ({
      name: `${key}.absmax.${name}`,
      dtype: float,
      shape: count,
      tensor: tensor(`${key}Max`),
      ...dividedBlocks,
    })),
  ];
}

/** Bytes that the optimizer keeps for an element of a parameter. */
export function stateBytes(about: About, kind: OptimizerKind, isHalf: boolean): number {
  const moments = has8bitMoments(about, kind) ? 2 + 8 / BLOCK : 8;
  return moments + (isHalf && kind.rounding === "kahan" ? 2 : 0);
}
