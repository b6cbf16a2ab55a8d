/** CPU bindings of the short convolution and its gradients. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { ShortConvArgs, ShortConvBackwardArgs } from "./spec.ts";

/** Number of elements in a chunk (about 3 µs). */
const CHUNK_ELEMENTS = 4096;
/** Each chunk arranges the weight, so it has more rows than that needs. */
const MIN_ROWS = 16;

/** How rows are divided; the scratch has the weight tap by tap. */
const shape = ({ rows, d, taps }: Pick<ShortConvArgs, "rows" | "d" | "taps">) => ({
  units: rows,
  grain: Math.max(MIN_ROWS, Math.ceil(CHUNK_ELEMENTS / d)),
  scratchBytes: 4 * taps * Math.ceil(d / 16) * 16,
});

export const shortConvWasm: WasmOp<ShortConvArgs> = (args, ctx) =>
  ctx.parallel({ kernel: "short_conv", ...shape(args), args });

export const shortConvBackwardWasm: WasmOp<ShortConvBackwardArgs> = (args, ctx) => {
  ctx.parallel({ kernel: "short_conv_backward", ...shape(args), args });
  if (args.dweight === undefined) return;
  const units = Math.ceil(args.d / 16);
  ctx.parallel({ kernel: "short_conv_weight", units, grain: 1, args });
};
