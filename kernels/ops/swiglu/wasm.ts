/** CPU bindings of SwiGLU and its gradient. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

/** Elements in a work unit (BLOCK of native/c/rows.c and gelu.c). */
const BLOCK = 1024;
/** Units in a chunk: about 2.5 µs. */
const GRAIN = 4;

export const swigluWasm: WasmOp<SwigluArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: args.gelu ? "geglu" : "swiglu",
    units: Math.ceil(args.n / BLOCK),
    grain: GRAIN,
    args,
  });

export const swigluBackwardWasm: WasmOp<SwigluBackwardArgs> = (args, ctx) => {
  const units = Math.ceil(args.n / BLOCK), grain = GRAIN;
  if (args.gelu) return ctx.parallel({ kernel: "geglu_backward", units, grain, args });
  ctx.parallel({
    kernel: args.activated ? "swiglu_backward_and_forward" : "swiglu_backward",
    units,
    grain,
    args: { ...args, out: args.activated },
  });
};
