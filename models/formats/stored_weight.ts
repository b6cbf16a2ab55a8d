/**
 * Storage types of weights on the host: their names in files, which type a weight can be stored in,
 * and the u32 words for the device. Layouts: kernels/weights/types.ts.
 */
import { RgxError } from "../../core/errors.ts";
import { narrowBF16, narrowF16 } from "../../core/half_floats.ts";
import { quantize } from "../../kernels/weights/quantize.ts";
import { blockOf, isWeightType, type WeightType } from "../../kernels/weights/types.ts";

export { fileBytes } from "../../kernels/weights/blocks.ts";
export { unpackStored } from "../../kernels/weights/layout.ts";
export { isBlockType, storedWords, type WeightType } from "../../kernels/weights/types.ts";

/** Tensor name → storage type; tensors without an entry are float. */
export type WeightStorage = ReadonlyMap<string, WeightType>;

export const ALL_FLOAT: WeightStorage = new Map();

/**
 * The storage type for a file's type name such as "BF16" or "Q4_1"; null for types that are only
 * read as floats.
 */
export function storedType(name: string): WeightType | null {
  const type = name.toLowerCase();
  return isWeightType(type) ? type : null;
}

/** Whether a weight with rows of k values can be stored in a type. */
export function fitsType(type: WeightType, k: number): boolean {
  return k % blockOf(type) === 0;
}

/**
 * Values [n, k] in a storage type, rounded to nearest.
 * @throws RgxError for a type that is only read from files
 */
export function encodeStored(
  type: WeightType,
  n: number,
  k: number,
  values: Float32Array | Float64Array,
): Uint32Array {
  switch (type) {
    case "f16":
      return new Uint32Array(narrowF16(values).buffer);
    case "bf16":
      return new Uint32Array(narrowBF16(values).buffer);
    case "int8":
    case "nf4":
    case "q8_0":
    case "q4_0":
      return quantize(
        type,
        n,
        k,
        values instanceof Float32Array ? values : Float32Array.from(values),
      );
    default:
      throw new RgxError(`weights are not made in the type ${type}, only read from files`);
  }
}

/** The argument of operations for a weight's storage type. */
export function weightType(storage: WeightType | null): { weightType?: WeightType } {
  return storage === null ? {} : { weightType: storage };
}
