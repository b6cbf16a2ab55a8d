/**
 * CPU bindings of the matrix product and of packing. Of native/c/, products.c, blocks.c and tiles.c
 * have floats, few_rows.c, stored.c and dots.c small products and stored weights, int8.c
 * activations in bytes, rounded.c, bf16.c and bf16_pack.c products in 16 bits.
 */
import type { WasmOp } from "../common/wasm_op.ts";
import { gemm, packColumns } from "./wasm/gemm.ts";
import type { MatmulArgs, PackWeightArgs } from "./spec.ts";

export const matmulWasm: WasmOp<MatmulArgs> = (args, ctx) => {
  const { xa, loraB, r = 0, loraScale = 1, activations, ...product } = args;
  const hasLora = xa !== undefined && loraB !== undefined && r > 0;
  gemm(ctx, {
    ...product,
    a: ctx.pointer(args.a),
    b: ctx.pointer(args.b),
    out: ctx.pointer(args.out),
    int8: activations === "int8",
    steady: ctx.steady,
    lora: hasLora ? { xa: ctx.pointer(xa), loraB: ctx.pointer(loraB), r, loraScale } : undefined,
  });
};

export const packWeightWasm: WasmOp<PackWeightArgs> = ({ weight, out, n, k }, ctx) => {
  packColumns(ctx, ctx.pointer(weight), n, k, ctx.pointer(out));
};
