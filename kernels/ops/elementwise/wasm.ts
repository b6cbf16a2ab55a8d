/** CPU bindings of add, copy and fill. */
import { byElements } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { AddArgs, CopyArgs, FillArgs } from "./spec.ts";

export const addWasm: WasmOp<AddArgs> = (args, ctx) =>
  byElements(ctx, "add", 16, { ...args, scale: args.scale ?? 1 });

export const copyWasm: WasmOp<CopyArgs> = (args, ctx) => byElements(ctx, "copy", 32, args);

export const fillWasm: WasmOp<FillArgs> = (args, ctx) => byElements(ctx, "fill", 32, args);
