/** CPU bindings of the matrix product and of packing. */
import type { WasmOp } from "../common/wasm_op.ts";
import { gemm, packColumns } from "./wasm/gemm.ts";
import type { MatmulArgs, PackWeightArgs } from "./spec.ts";

export const matmulWasm: WasmOp<MatmulArgs> = (args, ctx) => {
  const { xa, loraB, r = 0 } = args;
  const hasLora = xa !== undefined && loraB !== undefined && r > 0;
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
    steady: ctx.steady,
    lora: hasLora
      ? { xa: ctx.pointer(xa), loraB: ctx.pointer(loraB), r, loraScale: args.loraScale ?? 1 }
      : undefined,
  });
};

export const packWeightWasm: WasmOp<PackWeightArgs> = ({ weight, out, n, k }, ctx) => {
  packColumns(ctx, ctx.pointer(weight), n, k, ctx.pointer(out));
};
