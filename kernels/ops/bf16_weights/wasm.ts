/** CPU bindings of bfloat16 weights in training. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { RoundBf16Args, WidenBf16Args } from "./spec.ts";

/** Elements in a work unit (BLOCK of native/c/bf16_weights.c). */
const BLOCK = 1024;

export const widenBf16Wasm: WasmOp<WidenBf16Args> = ({ weight, rest, out, n }, ctx) =>
  ctx.parallel({
    kernel: "widen_bf16",
    units: Math.ceil(n / BLOCK),
    grain: 4,
    args: [ctx.pointer(weight), rest === undefined ? 0 : ctx.pointer(rest), ctx.pointer(out), n],
  });

export const roundBf16Wasm: WasmOp<RoundBf16Args> = (args, ctx) => {
  const { rest, n, first, c1, c2, c3, seedLow, seedHigh } = args;
  const units = Math.ceil(n / BLOCK), x = ctx.pointer(args.x), weight = ctx.pointer(args.weight);
  if (rest !== undefined) {
    const list = [x, weight, ctx.pointer(rest), n];
    return ctx.parallel({ kernel: "round_bf16_kahan", units, grain: 4, args: list });
  }
  ctx.parallel({
    kernel: "round_bf16_stochastic",
    units,
    grain: 2,
    args: [x, weight, n, first / 4, c1, c2, c3, seedLow, seedHigh],
  });
};
