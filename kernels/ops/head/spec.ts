/**
 * Fused head: log-probabilities and entropies without ever holding [rows, vocab] logits.
 *   z = hidden·weightᵀ/temperature;  lse = log Σ_v e^z_v;  logp(pair) = z_target − lse;
 *   entropy = lse − Σ_v e^(z_v−lse)·z_v (by a running, max-shifted sum)
 * Targets are pairs (row, token): row r owns pairs [pairStart[r], pairStart[r+1]), because the first
 * token of every branch is predicted by the one last prompt row.
 * Backward, with a = dlogp per pair, b = dentropy per row, α_r = Σ a over the row's pairs, z recomputed:
 *   dz_v = Σ_{pairs: target=v} a − α·p_v − b·p_v·(z_v − lse + entropy)
 *   dhidden = dz·weight/temperature;  dweight += dzᵀ·hidden/temperature
 * With a frozen weight and b = 0, dz·weight is Σ_pairs a·weight_target − α·mean, mean = Σ_v p_v·weight_v: a
 * forward that leaves `mean` spares the backward two of the three products.
 */
import type { Tensor } from "../../tensor.ts";
import type { WeightType } from "../../weights/types.ts";

export interface HeadArgs {
  hidden: Tensor; // [rows, d], after the final norm
  weight: Tensor; // [vocab, d]
  /** The weight is in this type (kernels/weights/types.ts), u32, and frozen; d is a multiple of the type's block. */
  weightType?: WeightType;
  pairStart: Tensor; // u32 [rows + 1], ascending, pairStart[rows] = pairs
  targets: Tensor; // u32 [pairs]
  logp: Tensor; // [pairs]
  lse: Tensor; // [rows]
  entropy: Tensor; // [rows]
  /** [rows, d], Σ_v p_v·weight_v: an output of the forward; given to the backward, logits are not recomputed. */
  mean?: Tensor;
  rows: number;
  pairs: number;
  vocab: number;
  d: number;
  temperature: number;
}

/**
 * With `mean` neither dentropy nor dweight may be given, and lse, entropy and hidden are not read; dweight not with
 * `weightType` either.
 */
export interface HeadBackwardArgs extends Omit<HeadArgs, "logp"> {
  dlogp: Tensor; // [pairs]
  dentropy?: Tensor; // [rows]; absent = 0
  dhidden: Tensor; // [rows, d], overwritten
  dweight?: Tensor; // [vocab, d], increased; absent when frozen
}
