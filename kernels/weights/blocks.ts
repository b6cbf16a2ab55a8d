/**
 * Blocks of weights as rows of words (types.ts): converts the bytes of a GGUF file to them, and
 * them to values. The values have ggml's bits: they are computed in float32 in the same order.
 * (Where an expression has two operations, the first is exact in double precision, and storing
 * rounds once.)
 */
import { f16Of, f16Value } from "../../core/half_floats.ts";
import {
  blockOf,
  type BlockType,
  FP4_LEVELS,
  isBlockType,
  NF4_LEVELS,
  type WeightType,
} from "./types.ts";

export interface BlockCode {
  /** Bytes of a block in a GGUF file; 0 for a type that no file has. */
  readonly bytes: number;
  /** Byte offsets of its scales in the file's block. */
  readonly scales: readonly number[];
  /** No weight of a file's block is larger than its largest scale times this; 0: no file. */
  readonly largest: number;
  /** Makes the words of a row of a block from the file's bytes at `at`; `row` must be zeros. */
  pack(b: Uint8Array, at: number, row: Uint32Array): void;
  /** Writes the values of a row of a block to `out`, from `to` on. Only nf4 reads `scale`. */
  widen(row: Uint32Array, out: Float32Array, to: number, scale: number): void;
}

const { fround } = Math;
const word = (b: Uint8Array, at: number) =>
  b[at]! | b[at + 1]! << 8 | b[at + 2]! << 16 | b[at + 3]! << 24;
const halfAt = (b: Uint8Array, at: number) => b[at]! | b[at + 1]! << 8;
const low = (bits: number) => f16Value(bits & 0xffff);
const high = (bits: number) => f16Value(bits >>> 16);
const signed = (byte: number) => byte << 24 >> 24;
const nibble = (row: Uint32Array, e: number) => row[e >> 3]! >>> 4 * (e & 7) & 15;
const byteOf = (row: Uint32Array, first: number, e: number) =>
  row[first + (e >> 2)]! >>> 8 * (e & 3) & 255;

/** Moves four nibbles, the lower halves of the bytes of x, together. */
function squeezeNibbles(x: number): number {
  const pairs = x & 0x000f000f | (x & 0x0f000f00) >> 4;
  return pairs & 0xff | pairs >>> 8 & 0xff00;
}

/** The bits at which an element's high bits are in their word (types.ts). */
const fifthBit = (e: number) => (e & 6) << 2 | (e & 24) >> 2 | e & 1;
const highPair = (e: number) => (e & 6) << 2 | (e & 8) >> 1 | (e & 1) << 1;

/** Packs the nibbles at bit `shift` of `count` bytes into words from `to` on. */
function packNibbles(
  b: Uint8Array,
  at: number,
  count: number,
  shift: number,
  row: Uint32Array,
  to: number,
): void {
  for (let i = 0; i < count; i += 8, to++) {
    row[to] = squeezeNibbles(word(b, at + i) >>> shift & 0x0f0f0f0f) |
      squeezeNibbles(word(b, at + i + 4) >>> shift & 0x0f0f0f0f) << 16;
  }
}

/** Packs 16 bytes whose two nibbles are the elements j and j + 16. */
function packHalves(b: Uint8Array, at: number, row: Uint32Array): void {
  packNibbles(b, at, 16, 0, row, 0);
  packNibbles(b, at, 16, 4, row, 2);
}

const noFile = () => {
  throw new Error("no file holds this type");
};

