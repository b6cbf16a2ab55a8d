/** CPU bindings of LayerNorm and its gradient. */
import { byColumns, byRows } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { LayernormArgs, LayernormBackwardArgs } from "./spec.ts";

export const layernormWasm: WasmOp<LayernormArgs> = (args, ctx) =>
  byRows(ctx, "layernorm", args, { ...args, addend: args.add });

export const layernormBackwardWasm: WasmOp<LayernormBackwardArgs> = (args, ctx) => {
  if (args.dweight) byColumns(ctx, "layernorm_dweight", args);
  byRows(ctx, "layernorm_backward", args, args);
};
