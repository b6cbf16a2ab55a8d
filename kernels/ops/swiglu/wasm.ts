/** CPU bindings of SwiGLU and its gradient. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

/** Elements in a work unit (BLOCK of native/c/rows.c and gelu.c). */
const BLOCK = 1024;
/** Units in a chunk: about 2.5 µs. */
const GRAIN = 4;

export const swigluWasm: WasmOp<SwigluArgs> = ({ gate, up, out, n, gelu }, ctx) =>
  ctx.parallel({
    kernel: gelu ? "geglu" : "swiglu",
    units: Math.ceil(n / BLOCK),
    grain: GRAIN,
    args: [ctx.pointer(gate), ctx.pointer(up), ctx.pointer(out), n],
  });

export const swigluBackwardWasm: WasmOp<SwigluBackwardArgs> = (args, ctx) => {
  const { activated, n, gelu } = args;
  const pointers = [args.dout, args.gate, args.up, args.dgate, args.dup].map((t) => ctx.pointer(t));
  if (gelu) {
    ctx.parallel({
      kernel: "geglu_backward",
      units: Math.ceil(n / BLOCK),
      grain: GRAIN,
      args: [...pointers, activated ? ctx.pointer(activated) : 0, n],
    });
    return;
  }
  ctx.parallel({
    kernel: activated ? "swiglu_backward_and_forward" : "swiglu_backward",
    units: Math.ceil(n / BLOCK),
    grain: GRAIN,
    args: activated ? [...pointers, ctx.pointer(activated), n] : [...pointers, n],
  });
};