export const BLOCK_CODES: Readonly<Record<BlockType, BlockCode>> = {
  q4_0: {
    bytes: 18,
    scales: [0],
    largest: 8,
    pack(b, at, row) {
      packHalves(b, at + 2, row);
      row[4] = halfAt(b, at);
    },
    widen(row, out, to) {
      const s = low(row[4]!);
      for (let e = 0; e < 32; e++) out[to + e] = (nibble(row, e) - 8) * s;
    },
  },

  q4_1: {
    bytes: 20,
    scales: [0, 2],
    largest: 16, // 15 s + m
    pack(b, at, row) {
      packHalves(b, at + 4, row);
      row[4] = word(b, at);
    },
    widen(row, out, to) {
      const s = low(row[4]!), m = high(row[4]!);
      for (let e = 0; e < 32; e++) out[to + e] = nibble(row, e) * s + m;
    },
  },

  q5_0: {
    bytes: 22,
    scales: [0],
    largest: 16,
    pack(b, at, row) {
      packHalves(b, at + 6, row);
      const high = word(b, at + 2);
      let bits = 0;
      for (let e = 0; e < 32; e++) bits |= (high >>> e & 1) << fifthBit(e);
      row[4] = bits;
      row[5] = halfAt(b, at);
    },
    widen(row, out, to) {
      const s = low(row[5]!);
      for (let e = 0; e < 32; e++) {
        out[to + e] = ((nibble(row, e) | (row[4]! >>> fifthBit(e) & 1) << 4) - 16) * s;
      }
    },
  },

  q8_0: {
    bytes: 34,
    scales: [0],
    largest: 128,
    pack(b, at, row) {
      for (let w = 0; w < 8; w++) row[w] = word(b, at + 2 + 4 * w);
      row[8] = halfAt(b, at);
    },
    widen(row, out, to) {
      const s = low(row[8]!);
      for (let e = 0; e < 32; e++) out[to + e] = signed(byteOf(row, 0, e)) * s;
    },
  },

  q4_k: {
    bytes: 144,
    scales: [0, 2],
    largest: 1008, // 63 · 15 s + 63 m
    pack(b, at, row) {
      for (let j = 0; j < 8; j++) {
        packNibbles(b, at + 16 + 32 * (j >> 1), 32, 4 * (j & 1), row, 4 * j);
        // Scales and minima have 6 bits. Four of each are the low bits of bytes; the others are put
        // together from further bytes and the high bits that those leave.
        const c = at + 4 + j;
        const a = j < 4 ? b[c]! & 63 : b[c + 4]! & 15 | b[c - 4]! >> 6 << 4;
        const m = j < 4 ? b[c + 4]! & 63 : b[c + 4]! >> 4 | b[c]! >> 6 << 4;
        row[32 + (j >> 1)]! |= (a | m << 8) << 16 * (j & 1);
      }
      row[36] = word(b, at);
    },
    widen(row, out, to) {
      const s = low(row[36]!), m = high(row[36]!);
      for (let j = 0; j < 8; j++) {
        const step = s * byteOf(row, 32, 2 * j), offset = m * byteOf(row, 32, 2 * j + 1);
        for (let e = 32 * j; e < 32 * (j + 1); e++) out[to + e] = step * nibble(row, e) - offset;
      }
    },
  },

  q6_k: {
    bytes: 210,
    scales: [208],
    largest: 4096,
    pack(b, at, row) {
      for (let g = 0; g < 8; g++) {
        const h = g >> 2, quarter = g & 3;
        const from = at + 64 * h + 32 * (quarter & 1), shift = quarter < 2 ? 0 : 4;
        packNibbles(b, from, 32, shift, row, 4 * g);
        for (let i = 0; i < 32; i += 16) {
          const pairs = at + 128 + 32 * h + i;
          let bits = 0;
          for (let e = 0; e < 16; e++) bits |= (b[pairs + e]! >>> 2 * quarter & 3) << highPair(e);
          row[32 + 2 * g + (i >> 4)] = bits;
        }
      }
      for (let w = 0; w < 4; w++) row[48 + w] = word(b, at + 192 + 4 * w);
      row[52] = halfAt(b, at + 208);
    },
    widen(row, out, to) {
      const s = low(row[52]!);
      for (let e = 0; e < 256; e++) {
        const q = nibble(row, e) | (row[32 + (e >> 4)]! >>> highPair(e & 15) & 3) << 4;
        out[to + e] = s * signed(byteOf(row, 48, e >> 4)) * (q - 32);
      }
    },
  },

  int8: {
    bytes: 0,
    scales: [],
    largest: 0,
    pack: noFile,
    widen(row, out, to) {
      float.bits[0] = row[16]!;
      const s = float.value[0]!;
      for (let e = 0; e < 64; e++) out[to + e] = signed(byteOf(row, 0, e)) * s;
    },
  },

  nf4: {
    bytes: 0,
    scales: [],
    largest: 0,
    pack: noFile,
    widen(row, out, to, scale) {
      for (let e = 0; e < 64; e++) out[to + e] = NF4_LEVELS[nibble(row, e)]! * scale;
    },
  },

  mxfp4: {
    bytes: 17,
    scales: [0],
    largest: 6,
    pack(b, at, row) {
      packHalves(b, at + 1, row);
      row[4] = b[at]!;
    },
    widen(row, out, to) {
      const s = 2 ** (row[4]! - 128);
      for (let e = 0; e < 32; e++) out[to + e] = FP4_LEVELS[nibble(row, e)]! * s;
    },
  },
};

/** How a scale of a file's block is written: bits in the order of its magnitude. */
export interface ScaleCode {
  bits(b: Uint8Array, at: number): number;
  /** The bits of a power of two. */
  of(power: number): number;
  value(b: Uint8Array, at: number): number;
}

const HALF: ScaleCode = {
  bits: (b, at) => halfAt(b, at) & 0x7fff,
  of: (power) => f16Of(power),
  value: (b, at) => f16Value(halfAt(b, at)),
};
const EXPONENT: ScaleCode = {
  bits: (b, at) => b[at]!,
  of: (power) => Math.log2(power) + 127,
  value: (b, at) => 2 ** (b[at]! - 127),
};

export function scaleCode(type: BlockType): ScaleCode {
  return type === "mxfp4" ? EXPONENT : HALF;
}

const bits = new Uint32Array(1);
const float = { bits, value: new Float32Array(bits.buffer) };

/**
 * The scale of an nf4 block, from its code and its group's step and offset (as bits of float32).
 */
export function nf4Scale(code: number, step: number, offset: number): number {
  bits[0] = step;
  const exact = float.value[0]! * code;
  bits[0] = offset;
  return fround(exact + float.value[0]!);
}

/** Bytes of `values` values (whole blocks) in a file; 0 for a type that no file has. */
export function fileBytes(type: WeightType | "f32", values: number): number {
  if (type === "f32") return 4 * values;
  return isBlockType(type) ? values / blockOf(type) * BLOCK_CODES[type].bytes : 2 * values;
}
