/**
 * The gated delta rule (Yang et al. 2025; Qwen3.5), one position after the other. A value head has
 * a state S [keyDim, valueDim] and the queries and keys of one key head. With y = silu(x):
 *   q = y_q/|y_q|/√keyDim,  k = y_k/|y_k|,  v = y_v   (|y|² = Σ y² + 1e−6)
 *   γ = e^g, g = −e^aLog·softplus(a + dtBias);  β = σ(b)
 *   δ = β·(v − γ·Sᵀk);  S ← γ·S + k·δᵀ;  out = Sᵀq
 * Each column of S goes its own way, so sums have one order, whatever else is in the batch, and a
 * text that goes on from a stored state has the bits of one that was computed at once.
 *
 * Backward, from the last position to the first, with D the derivative by S, u = γ·Sᵀk of the state
 * S before the position, and S' after it:
 *   D += q·doutᵀ;  dq = S'·dout;  dδ = Dᵀk;  dv = β·dδ;  dβ = dδ·(v − u);  du = −β·dδ
 *   dk = D·δ + γ·S·du;  D ← D + k·duᵀ;  dγ = Σ S·D;  D ← γ·D
 */
import type { Tensor } from "../../tensor.ts";

/** Columns of a segment: rows [begin, end), and the states before and after it, or NO_STATE. */
export const DELTA_SEGMENT = { begin: 0, end: 1, from: 2, to: 3, columns: 4 } as const;
/** The state before the first position, which is zero; or a state that is not stored. */
export const NO_STATE = 0xffffffff;
/** What is added to Σ y². */
export const NORM_EPS = 1e-6;

export interface DeltaSizes {
  keyHeads: number;
  /** A multiple of keyHeads; head h has key head ⌊h·keyHeads/valueHeads⌋. */
  valueHeads: number;
  keyDim: number;
  valueDim: number;
}

interface DeltaInputs extends DeltaSizes {
  /** The parts q, k and v of each row; width(sizes) elements. */
  x: Tensor; // [rows, width]
  a: Tensor; // [rows, valueHeads]
  b: Tensor; // [rows, valueHeads]
  aLog: Tensor; // [valueHeads]
  dtBias: Tensor; // [valueHeads]
  segments: Tensor; // u32 [segmentCount, DELTA_SEGMENT.columns]
  segmentCount: number;
  rows: number;
}

export interface DeltaRuleArgs extends DeltaInputs {
  /** The first ones, which do not begin with a state that another one ends with. */
  roots: number;
  state: Tensor; // [states, valueHeads, keyDim, valueDim]
  out: Tensor; // [rows, valueHeads·valueDim]
}

/** The roots begin with NO_STATE here; states are computed again. */
export interface DeltaRuleBackwardArgs extends DeltaInputs {
  dout: Tensor; // [rows, valueHeads·valueDim]
  dx: Tensor; // [rows, width], overwritten
  da: Tensor; // [rows, valueHeads], overwritten; its sum over the rows is that of dtBias
  db: Tensor; // [rows, valueHeads], overwritten
  /** What each row adds to the derivative by aLog; overwritten. */
  dlog: Tensor; // [rows, valueHeads]
  /** States in `segments`, and rows of the longest segment. */
  states: number;
  longest: number;
}

/** Elements of a row of x. */
export function deltaWidth({ keyHeads, valueHeads, keyDim, valueDim }: DeltaSizes): number {
  return 2 * keyHeads * keyDim + valueHeads * valueDim;
}

/** Elements of a state. */
export function stateSize({ valueHeads, keyDim, valueDim }: DeltaSizes): number {
  return valueHeads * keyDim * valueDim;
}
