/** CPU bindings of the elementwise operations. */
import { byElements } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type {
  AddArgs,
  CopyArgs,
  FillArgs,
  MultiplyArgs,
  SoftCapArgs,
  SoftCapBackwardArgs,
} from "./spec.ts";

export const addWasm: WasmOp<AddArgs> = (args, ctx) =>
  byElements(ctx, "add", 16, { ...args, scale: args.scale ?? 1 });

export const copyWasm: WasmOp<CopyArgs> = (args, ctx) => byElements(ctx, "copy", 32, args);

export const fillWasm: WasmOp<FillArgs> = (args, ctx) => byElements(ctx, "fill", 32, args);

export const multiplyWasm: WasmOp<MultiplyArgs> = (args, ctx) =>
  byElements(ctx, "multiply_each", 16, args);

export const softCapWasm: WasmOp<SoftCapArgs> = (args, ctx) => byElements(ctx, "soft_cap", 4, args);

export const softCapBackwardWasm: WasmOp<SoftCapBackwardArgs> = (args, ctx) =>
  byElements(ctx, "soft_cap_backward", 16, args);
