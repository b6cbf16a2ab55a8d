/** CPU bindings of the short convolution and its gradients. */
import { byColumns } from "../common/wasm_jobs.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { ShortConvArgs, ShortConvBackwardArgs } from "./spec.ts";

/** Number of elements in a chunk (about 3 µs). */
const CHUNK_ELEMENTS = 4096;
/** Minimum number of rows in a chunk, because each chunk first arranges the weight. */
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
  if (args.dweight) byColumns(ctx, "short_conv_weight", args);
};
