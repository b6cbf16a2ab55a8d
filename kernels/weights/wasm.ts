/** What host bindings of the WASM device need to know of the kernels in this folder (*.as.ts). */
import { WEIGHT_TYPES, type WeightType } from "./types.ts";

/** The number by which the kernels know a type (types.as.ts). */
export function typeCode(type: WeightType): number {
  return WEIGHT_TYPES.indexOf(type);
}

/** Bytes of scratch of the kernels that widen or multiply panels: WORK_BYTES of panel.as.ts. */
export const WORK_BYTES = 256 * 20 + 64;
/** Bytes of scratch of the kernels that widen single rows: ROW_BYTES of rows.as.ts. */
export const ROW_BYTES = WORK_BYTES + 512 * 64;
/** Bytes of scratch of the kernel that quantises: QUANTIZE_BYTES of quantize.as.ts. */
export const QUANTIZE_BYTES = 16 * 64 * 64 + 16 * 64 + 15 * 64 + 64;
