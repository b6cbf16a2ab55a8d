/** What bindings of the CPU device need to know of the kernels that read stored weights. */
import { WEIGHT_TYPES, type WeightType } from "./types.ts";

/** The number by which the kernels know a type (native/c/codes.h). */
export function typeCode(type: WeightType): number {
  return WEIGHT_TYPES.indexOf(type);
}

/** Bytes of scratch of the kernels that widen single rows (native/c/weights.c). */
export const ROW_BYTES = 512 * 64;
/** Bytes of scratch of the kernel that quantises: a group of 16 blocks of 16 rows. */
export const QUANTIZE_BYTES = 16 * 64 * 64;
