/** Host binding of the matrix product on the WASM device. */
import type { WasmOp } from "../wasm/wasm_op.ts";
import { gemm } from "./gemm.ts";
import type { MatmulArgs } from "./spec.ts";

export const matmulWasm: WasmOp<MatmulArgs> = (args, ctx) => {
  gemm(ctx, {
    a: ctx.pointer(args.a),
    b: ctx.pointer(args.b),
    out: ctx.pointer(args.out),
    m: args.m,
    n: args.n,
    k: args.k,
    transA: args.transA ?? false,
    transB: args.transB ?? false,
    alpha: args.alpha ?? 1,
    accumulate: args.accumulate ?? false,
  });
};
