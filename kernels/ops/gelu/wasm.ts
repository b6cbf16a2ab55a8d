/** CPU bindings of GELU and its gradient. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { GeluArgs, GeluBackwardArgs } from "./spec.ts";

/** Elements in a work unit (BLOCK of native/c/gelu.c). */
const BLOCK = 1024;
/** Units in a chunk: about 2.5 µs. */
const GRAIN = 4;

export const geluWasm: WasmOp<GeluArgs> = (args, ctx) =>
  ctx.parallel({ kernel: "gelu", units: Math.ceil(args.n / BLOCK), grain: GRAIN, args });

export const geluBackwardWasm: WasmOp<GeluBackwardArgs> = (args, ctx) =>
  ctx.parallel({ kernel: "gelu_backward", units: Math.ceil(args.n / BLOCK), grain: GRAIN, args });
