/** CPU bindings of SwiGLU and its gradient; with GELU as the gate they are in native/c/gelu.c. */
import { byElements } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

export const swigluWasm: WasmOp<SwigluArgs> = (args, ctx) =>
  byElements(ctx, args.gelu ? "geglu" : "swiglu", 4, args);

export const swigluBackwardWasm: WasmOp<SwigluBackwardArgs> = (args, ctx) =>
  byElements(ctx, args.gelu ? "geglu_backward" : "swiglu_backward", 4, args);
