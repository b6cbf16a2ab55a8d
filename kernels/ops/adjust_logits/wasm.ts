/** CPU binding of adjust_logits. */
import type { Tensor } from "../../tensor.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { AdjustLogitsArgs } from "./spec.ts";

/** Number of logits in a chunk: about 2.5 µs of copying. */
const CHUNK = 16384;

export const adjustLogitsWasm: WasmOp<AdjustLogitsArgs> = (args, ctx) => {
  const pointer = (tensor: Tensor | undefined) => tensor === undefined ? 0 : ctx.pointer(tensor);
  ctx.parallel({
    kernel: "adjust_logits",
    units: args.rows,
    grain: Math.ceil(CHUNK / args.vocab),
    args: [
      ctx.pointer(args.logits),
      ctx.pointer(args.out),
      args.vocab,
      args.penalty,
      pointer(args.seen),
      pointer(args.slots),
      pointer(args.newest),
      pointer(args.forbidden),
      args.forbiddenCount,
      pointer(args.allowed),
    ],
  });
};
