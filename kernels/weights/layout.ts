/**
 * Stored weights on the host: a file's bytes in the devices' layout (types.ts), and the values that they stand
 * for, which is what every device must compute with.
 */
import { RgxError } from "../../core/errors.ts";
import { widenBF16, widenF16 } from "../../core/half_floats.ts";
import { BLOCK_CODES, fileBytes, nf4Scale } from "./blocks.ts";
import { PANEL } from "./panel.ts";
import {
  BLOCK_SHAPES,
  type BlockType,
  isBlockType,
  NF4_GROUP,
  NF4_GROUP_WORDS,
  panelWords,
  recordWords,
  storedWords,
  type WeightType,
} from "./types.ts";

/**
 * The words of a weight [n, k] from a file's bytes, row after row: halves, or GGUF blocks.
 * @throws RgxError when k is no multiple of the block, or the bytes are not those of n rows
 */
export function packStored(
  type: WeightType,
  n: number,
  k: number,
  bytes: Uint8Array,
): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(storedWords(type, n, k));
  const rowBytes = fileBytes(type, k);
  if (rowBytes === 0 && k > 0) {
    throw new RgxError(`no file holds ${type}: such weights are quantised`);
  }
  if (bytes.length !== n * rowBytes) {
    throw new RgxError(
      `a weight [${n}, ${k}] as ${type} has ${n * rowBytes} bytes, found ${bytes.length}`,
    );
  }
  if (!isBlockType(type)) {
    new Uint8Array(words.buffer).set(bytes);
    return words;
  }
  const { bytes: blockBytes, pack } = BLOCK_CODES[type];
  const row = rowBuffer(type);
  for (let j = 0, at = 0; j < n; j++) {
    for (let block = 0; at < (j + 1) * rowBytes; block++, at += blockBytes) {
      row.fill(0);
      pack(bytes, at, row);
      placeRow(words, type, k, j, block, row);
    }
  }
  return words;
}

/** Values of a stored weight [n, k], row-major: exact. */
export function unpackStored(
  type: WeightType,
  n: number,
  k: number,
  words: Uint32Array,
): Float32Array<ArrayBuffer> {
  if (!isBlockType(type)) return widenHalves(type, words, 0, n * k);
  const out = new Float32Array(n * k);
  for (let j = 0; j < n; j++) widenRow(type, k, words, j, out, j * k);
  return out;
}

function widenHalves(
  type: "f16" | "bf16",
  words: Uint32Array,
  from: number,
  count: number,
): Float32Array<ArrayBuffer> {
  const halves = new Uint16Array(words.buffer, words.byteOffset + 2 * from, count);
  return type === "f16" ? widenF16(halves) : widenBF16(halves);
}

/** How many rows of k a weight has for which there are so many words; in panels the last ones may be filling. */
export function storedRows(type: WeightType, k: number, words: number): number {
  if (k === 0) return 0;
  return isBlockType(type)
    ? PANEL * Math.floor(words / panelWords(type, k))
    : Math.floor(2 * words / k);
}

/** Values of row j of a stored weight, to `out` from `to` on. */
export function widenRow(
  type: WeightType,
  k: number,
  words: Uint32Array,
  j: number,
  out: Float32Array,
  to: number,
): void {
  if (!isBlockType(type)) {
    out.set(widenHalves(type, words, j * k, k), to);
    return;
  }
  const { weights } = BLOCK_SHAPES[type];
  const { widen } = BLOCK_CODES[type];
  const row = rowBuffer(type);
  for (let block = 0; block * weights < k; block++) {
    takeRow(words, type, k, j, block, row);
    const scale = type === "nf4" ? scaleOf(words, k, j, block, row.at(-1)!) : 0;
    widen(row, out, to + block * weights, scale);
  }
}

/** Words of a row of a block, its tail in a word of its own. */
export function rowBuffer(type: BlockType): Uint32Array<ArrayBuffer> {
  const { fullWords, tailBits } = BLOCK_SHAPES[type];
  return new Uint32Array(fullWords + (tailBits > 0 ? 1 : 0));
}

/** First word of the record of block `block` in row j's panel. */
function recordStart(type: BlockType, k: number, j: number, block: number): number {
  return Math.floor(j / PANEL) * panelWords(type, k) + block * recordWords(type);
}

/** Puts a row's part of a block into words that hold zeros there. */
export function placeRow(
  words: Uint32Array,
  type: BlockType,
  k: number,
  j: number,
  block: number,
  row: Uint32Array,
): void {
  const { fullWords, tailBits } = BLOCK_SHAPES[type];
  const start = recordStart(type, k, j, block), r = j % PANEL;
  for (let w = 0, at = start + r; w < fullWords; w++, at += PANEL) words[at] = row[w]!;
  if (tailBits === 0) return;
  const sharing = PANEL * tailBits / 32;
  words[start + fullWords * PANEL + r % sharing]! |= row[fullWords]! <<
    tailBits * Math.floor(r / sharing);
}

function takeRow(
  words: Uint32Array,
  type: BlockType,
  k: number,
  j: number,
  block: number,
  row: Uint32Array,
): void {
  const { fullWords, tailBits } = BLOCK_SHAPES[type];
  const start = recordStart(type, k, j, block), r = j % PANEL;
  for (let w = 0, at = start + r; w < fullWords; w++, at += PANEL) row[w] = words[at]!;
  if (tailBits === 0) return;
  const sharing = PANEL * tailBits / 32;
  row[fullWords] = words[start + fullWords * PANEL + r % sharing]! >>>
      tailBits * Math.floor(r / sharing) & (1 << tailBits) - 1;
}

/** Where an nf4 weight keeps step and offset of the group of a block. */
export function nf4GroupStart(k: number, j: number, block: number): number {
  const blocks = k / BLOCK_SHAPES.nf4.weights;
  return recordStart("nf4", k, j, blocks) + Math.floor(block / NF4_GROUP) * NF4_GROUP_WORDS;
}

function scaleOf(words: Uint32Array, k: number, j: number, block: number, code: number): number {
  const group = nf4GroupStart(k, j, block);
  return nf4Scale(code, words[group]!, words[group + 1]!);
}
