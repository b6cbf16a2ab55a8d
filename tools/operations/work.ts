/**
 * The work of an operation: floating point operations of its products (a fused multiply-add counts
 * as 2), and the bytes that it must at least read and write, each once. Elementwise work and
 * softmax do not count as arithmetic.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import { bytesOf, flopsOf } from "../../kernels/devices/profile.ts";
import { SEGMENT } from "../../kernels/ops/attention/spec.ts";
import { BRANCH } from "../../kernels/ops/attention_decode/spec.ts";
import type { OpName, Ops } from "../../kernels/ops/ops.ts";
import { storedWords, type WeightType } from "../../kernels/weights/types.ts";

export interface Work {
  flops: number;
  bytes: number;
}

/** Reads a table of an operation's arguments. */
export type ReadTable = (tensor: Tensor) => Uint32Array;

/** Keys that the rows of all segments attend to, without a window. */
export function attendedKeys(
  segments: Uint32Array,
  count: number,
  keys: Uint32Array | null = null,
): number {
  let sum = 0;
  for (let s = 0; s < count; s++) {
    const at = (column: number) => segments[s * SEGMENT.columns + column]!;
    const rows = at(SEGMENT.end) - at(SEGMENT.begin);
    const prefix = at(SEGMENT.prefixEnd) - at(SEGMENT.prefixBegin);
    const own = keys === null ? rows : keys[2 * s + 1]! - keys[2 * s]!;
    // The last row attends to all of its segment's keys, each row before it to one less.
    sum += rows * (prefix + own) - rows * (rows - 1) / 2;
  }
  return sum;
}

/** Number of keys that the queries of a decode step attend to, and of those that are read. */
export function decodedKeys(branches: Uint32Array, count: number): { all: number; read: number } {
  const prefixes = new Map<number, number>();
  let all = 0, read = 0;
  for (let b = 0; b < count; b++) {
    const at = (column: number) => branches[b * BRANCH.columns + column]!;
    const prefix = at(BRANCH.prefixEnd) - at(BRANCH.prefixBegin);
    all += prefix + at(BRANCH.length);
    read += at(BRANCH.length);
    prefixes.set(at(BRANCH.prefixBegin), prefix);
  }
  // Branches of one prompt share its keys.
  for (const prefix of prefixes.values()) read += prefix;
  return { all, read };
}

function weightBytes(type: WeightType | undefined, n: number, k: number): number {
  return 4 * (type === undefined ? n * k : storedWords(type, n, k));
}

/** A number for each operation that training and decoding of a Llama consist of. */
const WORK: { [K in OpName]?: (args: Ops[K], read: ReadTable) => Work } = {
  matmul: (args) => {
    const { m, n, k, r = 0, weightType, transB = false, accumulate = false } = args;
    const weight = transB ? weightBytes(weightType, n, k) : weightBytes(weightType, k, n);
    return {
      flops: flopsOf("matmul", args),
      bytes: 4 * (m * (k + r) + n * r + m * n * (accumulate ? 2 : 1)) + weight,
    };
  },
  head: (args) => {
    const { rows, vocab, d, mean, weightType } = args;
    return {
      flops: flopsOf("head", args),
      bytes: weightBytes(weightType, vocab, d) + 4 * rows * d * (mean === undefined ? 1 : 2),
    };
  },
  head_backward: (args) => {
    const { rows, vocab, d, mean, weightType, dweight } = args;
    const weight = mean === undefined ? weightBytes(weightType, vocab, d) : 0;
    const gradient = dweight === undefined ? 0 : 8 * vocab * d;
    return { flops: flopsOf("head_backward", args), bytes: weight + gradient + 8 * rows * d };
  },
  attention: (args, read) => {
    const { rows, heads, kvHeads, headDim, segments, segmentCount, keys } = args;
    const all = attendedKeys(read(segments), segmentCount, keys ? read(keys) : null);
    return {
      flops: 4 * heads * headDim * all,
      bytes: 8 * rows * (heads + kvHeads) * headDim,
    };
  },
  attention_backward: ({ rows, heads, kvHeads, headDim, segments, segmentCount }, read) => ({
    flops: 10 * heads * headDim * attendedKeys(read(segments), segmentCount),
    bytes: 16 * rows * (heads + kvHeads) * headDim,
  }),
  attention_decode: ({ count, heads, kvHeads, headDim, branches }, read) => {
    const keys = decodedKeys(read(branches), count);
    return {
      flops: 4 * heads * headDim * keys.all,
      bytes: 8 * (kvHeads * keys.read + heads * count) * headDim,
    };
  },
  decode_layer: ({ count, d, f, heads, kvHeads, headDim, branches, keptRow }, read) => {
    const keys = decodedKeys(read(branches), count), q = heads * headDim, kv = kvHeads * headDim;
    const weights = d * (2 * q + 2 * kv + 3 * f);
    const kept = keptRow === undefined ? 0 : 2 * d + q + 2 * kv + 2 * f;
    return {
      flops: 2 * count * weights + 4 * q * keys.all,
      bytes: 4 * weights + 8 * (count * d + kv * keys.read) + 4 * count * kept,
    };
  },
  rmsnorm: ({ rows, d, add }) => ({ flops: 0, bytes: 4 * rows * d * (add === undefined ? 2 : 4) }),
  rmsnorm_backward: ({ rows, d, accumulate = false }) => ({
    flops: 0,
    bytes: 4 * rows * d * (accumulate ? 4 : 3),
  }),
  swiglu: ({ n }) => ({ flops: 0, bytes: 12 * n }),
  swiglu_backward: ({ n, activated }) => ({ flops: 0, bytes: activated ? 24 * n : 20 * n }),
  rope: ({ rows, heads, headDim }) => ({ flops: 0, bytes: 8 * rows * heads * headDim }),
  gather_rows: ({ rows, d }) => ({ flops: 0, bytes: 8 * rows * d }),
  scatter_rows: ({ rows, d }) => ({ flops: 0, bytes: 8 * rows * d }),
  sample: ({ rows, vocab }) => ({ flops: 0, bytes: 4 * rows * vocab }),
  pack_weight: ({ n, k }) => ({ flops: 0, bytes: 8 * n * k }),
};

export function workOf<K extends OpName>(op: K, args: Ops[K], read: ReadTable): Work {
  const known = WORK[op] as ((args: Ops[K], read: ReadTable) => Work) | undefined;
  return known?.(args, read) ?? { flops: flopsOf(op, args), bytes: bytesOf(args) };
}
