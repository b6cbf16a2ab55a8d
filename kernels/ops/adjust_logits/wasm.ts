/** CPU binding of adjust_logits. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { AdjustLogitsArgs } from "./spec.ts";

/** Number of logits in a chunk: about 2.5 µs of copying. */
const CHUNK = 16384;

export const adjustLogitsWasm: WasmOp<AdjustLogitsArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "adjust_logits",
    units: args.rows,
    grain: Math.ceil(CHUNK / args.vocab),
    args,
  });
