/** The element types of safetensors files, by which those of torch files are called, too. */
import { RgxError } from "../../../core/errors.ts";
import { widenBF16, widenF16 } from "../../../core/half_floats.ts";

export const DTYPE_BYTES = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U64: 8,
  U32: 4,
  U16: 2,
  U8: 1,
  BOOL: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
} as const;

export type SafetensorsDType = keyof typeof DTYPE_BYTES;

/**
 * The values of a tensor, exact: F64 as float64, all other float types as float32.
 * @throws RgxError for integers and 8-bit floats
 */
export function floatsOf(
  label: string,
  { name, dtype }: { readonly name: string; readonly dtype: string },
  buffer: ArrayBuffer,
): Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> {
  switch (dtype) {
    case "F32":
      return new Float32Array(buffer);
    case "F64":
      return new Float64Array(buffer);
    case "F16":
      return widenF16(new Uint16Array(buffer));
    case "BF16":
      return widenBF16(new Uint16Array(buffer));
  }
  throw new RgxError(
    `${label}: tensor "${name}" is ${dtype}, expected F32, F16, BF16 or F64`,
    dtype.startsWith("F8")
      ? { advice: "8-bit weights are not supported: convert the model to bf16." }
      : {},
  );
}
