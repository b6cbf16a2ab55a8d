/** The arguments of a matrix product on the WASM device, with addresses instead of tensors. */
import type { WeightType } from "../../../weights/types.ts";

/** out = (with `accumulate` +=) alpha·op(a)·op(b); dense and row-major as in MatmulArgs. */
export interface GemmArgs {
  a: number;
  b: number;
  out: number;
  m: number;
  n: number;
  k: number;
  transA: boolean;
  transB: boolean;
  /** b is packed (spec.ts), and transB is not used. */
  packedB?: boolean;
  /** b is a stored weight (spec.ts). */
  weightType?: WeightType | undefined;
  /** a is rounded to bytes (spec.ts). */
  int8?: boolean;
  alpha: number;
  accumulate: boolean;
  /** An adapter's product that is added to the result. */
  lora?: LoraArgs | undefined;
}

/** scale · xa [m, r] · b [n, r]ᵀ. */
export interface LoraArgs {
  xa: number;
  b: number;
  r: number;
  scale: number;
}

/** The adapter in the fields of the kernels' structs. */
export function loraFields(lora: LoraArgs | undefined) {
  return { xa: lora?.xa, loraB: lora?.b, r: lora?.r ?? 0, loraScale: lora?.scale };
}
