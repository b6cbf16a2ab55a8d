/** CPU bindings of a bias and its gradient. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { AddBiasArgs, AddBiasBackwardArgs } from "./spec.ts";

/** Number of elements in a chunk: about 2.5 µs. */
const CHUNK = 8192;
/** Columns in a work unit of the gradient (native/c/bias.c). */
const COLUMNS = 16;

export const addBiasWasm: WasmOp<AddBiasArgs> = ({ x, bias, rows, d }, ctx) =>
  ctx.parallel({
    kernel: "add_bias",
    units: rows,
    grain: Math.ceil(CHUNK / d),
    args: [ctx.pointer(x), ctx.pointer(bias), d],
  });

export const addBiasBackwardWasm: WasmOp<AddBiasBackwardArgs> = (args, ctx) => {
  const { dout, dbias, rows, d } = args;
  ctx.parallel({
    kernel: "add_bias_backward",
    units: Math.ceil(d / COLUMNS),
    grain: Math.ceil(CHUNK / (COLUMNS * Math.max(rows, 1))),
    args: [ctx.pointer(dout), ctx.pointer(dbias), rows, d],
  });
};
