/** Host binding of the matrix product on the WASM device. */
import type { WasmOp } from "../wasm/wasm_op.ts";
import { gemm, packColumns } from "./gemm.ts";
import type { MatmulArgs, PackWeightArgs } from "./spec.ts";

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
    packedB: args.packedB ?? false,
    alpha: args.alpha ?? 1,
    accumulate: args.accumulate ?? false,
  });
};

export const packWeightWasm: WasmOp<PackWeightArgs> = ({ weight, out, n, k }, ctx) => {
  packColumns(ctx, ctx.pointer(weight), n, k, ctx.pointer(out));
};
