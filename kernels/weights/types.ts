/**
 * Storage types of frozen weights, and the layout of a weight [n, k] of each type in a u32 tensor.
 * The layout is the same on every device. Rows run along k ("in"). A block is a run of neighbours
 * in a row that share a scale.
 *
 * - f16 and bf16: row-major with two halves in a word; the element with the even index is the lower
 *   half. k is even.
 * - All others: panels of PANEL rows; the last panel is filled up with rows of zeros. A panel has
 *   one record for each block of k, in order. A row's part of a block is a string of bits:
 *   `fullWords` words, then `tailBits` more bits. In the record, word w of the panel's row r is at
 *   w·PANEL + r.
 *   After these come the tails, of 32/tailBits rows in each word: that of row r is in word
 *   r mod (PANEL·tailBits/32), lower rows in the lower bits. So 16 neighbouring words are the same
 *   word of 16 rows, and the rows can be processed side by side in the lanes of vectors.
 * - The bits of a row (low bits first, element e of the block before element e + 1; codes are
 *   unsigned unless noted):
 *     q4_0  32 × 4 bits q; tail s (f16)                           w = s·(q − 8)
 *     q4_1  32 × 4 bits q; s, m (f16 each)                        w = s·q + m
 *     q5_0  32 × 4 bits low; 32 bits high *; tail s (f16)         w = s·(low + 16·high − 16)
 *     q8_0  32 × 8 bits q, signed; tail s (f16)                   w = s·q
 *     q4_k  256 × 4 bits q; 8 × (8 bits a, 8 bits b), a pair for every 32 elements; s, m (f16 each)
 *                                                                 w = (s·a)·q − m·b
 *     q6_k  256 × 4 bits low; 16 words high *; 16 × 8 bits a, signed, one for every 16 elements;
 *           tail s (f16)                                          w = (s·a)·(low + 16·high − 32)
 *     int8  64 × 8 bits q, signed; s (f32)                        w = s·q
 *     nf4   64 × 4 bits i; tail c (8 bits)                        w = s·NF4_LEVELS[i],
 *                                                                 s = step·c + offset
 *     mxfp4 32 × 4 bits i; tail c (8 bits)                        w = 2^(c − 128)·FP4_LEVELS[i];
 *                                                                 devices may take c < 3 for 0
 *   * The high bits are placed so that one shift and one mask bring those of four even (or four
 *   odd) elements above the low bits at once. With e = 8·i + 2·j + o (o = 1 for odd e): q5_0 has
 *   the high bit of element e at bit 8·j + 2·i + o of its word; q6_k has the two high bits of
 *   element 16·t + e at bit 8·j + 4·i + 2·o of word t.
 *   Every bracket and every product is rounded to float32.
 *   After the records of a panel, an nf4 weight has four words for every 16 blocks of k and all
 *   rows of the panel: step (f32), offset (f32), two zeros. step·c is exact.
 *
 * The types that are named like ggml's have the values of a GGUF file, bit for bit. int8 and nf4
 * are made when a model is loaded (quantize.ts). All numbers in a weight are finite.
 */
import { RgxError } from "../../core/errors.ts";
import { PANEL } from "./panel.ts";

export const WEIGHT_TYPES = [
  "f16",
  "bf16",
  "q8_0",
  "q4_0",
  "q4_1",
  "q5_0",
  "q4_k",
  "q6_k",
  "int8",
  "nf4",
  "mxfp4",
] as const;
export type WeightType = typeof WEIGHT_TYPES[number];

/** Types that are stored in panels of blocks. */
export type BlockType = Exclude<WeightType, "f16" | "bf16">;

export interface BlockShape {
  /** Number of weights in a block. */
  readonly weights: number;
  /** Size of a row's part of a record. */
  readonly fullWords: number;
  readonly tailBits: 0 | 8 | 16;
}

export const BLOCK_SHAPES: Readonly<Record<BlockType, BlockShape>> = {
  q8_0: { weights: 32, fullWords: 8, tailBits: 16 },
  q4_0: { weights: 32, fullWords: 4, tailBits: 16 },
  q4_1: { weights: 32, fullWords: 5, tailBits: 0 },
  q5_0: { weights: 32, fullWords: 5, tailBits: 16 },
  q4_k: { weights: 256, fullWords: 37, tailBits: 0 },
  q6_k: { weights: 256, fullWords: 52, tailBits: 16 },
  int8: { weights: 64, fullWords: 17, tailBits: 0 },
  nf4: { weights: 64, fullWords: 8, tailBits: 8 },
  mxfp4: { weights: 32, fullWords: 4, tailBits: 8 },
};

/** Levels of nf4: the 16 levels of NormalFloat in units of 1/127, so that each is a byte. */
export const NF4_LEVELS: readonly number[] = [
  -127,
  -88,
  -67,
  -50,
  -36,
  -23,
  -12,
  0,
  10,
  20,
  31,
  43,
  56,
  71,
  92,
  127,
];

/** Levels of mxfp4: twice the numbers of e2m1, whose highest bit is the sign. */
export const FP4_LEVELS: readonly number[] = [
  0,
  1,
  2,
  3,
  4,
  6,
  8,
  12,
  0,
  -1,
  -2,
  -3,
  -4,
  -6,
  -8,
  -12,
];

/**
 * In an nf4 weight: number of blocks whose scales share step and offset, and words that these take.
 */
export const NF4_GROUP = 16;
export const NF4_GROUP_WORDS = 4;

export function isWeightType(name: unknown): name is WeightType {
  return (WEIGHT_TYPES as readonly unknown[]).includes(name);
}

export function isBlockType(type: WeightType | "f32"): type is BlockType {
  return type !== "f32" && type !== "f16" && type !== "bf16";
}

/** Number of weights in a block of this type; k must be a multiple of it. */
export function blockOf(type: WeightType): number {
  return isBlockType(type) ? BLOCK_SHAPES[type].weights : 2;
}

/** Number of words of a record: a block of PANEL rows. */
export function recordWords(type: BlockType): number {
  const { fullWords, tailBits } = BLOCK_SHAPES[type];
  return PANEL * (fullWords + tailBits / 32);
}

/** Number of words of a panel of a weight with rows of k elements. */
export function panelWords(type: BlockType, k: number): number {
  const blocks = k / BLOCK_SHAPES[type].weights;
  const groups = type === "nf4" ? Math.ceil(blocks / NF4_GROUP) : 0;
  return blocks * recordWords(type) + groups * NF4_GROUP_WORDS;
}

/**
 * Number of words of the u32 tensor that holds a weight [n, k].
 * @throws RgxError when k is no multiple of {@link blockOf}
 */
export function storedWords(type: WeightType, n: number, k: number): number {
  const block = blockOf(type);
  if (k % block !== 0) {
    throw new RgxError(
      `a weight [${n}, ${k}] cannot be held as ${type}: its rows are no multiple of ${block} long`,
    );
  }
  return isBlockType(type) ? Math.ceil(n / PANEL) * panelWords(type, k) : n * k / 2;
}
