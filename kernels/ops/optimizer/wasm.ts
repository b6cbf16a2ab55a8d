/** CPU bindings of AdamW and of the sums of squares. */
import { byElements } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import { type AdamwArgs, adamwFactors, SUM_CHUNK, type SumSquaresArgs } from "./spec.ts";

export const adamwWasm: WasmOp<AdamwArgs> = (args, ctx) => {
  const { keep, ...factors } = adamwFactors(args);
  byElements(ctx, "adamw", 4, { ...args, ...factors, decay: keep });
};

export const sumSquaresWasm: WasmOp<SumSquaresArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "sum_squares",
    units: Math.ceil(args.n / SUM_CHUNK),
    grain: 4,
    args,
  });
