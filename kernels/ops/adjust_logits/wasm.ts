/** CPU binding of adjust_logits. */
import { byRows } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { AdjustLogitsArgs } from "./spec.ts";

/** Number of logits in a chunk: about 2.5 µs of copying. */
const CHUNK = 16384;

export const adjustLogitsWasm: WasmOp<AdjustLogitsArgs> = (args, ctx) =>
  byRows(ctx, "adjust_logits", { rows: args.rows, d: args.vocab }, args, CHUNK);
