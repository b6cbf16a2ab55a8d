/** CPU bindings of SwiGLU and its backward. */
import type { WasmOp } from "../wasm/wasm_op.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

/** Elements of a work unit in wasm.as.ts. */
const BLOCK = 1024;
/** Units of a chunk: some 2.5 µs. */
const GRAIN = 4;

export const swigluWasm: WasmOp<SwigluArgs> = ({ gate, up, out, n }, ctx) =>
  ctx.parallel({
    kernel: "swiglu",
    units: Math.ceil(n / BLOCK),
    grain: GRAIN,
    args: [ctx.pointer(gate), ctx.pointer(up), ctx.pointer(out), n],
  });

export const swigluBackwardWasm: WasmOp<SwigluBackwardArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "swiglu_backward",
    units: Math.ceil(args.n / BLOCK),
    grain: GRAIN,
    args: [
      ctx.pointer(args.dout),
      ctx.pointer(args.gate),
      ctx.pointer(args.up),
      ctx.pointer(args.dgate),
      ctx.pointer(args.dup),
      args.n,
    ],
  });
