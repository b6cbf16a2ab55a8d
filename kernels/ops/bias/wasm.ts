/** CPU bindings of a bias and its gradient. */
import { byColumns, byRows } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { AddBiasArgs, AddBiasBackwardArgs } from "./spec.ts";

export const addBiasWasm: WasmOp<AddBiasArgs> = (args, ctx) => byRows(ctx, "add_bias", args, args);

export const addBiasBackwardWasm: WasmOp<AddBiasBackwardArgs> = (args, ctx) =>
  byColumns(ctx, "add_bias_backward", args);
