/**
 * Refuses weights that are not finite, or so large that sums of products overflow, when they are
 * loaded: one such value spoils every output of a model, without any error. One pass over the bits
 * decides (about half a nanosecond per word). Only if it finds such a value, a second pass looks
 * for its place. Of blocks only the scales are checked, because nothing else in them can be
 * infinite.
 */
import { inPlace, RgxError } from "../../core/errors.ts";
import { widenBF16, widenF16 } from "../../core/half_floats.ts";
import { BLOCK_CODES, scaleCode } from "./blocks.ts";
import { rowBuffer, storedRows, unpackStored } from "./layout.ts";
import { blockOf, type BlockType, isBlockType, type WeightType } from "./types.ts";

/** Magnitude from which on a weight is refused. Those of trained models are far below 10^6. */
export const WEIGHT_LIMIT = 2 ** 60;

/**
 * The bits of the exponents in a word. Adding `excessive` to them carries into the bit of the sign
 * (which the mask has cleared) exactly where a value is not finite or beyond WEIGHT_LIMIT, and
 * `large` where its magnitude is 2^15 or more.
 */
const EXPONENTS = {
  f32: { mask: 0x7f800000, excessive: 0x22800000, large: 0x39000000, carry: 0x80000000 },
  f16: { mask: 0x7c007c00, excessive: 0x04000400, large: 0x08000800, carry: 0x80008000 },
  bf16: { mask: 0x7f807f80, excessive: 0x22802280, large: 0x39003900, carry: 0x80008000 },
};
type FloatType = keyof typeof EXPONENTS;

/**
 * Checks the values of a tensor.
 * @throws RgxError that names the first element that is not finite, or too large
 */
export function refuseInfinite(
  values: Float32Array | Float64Array,
  shape: readonly number[],
  firstRow = 0,
): void {
  if (values instanceof Float32Array) {
    const { buffer, byteOffset, length } = values;
    if (!holds("excessive", "f32", new Int32Array(buffer, byteOffset, length))) return;
  }
  const at = values.findIndex((value) => !(Math.abs(value) < WEIGHT_LIMIT));
  if (at >= 0) refuse(`element ${place(shape, firstRow, at)}`, values[at]!);
}

/**
 * Checks rows of k values as a file stores them, from row `firstRow` on.
 * @throws RgxError as {@link refuseInfinite}
 */
export function refuseInfiniteStored(
  type: WeightType,
  k: number,
  bytes: Uint8Array<ArrayBuffer>,
  firstRow: number,
): void {
  if (isBlockType(type)) return refuseInfiniteScales(type, k, bytes, firstRow);
  const { buffer, byteOffset, length } = bytes;
  if (!holds("excessive", type, new Int32Array(buffer, byteOffset, length >> 2))) return;
  const halves = new Uint16Array(buffer, byteOffset, length >> 1);
  refuseInfinite(type === "f16" ? widenF16(halves) : widenBF16(halves), [0, k], firstRow);
}

function refuseInfiniteScales(
  type: BlockType,
  k: number,
  bytes: Uint8Array,
  firstRow: number,
): void {
  const { bytes: size, scales, largest } = BLOCK_CODES[type], code = scaleCode(type);
  const limit = code.of(2 ** Math.ceil(Math.log2(WEIGHT_LIMIT / largest)));
  for (const scale of scales) {
    for (let at = scale; at < bytes.length; at += size) {
      if (code.bits(bytes, at) < limit) continue;
      const first = Math.floor(at / size) * blockOf(type);
      refuse(
        `the scale of elements from ${place([0, k], firstRow, first)} on`,
        code.value(bytes, at),
      );
    }
  }
}

function holds(what: "excessive" | "large", type: FloatType, words: Int32Array): boolean {
  const { mask, [what]: added, carry } = EXPONENTS[type], even = words.length & ~1;
  let a = 0, b = 0;
  for (let i = 0; i < even; i += 2) {
    a |= (words[i]! & mask) + added;
    b |= (words[i + 1]! & mask) + added;
  }
  if (even < words.length) a |= (words[even]! & mask) + added;
  return ((a | b) & carry) !== 0;
}

/** Values of at least this magnitude are infinite as float16. */
const F16_LIMIT = 65520;

