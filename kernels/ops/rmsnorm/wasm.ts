/** CPU bindings of RMSNorm and its gradient. */
import { byColumns, byRows } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { RmsnormArgs, RmsnormBackwardArgs } from "./spec.ts";

export const rmsnormWasm: WasmOp<RmsnormArgs> = (args, ctx) =>
  byRows(ctx, "rmsnorm", args, { ...args, addend: args.add });

export const rmsnormBackwardWasm: WasmOp<RmsnormBackwardArgs> = (args, ctx) => {
  // dweight first, because dx may be dout.
  if (args.dweight) byColumns(ctx, "rmsnorm_dweight", args);
  byRows(ctx, "rmsnorm_backward", args, args);
};
