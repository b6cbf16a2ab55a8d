/** CPU bindings of DoRA's magnitudes. */
import { byColumns, byRows } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { DoraGainArgs, ScaleColumnsArgs, ScaleColumnsBackwardArgs } from "./spec.ts";

export const doraGainWasm: WasmOp<DoraGainArgs> = (args, ctx) =>
  byColumns(ctx, "dora_gain", { ...args, rows: args.r });

export const scaleColumnsWasm: WasmOp<ScaleColumnsArgs> = ({ byRow = false, ...args }, ctx) =>
  byRows(ctx, "scale_columns", args, { ...args, byRow });

export const scaleColumnsBackwardWasm: WasmOp<ScaleColumnsBackwardArgs> = (args, ctx) =>
  byColumns(ctx, "scale_columns_backward", args);
