/**
 * The dynamic map of 8-bit optimizer states (Dettmers et al. 2022, "8-bit Optimizers via Block-wise
 * Quantization"), as bitsandbytes makes it (`create_dynamic_map`). Its values are 0, 1, and the
 * middles of cells between 1e-7 and 1. Each of the seven decades is divided into cells of equal
 * width, twice as many as in the decade below it. The values are float32, bit for bit. The signed
 * map has half as many cells; each of its values but 1 is there with a minus, too.
 *
 * A value in [0, 1] gets the number of its nearest magnitude; in the middle between two, the lower
 * one. In the signed map a code is 127 + that number, or 127 − it for a negative value.
 */

/** Code of 0 in the signed map. */
const SIGNED_ZERO = 127;

const f32 = Math.fround;
const DECADES = 7;

/** The magnitudes of a map, ascending: 129 of the signed one, 256 of the unsigned one. */
function magnitudes(signed: boolean): Float32Array<ArrayBuffer> {
  const values = [0], first = f32(0.1);
  for (let decade = 0; decade < DECADES; decade++) {
    const cells = 2 ** (signed ? decade : decade + 1), width = f32(f32(1 - first) / cells);
    // The lower half is counted from the start and the upper half from the end, as in torch.
    const edge = (i: number) =>
      i < Math.floor((cells + 1) / 2) ? f32(first + width * i) : f32(1 - width * (cells - i));
    const scale = f32(10 ** (decade - DECADES + 1));
    for (let cell = 0; cell < cells; cell++) {
      values.push(f32(scale * f32(f32(edge(cell) + edge(cell + 1)) / 2)));
    }
  }
  values.push(1);
  return Float32Array.from(values);
}

/** A map with what rounding to it needs. */
export interface DynamicMap {
  /** The value of each code. */
  readonly values: Float32Array<ArrayBuffer>; // [256]
  /** Upper end of the values that get magnitude number k; of the last one Infinity. */
  readonly bounds: Float32Array<ArrayBuffer>; // [129 or 256]
}

function makeMap(signed: boolean): DynamicMap {
  const sizes = magnitudes(signed), values = new Float32Array(256);
  if (signed) {
    values.set(sizes, SIGNED_ZERO);
    for (let k = 1; k <= SIGNED_ZERO; k++) values[SIGNED_ZERO - k] = -sizes[k]!;
  } else values.set(sizes);
  const bounds = sizes.map((x, k) => k + 1 < sizes.length ? (x + sizes[k + 1]!) / 2 : Infinity);
  return { values, bounds };
}

export const SIGNED_MAP = makeMap(true);
export const UNSIGNED_MAP = makeMap(false);

/** Number of the magnitude for x in [0, 1]. */
function nearest({ bounds }: DynamicMap, x: number): number {
  let low = 0, high = bounds.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bounds[middle]! < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Code of x in [−1, 1] in the signed map. */
export function signedCode(x: number): number {
  const k = nearest(SIGNED_MAP, Math.abs(x));
  return x < 0 ? SIGNED_ZERO - Math.min(k, SIGNED_ZERO) : SIGNED_ZERO + k;
}

/** Code of x in [0, 1] in the unsigned map. */
export function unsignedCode(x: number): number {
  return nearest(UNSIGNED_MAP, x);
}

/**
 * A table for finding codes fast: the upper 16 bits of a float32 in [0, 1], less {@link
 * FIRST_CELL} (at least 0), are a cell. Its entry is the number of bounds below all values of the
 * cell. No cell has more than one bound inside, so one comparison remains.
 */
function cells({ bounds }: DynamicMap): Uint8Array<ArrayBuffer> {
  const float = new Float32Array(1), bits = new Uint32Array(float.buffer);
  return Uint8Array.from({ length: CELLS }, (_, cell) => {
    bits[0] = (cell + FIRST_CELL) << 16;
    const start = cell === 0 ? 0 : float[0]!;
    return bounds.findIndex((bound) => bound >= start);
  });
}

/** The upper half of a float32 below all bounds but 0's; see {@link dynamicTables}. */
const FIRST_CELL = 0x3400;
/** Up to the upper half of 1.0. */
const CELLS = 0x3f80 - FIRST_CELL + 1;

/** First word of each part of {@link dynamicTables}, and their number. */
export const TABLES = {
  signed: 0,
  unsigned: 256,
  signedBounds: 512,
  unsignedBounds: 768,
  signedCells: 1024,
  unsignedCells: 1024 + Math.ceil(CELLS / 4),
  words: 1024 + 2 * Math.ceil(CELLS / 4),
} as const;

/**
 * Both maps for a device: the values of the signed and the unsigned map and their bounds (f32),
 * then the cells of both (bytes).
 */
export function dynamicTables(): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(TABLES.words);
  const floats = new Float32Array(words.buffer), bytes = new Uint8Array(words.buffer);
  floats.set(SIGNED_MAP.values, TABLES.signed);
  floats.set(UNSIGNED_MAP.values, TABLES.unsigned);
  floats.set(SIGNED_MAP.bounds, TABLES.signedBounds);
  floats.set(UNSIGNED_MAP.bounds, TABLES.unsignedBounds);
  bytes.set(cells(SIGNED_MAP), 4 * TABLES.signedCells);
  bytes.set(cells(UNSIGNED_MAP), 4 * TABLES.unsignedCells);
  return words;
}
