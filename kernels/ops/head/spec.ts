/**
 * Fused head: log-probabilities and entropies without storing all logits [rows, vocab].
 *   z = hidden·weightᵀ/temperature;  lse = log Σ_v e^z_v;  logp(pair) = z_target − lse;
 *   entropy = lse − Σ_v e^(z_v−lse)·z_v (from running sums that are shifted by the maximum)
 * Targets are pairs (row, token). Row r has the pairs [pairStart[r], pairStart[r+1]): the last row
 * of a prompt predicts the first token of every branch.
 *
 * Backward, with a = dlogp of a pair, b = dentropy of a row, α = Σ a over the row's pairs, and z
 * computed again:
 *   dz_v = Σ_{pairs: target=v} a − α·p_v − b·p_v·(z_v − lse + entropy)
 *   dhidden = dz·weight/temperature;  dweight += dzᵀ·hidden/temperature
 * A LoRA adapter may be added, as in a matrix product (../matmul/spec.ts): then
 *   z = (hidden·weightᵀ + loraScale·xa·loraBᵀ)/temperature, and
 *   dxa = loraScale·dz·loraB/temperature;  dloraB += loraScale·dzᵀ·xa/temperature
 * With a soft cap c (Gemma 2) the logits are c·tanh(z/c) before the temperature, and dz gets that
 * function's slope.
 * With a frozen weight and b = 0: dz·weight = Σ_pairs a·weight_target − α·mean, where
 * mean = Σ_v p_v·weight_v. If the forward outputs `mean`, the backward saves two of the three
 * matrix products.
 */
import type { Tensor } from "../../tensor.ts";
import type { WeightType } from "../../weights/types.ts";

/** The low-rank adapter of a head: all of them, or none. */
export interface HeadLora {
  xa: Tensor; // [rows, r], A times the adapter's input
  loraB: Tensor; // [vocab, r]
  r: number;
  loraScale: number;
}

export interface HeadArgs extends Partial<HeadLora> {
  hidden: Tensor; // [rows, d], after the final norm
  weight: Tensor; // [vocab, d]
  /**
   * The weight is a u32 tensor in this type (kernels/weights/types.ts). d is a multiple of the
   * type's block.
   */
  weightType?: WeightType;
  pairStart: Tensor; // u32 [rows + 1], ascending, pairStart[rows] = pairs
  targets: Tensor; // u32 [pairs]
  logp: Tensor; // [pairs]
  lse: Tensor; // [rows]
  entropy: Tensor; // [rows]
  /**
   * Σ_v p_v·weight_v: an output of the forward. With it the backward does not compute logits. Not
   * beside an adapter or a soft cap.
   */
  mean?: Tensor; // [rows, d]
  rows: number;
  pairs: number;
  vocab: number;
  d: number;
  temperature: number;
  /** Soft cap of the logits, above 0; absent = none. */
  softCap?: number;
}

/** The cap of logits that have been divided by the temperature; undefined = none. */
export function capOf(
  { softCap, temperature }: Pick<HeadArgs, "softCap" | "temperature">,
): number | undefined {
  return softCap === undefined ? undefined : softCap / temperature;
}

/**
 * With `mean`, neither dentropy nor dweight may be given, and lse, entropy and hidden are not read.
 */
export interface HeadBackwardArgs extends Omit<HeadArgs, "logp"> {
  dlogp: Tensor; // [pairs]
  dentropy?: Tensor; // [rows]; absent = 0
  dhidden: Tensor; // [rows, d], overwritten
  dweight?: Tensor; // [vocab, d], increased; absent when frozen
  dxa?: Tensor; // [rows, r], overwritten; given exactly with an adapter
  dloraB?: Tensor; // [vocab, r], increased; absent when the adapter is frozen
}
