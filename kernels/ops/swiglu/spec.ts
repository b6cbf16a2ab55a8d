/**
 * SwiGLU: out = silu(gate)·up, silu(a) = a·σ(a). Backward, with σ = σ(gate):
 *   dgate = dout·up·σ·(1 + gate·(1 − σ));  dup = dout·gate·σ.
 * σ must not overflow for large negative gates. With `gelu` (GeGLU; Shazeer 2020) the function of
 * the gate is GELU in its tanh form (../gelu/spec.ts) in place of silu, with `sigmoid` σ itself.
 */
import type { Tensor } from "../../tensor.ts";

export interface SwigluArgs {
  gate: Tensor; // [n]
  up: Tensor; // [n]
  out: Tensor; // [n], may be gate or up
  n: number;
  gelu?: boolean;
  sigmoid?: boolean;
}

export interface SwigluBackwardArgs {
  dout: Tensor; // [n]
  gate: Tensor; // [n]
  up: Tensor; // [n]
  dgate: Tensor; // [n], may be gate
  dup: Tensor; // [n], may be up
  /** Receives the output of the forward again; absent where it is not needed. */
  activated?: Tensor; // [n]
  n: number;
  gelu?: boolean;
  sigmoid?: boolean;
}
