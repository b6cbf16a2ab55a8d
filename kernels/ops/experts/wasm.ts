/**
 * CPU bindings of the operations on experts. The choice is made on the host, and each expert's rows
 * are a product of their own.
 */
import { gemm } from "../matmul/wasm/gemm.ts";
import type { WasmContext, WasmOp } from "../common/wasm_op.ts";
import { storedWords } from "../../weights/types.ts";
import { route, routeBackward } from "./choose.ts";
import type { ExpertGradientArgs, ExpertMatmulArgs, RouteArgs, RouteBackwardArgs } from "./spec.ts";

export const routeWasm: WasmOp<RouteArgs> = (args, ctx) =>
  route({
    ...args,
    logits: ctx.f32(args.logits),
    gates: ctx.f32(args.gates),
    rowOf: ctx.u32(args.rowOf),
    placeOf: ctx.u32(args.placeOf),
    expertOf: ctx.u32(args.expertOf),
    begin: ctx.u32(args.begin),
  });

export const routeBackwardWasm: WasmOp<RouteBackwardArgs> = (args, ctx) =>
  routeBackward({
    ...args,
    logits: ctx.f32(args.logits),
    gates: ctx.f32(args.gates),
    placeOf: ctx.u32(args.placeOf),
    expertOf: ctx.u32(args.expertOf),
    dgates: ctx.f32(args.dgates),
    balance: args.balance && ctx.f32(args.balance),
    dlogits: ctx.f32(args.dlogits),
  });

/** Calls `work` for each expert that has rows. */
function eachExpert(
  ctx: WasmContext,
  args: Pick<ExpertMatmulArgs, "begin" | "experts">,
  work: (expert: number, first: number, rows: number) => void,
): void {
  const begin = ctx.u32(args.begin).slice(0, args.experts + 1);
  for (let e = 0; e < args.experts; e++) {
    const first = begin[e]!, rows = begin[e + 1]! - first;
    if (rows === 0) continue;
    const mark = ctx.mark();
    work(e, first, rows);
    ctx.release(mark);
  }
}

export const expertMatmulWasm: WasmOp<ExpertMatmulArgs> = (args, ctx) => {
  const { n, k, transB = false, alpha = 1, accumulate = false, weightType } = args;
  const a = ctx.pointer(args.a), b = ctx.pointer(args.b), out = ctx.pointer(args.out);
  const [height, width] = transB ? [n, k] : [k, n];
  const sizes = { n, k, transB, weightType, alpha, accumulate, steady: true };
  eachExpert(ctx, args, (e, first, m) => {
    const before = e * height;
    const words = weightType === undefined
      ? before * width
      : storedWords(weightType, before, width);
    gemm(ctx, {
      ...sizes,
      m,
      a: a + 4 * first * k,
      b: b + 4 * words,
      out: out + 4 * first * n,
    });
  });
};

export const expertGradientWasm: WasmOp<ExpertGradientArgs> = (args, ctx) => {
  const { m, n, alpha = 1 } = args, sizes = { m, n, transA: true, alpha, accumulate: true };
  const a = ctx.pointer(args.a), b = ctx.pointer(args.b), out = ctx.pointer(args.out);
  eachExpert(ctx, args, (e, first, k) => {
    gemm(ctx, {
      ...sizes,
      k,
      a: a + 4 * first * m,
      b: b + 4 * first * n,
      out: out + 4 * e * m * n,
    });
  });
};
