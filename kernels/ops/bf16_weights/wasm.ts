/** CPU bindings of bfloat16 weights in training. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { RoundBf16Args, WidenBf16Args } from "./spec.ts";

/** Elements in a work unit (BLOCK of native/c/bf16_weights.c). */
const BLOCK = 1024;

export const widenBf16Wasm: WasmOp<WidenBf16Args> = (args, ctx) =>
  ctx.parallel({
    kernel: "widen_bf16",
    units: Math.ceil(args.n / BLOCK),
    grain: 4,
    args,
  });

export const roundBf16Wasm: WasmOp<RoundBf16Args> = (args, ctx) => {
  const units = Math.ceil(args.n / BLOCK);
  if (args.rest !== undefined) {
    return ctx.parallel({ kernel: "round_bf16_kahan", units, grain: 4, args });
  }
  ctx.parallel({
    kernel: "round_bf16_stochastic",
    units,
    grain: 2,
    args: { ...args, firstBlock: args.first / 4 },
  });
};
