/** The choice of experts on the host, for the devices that compute in its memory. */
import type { FloatArray } from "../common/reference_tensor.ts";
import type { RouteArgs, RouteBackwardArgs, RouteShape } from "./spec.ts";

/** The arguments of `route` and `route_backward` as arrays. */
export type OnHost<Args> = {
  [P in keyof Args]: P extends keyof RouteShape ? Args[P]
    : P extends "rowOf" | "placeOf" | "expertOf" | "begin" ? Uint32Array
    : P extends "balance" ? FloatArray | undefined
    : FloatArray;
};

/** The probabilities of a row's experts, in float64. */
export function probabilities(logits: FloatArray, row: number, p: Float64Array): void {
  const experts = p.length, from = row * experts;
  let most = -Infinity, sum = 0;
  for (let e = 0; e < experts; e++) most = Math.max(most, logits[from + e]!);
  for (let e = 0; e < experts; e++) sum += p[e] = Math.exp(logits[from + e]! - most);
  for (let e = 0; e < experts; e++) p[e]! /= sum;
}

export function route(args: OnHost<RouteArgs>): void {
  const { logits, gates, rowOf, placeOf, expertOf, begin, rows, experts, chosen } = args;
  const p = new Float64Array(experts), gateOf = new Float64Array(rows * chosen);
  begin.fill(0, 0, experts + 1);
  for (let row = 0; row < rows; row++) {
    probabilities(logits, row, p);
    let sum = 0;
    for (let j = row * chosen; j < (row + 1) * chosen; j++) {
      let best = 0;
      for (let e = 1; e < experts; e++) if (p[e]! > p[best]!) best = e;
      expertOf[j] = best;
      sum += gateOf[j] = p[best]!;
      p[best] = -1;
      begin[best + 1]!++;
    }
    if (!args.normalize) continue;
    for (let j = row * chosen; j < (row + 1) * chosen; j++) gateOf[j]! /= sum;
  }
  for (let e = 0; e < experts; e++) begin[e + 1]! += begin[e]!;
  const next = begin.slice(0, experts);
  for (let j = 0; j < rows * chosen; j++) {
    const place = next[expertOf[j]!]!++;
    placeOf[j] = place;
    rowOf[place] = Math.floor(j / chosen);
    gates[place] = gateOf[j]!;
  }
}

export function routeBackward(args: OnHost<RouteBackwardArgs>): void {
  const { logits, gates, placeOf, expertOf, dgates, balance, dlogits } = args;
  const { rows, experts, chosen, normalize } = args;
  const p = new Float64Array(experts), q = new Float64Array(experts);
  for (let row = 0; row < rows; row++) {
    probabilities(logits, row, p);
    for (let e = 0; e < experts; e++) q[e] = balance?.[e] ?? 0;
    let sum = 0, dot = 0;
    for (let j = row * chosen; j < (row + 1) * chosen; j++) {
      const place = placeOf[j]!;
      sum += p[expertOf[j]!]!;
      dot += dgates[place]! * gates[place]!;
    }
    for (let j = row * chosen; j < (row + 1) * chosen; j++) {
      const dgate = dgates[placeOf[j]!]!;
      q[expertOf[j]!]! += normalize ? (dgate - dot) / sum : dgate;
    }
    let mean = 0;
    for (let e = 0; e < experts; e++) mean += p[e]! * q[e]!;
    for (let e = 0; e < experts; e++) dlogits[row * experts + e] = p[e]! * (q[e]! - mean);
  }
}
