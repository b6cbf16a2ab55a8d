/** CPU bindings of AdamW and of the sums of squares. */
import type { WasmOp } from "../common/wasm_op.ts";
import { type AdamwArgs, adamwFactors, SUM_CHUNK, type SumSquaresArgs } from "./spec.ts";

/** Elements in a work unit of adamw (BLOCK of native/c/optimizer.c). */
const BLOCK = 1024;

export const adamwWasm: WasmOp<AdamwArgs> = (args, ctx) => {
  const { keep, rest1, rest2, step, root } = adamwFactors(args);
  ctx.parallel({
    kernel: "adamw",
    units: Math.ceil(args.n / BLOCK),
    grain: 4,
    args: [
      ctx.pointer(args.param),
      ctx.pointer(args.grad),
      ctx.pointer(args.m),
      ctx.pointer(args.v),
      args.n,
      keep,
      args.beta1,
      rest1,
      args.beta2,
      rest2,
      step,
      root,
      args.eps,
      args.gradScale,
    ],
  });
};

export const sumSquaresWasm: WasmOp<SumSquaresArgs> = ({ x, partial, n }, ctx) =>
  ctx.parallel({
    kernel: "sum_squares",
    units: Math.ceil(n / SUM_CHUNK),
    grain: 4,
    args: [ctx.pointer(x), ctx.pointer(partial), n],
  });
