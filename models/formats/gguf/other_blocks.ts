/**
 * Blocks of GGUF files that no product reads as they are: their values, in float32 with ggml's
 * bits. (Where an expression has two operations, the first is exact in double precision, and
 * storing rounds once.) Those that products read are in kernels/weights/blocks.ts.
 */
import { f16Value } from "../../../core/half_floats.ts";

interface OtherBlock {
  readonly id: number;
  readonly name: string;
  readonly weights: number;
  readonly bytes: number;
  /** Writes the values of the block at byte `at` to `out`, from `to` on. */
  widen(b: Uint8Array, at: number, out: Float32Array, to: number): void;
}

const { fround } = Math;
const half = (b: Uint8Array, at: number) => f16Value(b[at]! | b[at + 1]! << 8);

/** The values of 4-bit codes in IQ4_NL and IQ4_XS. */
const IQ4 = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/** 32 weights of 16 bytes, whose nibbles are the codes j and j + 16. */
function widenCodes(
  b: Uint8Array,
  at: number,
  scale: number,
  out: Float32Array,
  to: number,
): void {
  for (let j = 0; j < 16; j++) {
    out[to + j] = scale * IQ4[b[at + j]! & 15]!;
    out[to + 16 + j] = scale * IQ4[b[at + j]! >> 4]!;
  }
}

/** Of weight i in Q2_K and Q3_K: the byte of its two bits, and their shift in it. */
const twoBits = (i: number) => ({ byte: 32 * (i >> 7) + (i & 31), shift: 2 * (i >> 5 & 3) });

export const OTHER_BLOCKS: readonly OtherBlock[] = [
  {
    id: 7,
    name: "Q5_1",
    weights: 32,
    bytes: 24,
    widen(b, at, out, to) {
      const d = half(b, at), m = half(b, at + 2);
      for (let i = 0; i < 32; i++) {
        const low = b[at + 8 + (i & 15)]! >> (i < 16 ? 0 : 4) & 15;
        const high = b[at + 4 + (i >> 3)]! >> (i & 7) & 1;
        out[to + i] = d * (low | high << 4) + m;
      }
    },
  },
  {
    id: 10,
    name: "Q2_K",
    weights: 256,
    bytes: 84,
    widen(b, at, out, to) {
      const d = half(b, at + 80), min = half(b, at + 82);
      for (let i = 0; i < 256; i++) {
        const { byte, shift } = twoBits(i), scale = b[at + (i >> 4)]!;
        const code = b[at + 16 + byte]! >> shift & 3;
        out[to + i] = fround(d * (scale & 15)) * code - fround(min * (scale >> 4));
      }
    },
  },
  {
    id: 11,
    name: "Q3_K",
    weights: 256,
    bytes: 110,
    widen(b, at, out, to) {
      const d = half(b, at + 108), scales = at + 96;
      for (let i = 0; i < 256; i++) {
        const { byte, shift } = twoBits(i), j = i >> 4;
        const low = j < 8 ? b[scales + j]! & 15 : b[scales + j - 8]! >> 4;
        const scale = low | (b[scales + 8 + (j & 3)]! >> 2 * (j >> 2) & 3) << 4;
        const high = b[at + (i & 31)]! >> (i >> 5) & 1;
        const code = (b[at + 32 + byte]! >> shift & 3) - (high === 1 ? 0 : 4);
        out[to + i] = fround(d * (scale - 32)) * code;
      }
    },
  },
  {
    id: 13,
    name: "Q5_K",
    weights: 256,
    bytes: 176,
    widen(b, at, out, to) {
      const d = half(b, at), min = half(b, at + 2), s = at + 4;
      for (let i = 0; i < 256; i++) {
        const j = i >> 5, k = j - 4;
        const scale = j < 4 ? b[s + j]! & 63 : b[s + j + 4]! & 15 | b[s + k]! >> 6 << 4;
        const offset = j < 4 ? b[s + j + 4]! & 63 : b[s + j + 4]! >> 4 | b[s + j]! >> 6 << 4;
        const low = b[at + 48 + 32 * (i >> 6) + (i & 31)]! >> (j & 1 ? 4 : 0) & 15;
        const code = low | (b[at + 16 + (i & 31)]! >> j & 1) << 4;
        out[to + i] = fround(d * scale) * code - fround(min * offset);
      }
    },
  },
  {
    id: 20,
    name: "IQ4_NL",
    weights: 32,
    bytes: 18,
    widen: (b, at, out, to) => widenCodes(b, at + 2, half(b, at), out, to),
  },
  {
    id: 23,
    name: "IQ4_XS",
    weights: 256,
    bytes: 136,
    widen(b, at, out, to) {
      const d = half(b, at), high = b[at + 2]! | b[at + 3]! << 8;
      for (let j = 0; j < 8; j++) {
        const low = b[at + 4 + (j >> 1)]! >> (j & 1 ? 4 : 0) & 15;
        const scale = fround(d * ((low | (high >> 2 * j & 3) << 4) - 32));
        widenCodes(b, at + 8 + 16 * j, scale, out, to + 32 * j);
      }
    },
  },
];
