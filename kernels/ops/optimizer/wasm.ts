/** CPU bindings of AdamW and of the sums of squares. */
import type { WasmOp } from "../common/wasm_op.ts";
import { type AdamwArgs, adamwFactors, SUM_CHUNK, type SumSquaresArgs } from "./spec.ts";

/** Elements in a work unit of adamw (BLOCK of native/c/optimizer.c). */
const BLOCK = 1024;

export const adamwWasm: WasmOp<AdamwArgs> = (args, ctx) => {
  const { keep, ...factors } = adamwFactors(args);
  ctx.parallel({
    kernel: "adamw",
    units: Math.ceil(args.n / BLOCK),
    grain: 4,
    args: { ...args, ...factors, decay: keep },
  });
};

export const sumSquaresWasm: WasmOp<SumSquaresArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "sum_squares",
    units: Math.ceil(args.n / SUM_CHUNK),
    grain: 4,
    args,
  });
