/**
 * SwiGLU: out = silu(gate)·up, silu(a) = a·σ(a). Backward, with σ = σ(gate):
 *   dgate = dout·up·σ·(1 + gate·(1 − σ));  dup = dout·gate·σ.
 * σ must not overflow for large negative gates. With `gelu` (GeGLU; Shazeer 2020) the function of
 * the gate is GELU in its tanh form (../gelu/spec.ts) in place of silu, with `sigmoid` σ itself.
 * With a `limit` (gpt-oss) out = a·σ(1.702·a)·(b + 1), where a is the gate, at most the limit, and
 * b is up within ±limit; where an input is beyond, its derivative is 0.
 */
import type { Tensor } from "../../tensor.ts";

/** Which function of the gate; default SiLU. At most one of them is given. */
export interface GateOptions {
  gelu?: boolean;
  sigmoid?: boolean;
  /** Above 0. */
  limit?: number;
}

/** The factor of the gate within σ, with a limit. */
export const STEEPNESS = 1.702;

export interface SwigluArgs extends GateOptions {
  gate: Tensor; // [n]
  up: Tensor; // [n]
  out: Tensor; // [n], may be gate or up
  n: number;
}

export interface SwigluBackwardArgs extends GateOptions {
  dout: Tensor; // [n]
  gate: Tensor; // [n]
  up: Tensor; // [n]
  dgate: Tensor; // [n], may be gate
  dup: Tensor; // [n], may be up
  /** Receives the output of the forward again; absent where it is not needed. */
  activated?: Tensor; // [n]
  n: number;
}
