/**
 * AdamW with moments in 8 bits, as bitsandbytes computes it ("adamw_8bit"). Blocks of 256
 * neighbouring elements share the largest magnitude of a moment in them; an element has the code of
 * its part of that (dynamic_map.ts). With the codes c₁, c₂ and the maxima a₁, a₂ of a block:
 *   m = β₁·a₁·signed[c₁] + (1−β₁)g;  v = β₂·a₂·unsigned[c₂] + (1−β₂)g²,  g = grad·gradScale
 *   the update of `param` is that of `adamw` with these m and v, before they are rounded
 *   a₁ = max |m|, a₂ = max v of the block; c₁ = code of m/a₁, c₂ = code of v/a₂
 * Tensors of zeros are valid moments.
 */
import type { Tensor } from "../../tensor.ts";
import type { AdamwArgs } from "../optimizer/spec.ts";

/** Elements that share a maximum. */
export const BLOCK = 256;

export interface Adamw8bitArgs extends Omit<AdamwArgs, "m" | "v"> {
  /** Codes of the moments, four in a word, the first one lowest. */
  m: Tensor; // u32 [ceil(n / 4)]
  v: Tensor; // u32 [ceil(n / 4)]
  /** Maxima of the blocks. */
  mMax: Tensor; // [ceil(n / BLOCK)]
  vMax: Tensor; // [ceil(n / BLOCK)]
  /** {@link dynamicTables} of dynamic_map.ts. */
  tables: Tensor; // u32 [TABLES.words]
}
