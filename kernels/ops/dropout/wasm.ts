/** CPU binding of dropout. */
import { byRows } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import { type DropoutArgs, dropoutThreshold } from "./spec.ts";

export const dropoutWasm: WasmOp<DropoutArgs> = (args, ctx) => {
  if (args.d === 0) return;
  const threshold = dropoutThreshold(args.p), scale = 1 / (1 - args.p);
  byRows(ctx, "dropout", args, { ...args, threshold, scale });
};
