/** CPU bindings of a bias and its gradient. */
import { byColumns, byRows } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { AddBiasArgs, AddBiasBackwardArgs } from "./spec.ts";

export const addBiasWasm: WasmOp<AddBiasArgs> = ({ scale = 1, ...args }, ctx) =>
  byRows(ctx, "add_bias", args, { ...args, scale });

export const addBiasBackwardWasm: WasmOp<AddBiasBackwardArgs> = ({ scale = 1, ...args }, ctx) =>
  byColumns(ctx, "add_bias_backward", { ...args, scale });
