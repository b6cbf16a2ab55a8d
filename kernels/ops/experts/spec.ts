/**
 * Mixtures of experts: each row goes through the few experts that a router chooses for it. `route`
 * gives each pair of a row and one of its experts a place, ordered by expert and then by row; all
 * rows of an expert are neighbours, and nothing is padded. Products read the rows in that order.
 *
 * With p = softmax(logits of a row) the gates are the largest `chosen` of p, with `normalize`
 * divided by their sum S. Of equal logits the first is chosen. Backward, with q the derivatives
 * by the chosen p: q_j = dgate_j, or (dgate_j − Σ_i dgate_i·gate_i) / S; every p gets `balance` of
 * its expert besides; then dlogits = p ⊙ (q − Σ p·q).
 *
 * `expert_matmul` is out = alpha · a·B_e for the rows of each expert e; with `accumulate` +=
 * instead of =. `expert_gradient` adds alpha · aᵀ·b over the rows of each expert to its matrix. On
 * a CPU the bits of a row do not depend on how many other rows its expert has.
 */
import type { Tensor } from "../../tensor.ts";
import type { WeightType } from "../../weights/types.ts";

/** Sizes of a choice. There are rows·chosen places. */
export interface RouteShape {
  rows: number;
  experts: number;
  /** Experts of a row, at most `experts`. */
  chosen: number;
  normalize: boolean;
}

export interface RouteArgs extends RouteShape {
  logits: Tensor; // [rows, experts]
  /** Of each place. */
  gates: Tensor; // [rows·chosen]
  /** The row of each place. */
  rowOf: Tensor; // u32 [rows·chosen]
  /** The places of each row, that of its largest gate first. */
  placeOf: Tensor; // u32 [rows, chosen]
  /** The expert of each of them. */
  expertOf: Tensor; // u32 [rows, chosen]
  /** The first place of each expert, and the number of places. */
  begin: Tensor; // u32 [experts + 1]
}

export interface RouteBackwardArgs extends RouteShape {
  logits: Tensor; // [rows, experts]
  gates: Tensor; // [rows·chosen]
  placeOf: Tensor; // u32 [rows, chosen]
  expertOf: Tensor; // u32 [rows, chosen]
  dgates: Tensor; // [rows·chosen]
  /** Derivatives by the probabilities of each expert, in every row; absent = 0. */
  balance?: Tensor; // [experts]
  dlogits: Tensor; // [rows, experts], overwritten
}

export interface ExpertMatmulArgs {
  a: Tensor; // [rows, k], in the order of experts
  /** One matrix for each expert: [experts, n, k] with `transB`, else [experts, k, n]. */
  b: Tensor;
  out: Tensor; // [rows, n]
  begin: Tensor; // u32 [experts + 1], its last value is `rows`
  experts: number;
  rows: number;
  n: number;
  k: number;
  transB?: boolean;
  /** Default 1. */
  alpha?: number;
  accumulate?: boolean;
  /** As in matmul, for all matrices as one; those in blocks have multiples of PANEL rows. */
  weightType?: WeightType;
}

export interface ExpertGradientArgs {
  a: Tensor; // [rows, m]
  b: Tensor; // [rows, n]
  out: Tensor; // [experts, m, n], increased
  begin: Tensor; // u32 [experts + 1]
  experts: number;
  rows: number;
  m: number;
  n: number;
  /** Default 1. */
  alpha?: number;
}
