/**
 * Stored weights on the host: converts a file's bytes to the layout of the devices (types.ts), and
 * that to values. These are the values with which every device must compute.
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
 * The words of a weight [n, k] from a file's bytes: rows of halves or of GGUF blocks.
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

/** The exact values of a stored weight [n, k], row-major. */
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

/**
 * Number of rows of k elements in `words` words. With panels it includes the rows that fill up the
 * last panel.
 */
export function storedRows(type: WeightType, k: number, words: number): number {
  if (k === 0) return 0;
  return isBlockType(type)
    ? PANEL * Math.floor(words / panelWords(type, k))
    : Math.floor(2 * words / k);
}

/** Writes the values of row j of a stored weight to `out`, from `to` on. */
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
    readRow(words, type, k, j, block, row);
    const scale = type === "nf4" ? scaleOf(words, k, j, block, row.at(-1)!) : 0;
    widen(row, out, to + block * weights, scale);
  }
}

/** Room for the words of a row of a block; the tail gets a whole word. */
export function rowBuffer(type: BlockType): Uint32Array<ArrayBuffer> {
  const { fullWords, tailBits } = BLOCK_SHAPES[type];
  return new Uint32Array(fullWords + (tailBits > 0 ? 1 : 0));
}

/** Index of the first word of the record of block `block` in the panel of row j. */
function recordStart(type: BlockType, k: number, j: number, block: number): number {
  return Math.floor(j / PANEL) * panelWords(type, k) + block * recordWords(type);
}

/** Writes a row's part of a block into words that are zero there. */
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

/** Reads a row's part of a block into `row`. */
function readRow(
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

/** Index of the step of a block's group in an nf4 weight; the offset follows it. */
export function nf4GroupStart(k: number, j: number, block: number): number {
  const blocks = k / BLOCK_SHAPES.nf4.weights;
  return recordStart("nf4", k, j, blocks) + Math.floor(block / NF4_GROUP) * NF4_GROUP_WORDS;
}

function scaleOf(words: Uint32Array, k: number, j: number, block: number, code: number): number {
  const group = nf4GroupStart(k, j, block);
  return nf4Scale(code, words[group]!, words[group + 1]!);
}
