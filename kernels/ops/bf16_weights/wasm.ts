/** CPU bindings of bfloat16 weights in training. */
import { byElements } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { RoundBf16Args, WidenBf16Args } from "./spec.ts";

export const widenBf16Wasm: WasmOp<WidenBf16Args> = (args, ctx) =>
  byElements(ctx, "widen_bf16", 4, args);

export const roundBf16Wasm: WasmOp<RoundBf16Args> = (args, ctx) => {
  if (args.rest !== undefined) return byElements(ctx, "round_bf16_kahan", 4, args);
  byElements(ctx, "round_bf16_stochastic", 2, { ...args, firstBlock: args.first / 4 });
};
