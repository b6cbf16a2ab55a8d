/** CPU bindings of the matrix product and of packing. */
import type { WasmOp } from "../common/wasm_op.ts";
import { gemm, packColumns } from "./wasm/gemm.ts";
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
    weightType: args.weightType,
    int8: args.activations === "int8",
    alpha: args.alpha ?? 1,
    accumulate: args.accumulate ?? false,
  });
  const { xa, loraB, r = 0 } = args;
  if (xa === undefined || loraB === undefined || r === 0) return;
  gemm(ctx, {
    a: ctx.pointer(xa),
    b: ctx.pointer(loraB),
    out: ctx.pointer(args.out),
    m: args.m,
    n: args.n,
    k: r,
    transA: false,
    transB: true,
    alpha: args.loraScale ?? 1,
    accumulate: true,
  });
};

export const packWeightWasm: WasmOp<PackWeightArgs> = ({ weight, out, n, k }, ctx) => {
  packColumns(ctx, ctx.pointer(weight), n, k, ctx.pointer(out));
};
