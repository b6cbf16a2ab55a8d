/**
 * The element types of GGUF files: the weights and bytes of a block, and its values, with the same
 * bits as ggml (kernels/weights/blocks.ts, other_blocks.ts). Left out: making blocks, and the
 * types in REFUSED, of which only the name is known.
 */
import { widenBF16, widenF16 } from "../../../core/half_floats.ts";
import { BLOCK_CODES } from "../../../kernels/weights/blocks.ts";
import { OTHER_BLOCKS } from "./other_blocks.ts";
import { rowBuffer } from "../../../kernels/weights/layout.ts";
import { BLOCK_SHAPES, type BlockType } from "../../../kernels/weights/types.ts";

export interface GgmlType {
  readonly name: string;
  readonly weights: number;
  readonly bytes: number;
  /** Widens whole blocks to float32; `out` has exactly their number of weights. */
  widen(blocks: Uint8Array<ArrayBuffer>, out: Float32Array): void;
}

/** Types that rgx reads, by ggml's number. */
export const GGML_TYPES: ReadonlyMap<number, GgmlType> = new Map<number, GgmlType>([
  [0, {
    name: "F32",
    weights: 1,
    bytes: 4,
    widen: (b, out) => out.set(new Float32Array(b.buffer, b.byteOffset, out.length)),
  }],
  [1, {
    name: "F16",
    weights: 1,
    bytes: 2,
    widen: (b, out) => out.set(widenF16(new Uint16Array(b.buffer, b.byteOffset, out.length))),
  }],
  [2, blockType("Q4_0", "q4_0")],
  [3, blockType("Q4_1", "q4_1")],
  [6, blockType("Q5_0", "q5_0")],
  [8, blockType("Q8_0", "q8_0")],
  [12, blockType("Q4_K", "q4_k")],
  [14, blockType("Q6_K", "q6_k")],
  [30, {
    name: "BF16",
    weights: 1,
    bytes: 2,
    widen: (b, out) => out.set(widenBF16(new Uint16Array(b.buffer, b.byteOffset, out.length))),
  }],
  ...OTHER_BLOCKS.map(({ id, name, weights, bytes, widen }) =>
    [id, {
      name,
      weights,
      bytes,
      widen(blocks: Uint8Array, out: Float32Array) {
        for (let at = 0, to = 0; to < out.length; at += bytes, to += weights) {
          widen(blocks, at, out, to);
        }
      },
    }] as const
  ),
  [39, blockType("MXFP4", "mxfp4")],
]);

/** Names of types that rgx does not read, for messages. */
const REFUSED: Readonly<Record<number, string>> = {
  9: "Q8_1",
  15: "Q8_K",
  16: "IQ2_XXS",
  17: "IQ2_XS",
  18: "IQ3_XXS",
  19: "IQ1_S",
  21: "IQ3_S",
  22: "IQ2_S",
  24: "I8",
  25: "I16",
  26: "I32",
  27: "I64",
  28: "F64",
  29: "IQ1_M",
  34: "TQ1_0",
  35: "TQ2_0",
};

export function ggmlTypeName(id: number): string {
  return GGML_TYPES.get(id)?.name ?? REFUSED[id] ?? `number ${id}`;
}

function blockType(name: string, type: BlockType): GgmlType {
  const { weights } = BLOCK_SHAPES[type], { bytes, pack, widen } = BLOCK_CODES[type];
  return {
    name,
    weights,
    bytes,
    widen(blocks, out) {
      const row = rowBuffer(type);
      for (let at = 0, to = 0; to < out.length; at += bytes, to += weights) {
        row.fill(0);
        pack(blocks, at, row);
        widen(row, out, to, 0);
      }
    },
  };
}
