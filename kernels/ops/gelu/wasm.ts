/** CPU bindings of GELU and its gradient. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { GeluArgs, GeluBackwardArgs } from "./spec.ts";

/** Elements in a work unit (BLOCK of native/c/gelu.c). */
const BLOCK = 1024;
/** Units in a chunk: about 2.5 µs. */
const GRAIN = 4;

export const geluWasm: WasmOp<GeluArgs> = ({ x, out, n }, ctx) =>
  ctx.parallel({
    kernel: "gelu",
    units: Math.ceil(n / BLOCK),
    grain: GRAIN,
    args: [ctx.pointer(x), ctx.pointer(out), n],
  });

export const geluBackwardWasm: WasmOp<GeluBackwardArgs> = (args, ctx) => {
  const { dout, x, dx, activated, n } = args;
  ctx.parallel({
    kernel: "gelu_backward",
    units: Math.ceil(n / BLOCK),
    grain: GRAIN,
    args: [
      ctx.pointer(dout),
      ctx.pointer(x),
      ctx.pointer(dx),
      activated ? ctx.pointer(activated) : 0,
      n,
    ],
  });
};
