/**
 * The element types of GGUF files: how many weights a block holds, in how many bytes, and how a block's
 * weights are computed. Layouts and the order of operations as ggml has them: products in float32 in
 * this order give ggml's bits. (Within a block the products are exact in double precision, and storing
 * rounds once.) Left out: making blocks, and the types of REFUSED, which are known by name only.
 */
import { f16Value, widenBF16, widenF16 } from "./half_floats.ts";

export interface GgmlType {
  readonly name: string;
  /** Weights in a block. */
  readonly weights: number;
  /** Bytes of a block. */
  readonly bytes: number;
  /** Widens whole blocks; `out` has exactly their weights. */
  widen(blocks: Uint8Array<ArrayBuffer>, out: Float32Array): void;
}

/** Types that are read, by ggml's number. */
export const GGML_TYPES: ReadonlyMap<number, GgmlType> = new Map([
  [0, {
    ...{ name: "F32", weights: 1, bytes: 4 },
    widen: (b, out) => out.set(new Float32Array(b.buffer, b.byteOffset, out.length)),
  }],
  [1, {
    ...{ name: "F16", weights: 1, bytes: 2 },
    widen: (b, out) => out.set(widenF16(new Uint16Array(b.buffer, b.byteOffset, out.length))),
  }],
  [2, blockType("Q4_0", 32, 18, q4_0)],
  [3, blockType("Q4_1", 32, 20, q4_1)],
  [6, blockType("Q5_0", 32, 22, q5_0)],
  [8, blockType("Q8_0", 32, 34, q8_0)],
  [12, blockType("Q4_K", 256, 144, q4_k)],
  [14, blockType("Q6_K", 256, 210, q6_k)],
  [30, {
    ...{ name: "BF16", weights: 1, bytes: 2 },
    widen: (b, out) => out.set(widenBF16(new Uint16Array(b.buffer, b.byteOffset, out.length))),
  }],
]);

/** Names of the types that are not read, for messages. */
const REFUSED: Readonly<Record<number, string>> = {
  ...{ 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 13: "Q5_K", 15: "Q8_K", 16: "IQ2_XXS" },
  ...{ 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S" },
  ...{ 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M" },
  ...{ 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4" },
};

export function ggmlTypeName(id: number): string {
  return GGML_TYPES.get(id)?.name ?? REFUSED[id] ?? `number ${id}`;
}

/** `at`: first byte of the block; `to`: first of its weights. */
type BlockReader = (b: Uint8Array, at: number, out: Float32Array, to: number) => void;

function blockType(name: string, weights: number, bytes: number, read: BlockReader): GgmlType {
  return {
    ...{ name, weights, bytes },
    widen(blocks, out) {
      const count = out.length / weights;
      for (let i = 0; i < count; i++) read(blocks, i * bytes, out, i * weights);
    },
  };
}

const half = (b: Uint8Array, at: number) => f16Value(b[at]! | b[at + 1]! << 8);
const signed = (byte: number) => byte << 24 >> 24;

function q4_0(b: Uint8Array, at: number, out: Float32Array, to: number): void {
  const d = half(b, at);
  for (let j = 0; j < 16; j++) {
    const q = b[at + 2 + j]!;
    out[to + j] = ((q & 15) - 8) * d;
    out[to + j + 16] = ((q >> 4) - 8) * d;
  }
}

function q4_1(b: Uint8Array, at: number, out: Float32Array, to: number): void {
  const d = half(b, at), m = half(b, at + 2);
  for (let j = 0; j < 16; j++) {
    const q = b[at + 4 + j]!;
    out[to + j] = (q & 15) * d + m;
    out[to + j + 16] = (q >> 4) * d + m;
  }
}

/** The fifth bits of weights 0…31 are bits 0…31 of the u32 after the scale. */
function q5_0(b: Uint8Array, at: number, out: Float32Array, to: number): void {
  const d = half(b, at);
  for (let j = 0; j < 16; j++) {
    const q = b[at + 6 + j]!;
    const low = (b[at + 2 + (j >> 3)]! >> (j & 7)) & 1;
    const high = (b[at + 4 + (j >> 3)]! >> (j & 7)) & 1;
    out[to + j] = ((q & 15 | low << 4) - 16) * d;
    out[to + j + 16] = ((q >> 4 | high << 4) - 16) * d;
  }
}

function q8_0(b: Uint8Array, at: number, out: Float32Array, to: number): void {
  const d = half(b, at);
  for (let j = 0; j < 32; j++) out[to + j] = signed(b[at + 2 + j]!) * d;
}

/** Eight sub-blocks of 32 weights, each with a scale and a minimum of 6 bits, packed in 12 bytes. */
function q4_k(b: Uint8Array, at: number, out: Float32Array, to: number): void {
  const d = half(b, at), dmin = half(b, at + 2);
  const s = at + 4, q = at + 16;
  for (let j = 0; j < 8; j++) {
    const scale = j < 4 ? b[s + j]! & 63 : b[s + j + 4]! & 15 | b[s + j - 4]! >> 6 << 4;
    const min = j < 4 ? b[s + j + 4]! & 63 : b[s + j + 4]! >> 4 | b[s + j]! >> 6 << 4;
    const step = d * scale, offset = dmin * min;
    const nibbles = q + 32 * (j >> 1), shift = (j & 1) * 4;
    for (let l = 0; l < 32; l++) {
      out[to + 32 * j + l] = step * (b[nibbles + l]! >> shift & 15) - offset;
    }
  }
}

/** Sixteen sub-blocks of 16 weights with a signed 8-bit scale each; 4 low and 2 high bits apart. */
function q6_k(b: Uint8Array, at: number, out: Float32Array, to: number): void {
  const scales = at + 192, d = half(b, at + 208);
  for (let i = 0; i < 256; i++) {
    const h = i >> 7, g = i >> 5 & 3, l = i & 31;
    const low = b[at + 64 * h + 32 * (g & 1) + l]! >> (g < 2 ? 0 : 4) & 15;
    const high = b[at + 128 + 32 * h + l]! >> 2 * g & 3;
    out[to + i] = d * signed(b[scales + (i >> 4)]!) * ((low | high << 4) - 32);
  }
}
