/**
 * Encodes weights in the types that rgx writes: floats, and ggml's blocks
 * (kernels/weights/quantize.ts, quantize_k.ts). Long tensors are encoded in pieces.
 */
import { narrowBF16, narrowF16 } from "../../core/half_floats.ts";
import { quantizeQ4, quantizeQ8 } from "../../kernels/weights/quantize.ts";
import { quantizeQ4K, quantizeQ6K } from "../../kernels/weights/quantize_k.ts";
import { ofTensor, refuseBeyondF16, refuseInfinite } from "../../kernels/weights/finite.ts";
import type { WeightType } from "./weight_types.ts";

interface Encoding {
  readonly id: number;
  readonly weights: number;
  readonly bytes: number;
  encode(values: Float32Array, importance?: Float32Array): Uint8Array;
}

const view = (data: ArrayBufferView) =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

export const ENCODINGS: Readonly<Record<WeightType, Encoding>> = {
  f32: { id: 0, weights: 1, bytes: 4, encode: view },
  f16: { id: 1, weights: 1, bytes: 2, encode: (values) => view(narrowF16(values)) },
  bf16: { id: 30, weights: 1, bytes: 2, encode: (values) => view(narrowBF16(values)) },
  q8_0: { id: 8, weights: 32, bytes: 34, encode: quantizeQ8 },
  q4_0: { id: 2, weights: 32, bytes: 18, encode: quantizeQ4 },
  q6_k: { id: 14, weights: 256, bytes: 210, encode: quantizeQ6K },
  q4_k_m: { id: 12, weights: 256, bytes: 144, encode: quantizeQ4K },
};

/** Float types: their names in safetensors and in a config.json. */
export const FLOAT_TYPES = {
  f32: { dtype: "F32", name: "float32" },
  f16: { dtype: "F16", name: "float16" },
  bf16: { dtype: "BF16", name: "bfloat16" },
} as const;
export type FloatType = keyof typeof FLOAT_TYPES;

export function encodedBytes(type: WeightType, count: number): number {
  const { weights, bytes } = ENCODINGS[type];
  return count / weights * bytes;
}

/** Number of weights that are encoded at a time, a multiple of every block length. */
const PIECE = 2 ** 20;

/**
 * The bytes of a tensor, piece by piece. Rows must be whole blocks.
 * @param importance of each column, for the blocks that heed it; absent = of large weights
 * @throws RgxError for a value that is not finite, or not representable in this type
 */
export function* encodePieces(
  type: WeightType,
  { name, shape }: { name: string; shape: readonly number[] },
  values: Float32Array | Float64Array,
  importance?: Float32Array,
): Generator<Uint8Array> {
  const { encode } = ENCODINGS[type];
  ofTensor(name, () => {
    refuseInfinite(values, shape);
    if (type === "f16") refuseBeyondF16(values, shape);
  });
  for (let at = 0; at < values.length; at += PIECE) {
    const piece = values.subarray(at, at + PIECE);
    const each = importance &&
      new Float32Array(piece.length).map((_, i) => importance[(at + i) % importance.length]!);
    yield encode(piece instanceof Float32Array ? piece : Float32Array.from(piece), each);
  }
}
