/** CPU bindings of GELU and its gradient. */
import { byElements } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { GeluArgs, GeluBackwardArgs } from "./spec.ts";

export const geluWasm: WasmOp<GeluArgs> = (args, ctx) => byElements(ctx, "gelu", 4, args);

export const geluBackwardWasm: WasmOp<GeluBackwardArgs> = (args, ctx) =>
  byElements(ctx, "gelu_backward", 4, args);
