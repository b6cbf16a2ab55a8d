/** CPU bindings of a bias and its gradient. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { AddBiasArgs, AddBiasBackwardArgs } from "./spec.ts";

/** Number of elements in a chunk: about 2.5 µs. */
const CHUNK = 8192;
/** Columns in a work unit of the gradient (native/c/bias.c). */
const COLUMNS = 16;

export const addBiasWasm: WasmOp<AddBiasArgs> = (args, ctx) =>
  ctx.parallel({
    kernel: "add_bias",
    units: args.rows,
    grain: Math.ceil(CHUNK / args.d),
    args,
  });

export const addBiasBackwardWasm: WasmOp<AddBiasBackwardArgs> = (args, ctx) => {
  const { rows, d } = args;
  ctx.parallel({
    kernel: "add_bias_backward",
    units: Math.ceil(d / COLUMNS),
    grain: Math.ceil(CHUNK / (COLUMNS * Math.max(rows, 1))),
    args,
  });
};
