/**
 * Weights in the types that rgx writes: floats, and ggml's blocks of 32 weights with one scale. The scale is
 * used in float32 and stored as a half; every step rounds to float32 where ggml does, which gives ggml's bytes
 * (its `quantize_row_*_ref`). Long tensors are encoded in pieces. Left out: types that need a search (Q4_K …).
 */
import type { WeightType } from "./export_types.ts";
import { narrowBF16, narrowF16 } from "./half_floats.ts";

interface Encoding {
  /** ggml's number. */
  readonly id: number;
  /** Weights in a block, and its bytes. */
  readonly weights: number;
  readonly bytes: number;
  /** `values` are whole blocks. */
  encode(values: Float32Array): Uint8Array;
}

const view = (data: ArrayBufferView) =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

export const ENCODINGS: Readonly<Record<WeightType, Encoding>> = {
  f32: { id: 0, weights: 1, bytes: 4, encode: view },
  f16: { id: 1, weights: 1, bytes: 2, encode: (values) => view(narrowF16(values)) },
  bf16: { id: 30, weights: 1, bytes: 2, encode: (values) => view(narrowBF16(values)) },
  q8_0: { id: 8, weights: 32, bytes: 34, encode: quantiseQ8 },
  q4_0: { id: 2, weights: 32, bytes: 18, encode: quantiseQ4 },
};

/** Bytes of a tensor of `count` weights. */
export function encodedBytes(type: WeightType, count: number): number {
  const { weights, bytes } = ENCODINGS[type];
  return count / weights * bytes;
}

/** Weights that are encoded at once: a multiple of every block. */
const PIECE = 2 ** 20;

/** The bytes of a tensor, piece by piece. Rows must be whole blocks. */
export function* encodePieces(
  type: WeightType,
  values: Float32Array | Float64Array,
): Generator<Uint8Array> {
  const { encode } = ENCODINGS[type];
  for (let at = 0; at < values.length; at += PIECE) {
    const piece = values.subarray(at, at + PIECE);
    yield encode(piece instanceof Float32Array ? piece : Float32Array.from(piece));
  }
}

const { fround } = Math;

/** d = max|x|/127; q = x·(1/d), rounded half away from zero. */
function quantiseQ8(values: Float32Array): Uint8Array {
  const blocks = values.length / 32, out = new Uint8Array(blocks * 34);
  for (let block = 0; block < blocks; block++) {
    const from = block * 32, to = block * 34;
    let largest = 0;
    for (let j = 0; j < 32; j++) largest = Math.max(largest, Math.abs(values[from + j]!));
    const d = fround(largest / 127), inverse = d === 0 ? 0 : fround(1 / d);
    putHalf(out, to, d);
    for (let j = 0; j < 32; j++) {
      const x = fround(values[from + j]! * inverse);
      // 0.5 is added exactly, in double precision.
      out[to + 2 + j] = x < 0 ? -Math.floor(0.5 - x) : Math.floor(x + 0.5);
    }
  }
  return out;
}

/** d = (the weight furthest from 0)/−8, so that it is met exactly; q = ⌊x·(1/d) + 8.5⌋, at most 15. */
function quantiseQ4(values: Float32Array): Uint8Array {
  const blocks = values.length / 32, out = new Uint8Array(blocks * 18);
  for (let block = 0; block < blocks; block++) {
    const from = block * 32, to = block * 18;
    let furthest = 0;
    for (let j = 0; j < 32; j++) {
      const x = values[from + j]!;
      if (Math.abs(x) > Math.abs(furthest)) furthest = x;
    }
    const d = fround(furthest / -8), inverse = d === 0 ? 0 : fround(1 / d);
    putHalf(out, to, d);
    const level = (i: number) =>
      Math.min(15, Math.trunc(fround(fround(values[i]! * inverse) + 8.5)));
    for (let j = 0; j < 16; j++) {
      out[to + 2 + j] = level(from + j) | level(from + j + 16) << 4;
    }
  }
  return out;
}

function putHalf(out: Uint8Array, at: number, value: number): void {
  const bits = narrowF16([value])[0]!;
  out[at] = bits & 255;
  out[at + 1] = bits >> 8;
}
