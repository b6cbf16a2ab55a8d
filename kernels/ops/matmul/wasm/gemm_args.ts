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
  /** The bits of a row do not depend on the number of rows: there are no dot products. */
  steady?: boolean | undefined;
  /** An adapter's product that is added to the result. */
  lora?: LoraArgs | undefined;
}

/** What is not given is false; alpha is 1. */
export type Product =
  & Omit<GemmArgs, "transA" | "transB" | "alpha" | "accumulate">
  & Partial<GemmArgs>;

/** loraScale · xa [m, r] · loraB [n, r]ᵀ; the names are those in the kernels' structs. */
export interface LoraArgs {
  xa: number;
  loraB: number;
  r: number;
  loraScale: number;
}

/** What kernels get where there is no adapter. */
export const NO_LORA: LoraArgs = { xa: 0, loraB: 0, r: 0, loraScale: 0 };