/** What becomes float16, and what to take in its place. */
const F16_ADVICE = {
  weights: "take another type for the weights: bfloat16 and float32 hold it",
  products: "take compute_dtype bfloat16 or float32, which hold it",
};

/**
 * Checks values that are to become float16: weights that are stored so, or operands of products.
 * @throws RgxError that names the first element that would be infinite
 */
export function refuseBeyondF16(
  values: Float32Array | Float64Array,
  shape: readonly number[],
  firstRow = 0,
  what: keyof typeof F16_ADVICE = "weights",
): void {
  for (let i = 0; i < values.length; i++) {
    if (Math.abs(values[i]!) < F16_LIMIT) continue;
    refuseAsF16(shape, firstRow, i, values[i]!, what);
  }
}

/**
 * Checks rows of k weights as a file stores them, for products in float16. Only blocks with large
 * scales are unpacked.
 */
export function refuseStoredBeyondF16(
  type: WeightType,
  k: number,
  bytes: Uint8Array<ArrayBuffer>,
  firstRow: number,
): void {
  if (isBlockType(type)) return refuseBlocksBeyondF16(type, k, bytes, firstRow);
  if (type !== "bf16") return;
  const { buffer, byteOffset, length } = bytes;
  const halves = new Uint16Array(buffer, byteOffset, length >> 1);
  refuseBeyondF16(widenBF16(halves), [0, k], firstRow, "products");
}

function refuseBlocksBeyondF16(
  type: BlockType,
  k: number,
  bytes: Uint8Array,
  firstRow: number,
): void {
  const { bytes: size, scales, largest, pack, widen } = BLOCK_CODES[type], code = scaleCode(type);
  const limit = code.of(2 ** Math.floor(Math.log2(F16_LIMIT / largest)));
  const weights = blockOf(type), row = rowBuffer(type), values = new Float32Array(weights);
  for (const scale of scales) {
    for (let at = scale; at < bytes.length; at += size) {
      if (code.bits(bytes, at) < limit) continue;
      const block = at - scale;
      pack(bytes, block, row.fill(0));
      widen(row, values, 0, 0);
      const found = values.findIndex((value) => Math.abs(value) >= F16_LIMIT);
      if (found < 0) continue;
      refuseAsF16([0, k], firstRow, block / size * weights + found, values[found]!, "products");
    }
  }
}

/**
 * Checks the words (types.ts), from word `at` on, that rows of k floats are quantised to. Rounding
 * a scale may bring a value to the limit. Null where no row has values near the limit.
 */
export function refuseQuantizedBeyondF16(
  type: BlockType,
  k: number,
  rows: { type: FloatType; bytes: Uint8Array<ArrayBuffer> },
  firstRow: number,
): ((words: Uint32Array, at: number) => void) | null {
  const { buffer, byteOffset, length } = rows.bytes;
  if (!holds("large", rows.type, new Int32Array(buffer, byteOffset, length >> 2))) return null;
  return (words, at) => {
    const first = firstRow + storedRows(type, k, at), n = storedRows(type, k, words.length);
    refuseBeyondF16(unpackStored(type, n, k, words), [0, k], first, "products");
  };
}

/** Runs a check and adds the name of the tensor to its errors. */
export function ofTensor(name: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw inPlace(`tensor "${name}"`, error);
  }
}

function refuseAsF16(
  shape: readonly number[],
  firstRow: number,
  at: number,
  value: number,
  what: keyof typeof F16_ADVICE,
): never {
  throw new RgxError(
    `element ${place(shape, firstRow, at)} is ${value}, which is infinite as float16`,
    { advice: F16_ADVICE[what] },
  );
}

/** The index of an element, as text. */
function place(shape: readonly number[], firstRow: number, at: number): string {
  const k = shape.length > 1 ? shape.at(-1)! : Infinity;
  return k === Infinity ? `[${firstRow + at}]` : `[${firstRow + Math.floor(at / k)}, ${at % k}]`;
}

function refuse(what: string, value: number): never {
  const expected = Number.isFinite(value)
    ? "which overflows in products: expected a magnitude below 10^18"
    : "expected a finite number";
  throw new RgxError(`${what} is ${value}, ${expected}`, {
    advice: "the file is damaged, or the training that made it diverged: get the weights again, " +
      "or use an earlier checkpoint",
  });
}
