/** CPU bindings of gathering and scattering rows. */
import type { WasmOp } from "../wasm/wasm_op.ts";
import { refuseStored } from "../weights/missing.ts";
import type { GatherRowsArgs, ScatterAddRowsArgs, ScatterRowsArgs } from "./spec.ts";

/** Elements of a chunk: some 2.5 µs. */
const CHUNK = 16_384;
/** Columns of a work unit of scatter_add_rows in wasm.as.ts. */
const SLICE = 64;

export const gatherRowsWasm: WasmOp<GatherRowsArgs> = (args, ctx) => {
  const { table, index, out, rows, d } = args;
  refuseStored("wasm", "gather_rows", args.weightType);
  ctx.parallel({
    kernel: "gather_rows",
    units: rows,
    grain: Math.ceil(CHUNK / d),
    args: [ctx.pointer(table), ctx.pointer(index), ctx.pointer(out), d],
  });
};

export const scatterRowsWasm: WasmOp<ScatterRowsArgs> = ({ src, index, table, rows, d }, ctx) =>
  ctx.parallel({
    kernel: "scatter_rows",
    units: rows,
    grain: Math.ceil(CHUNK / d),
    args: [ctx.pointer(src), ctx.pointer(index), ctx.pointer(table), d],
  });

export const scatterAddRowsWasm: WasmOp<ScatterAddRowsArgs> = (args, ctx) => {
  const { runCount, d } = args;
  const units = runCount * Math.ceil(d / SLICE);
  // Runs differ in length: small chunks keep the threads evenly busy.
  const slicesPerRun = args.order.length / Math.max(runCount, 1);
  ctx.parallel({
    kernel: "scatter_add_rows",
    units,
    grain: Math.max(1, Math.ceil(CHUNK / 4 / (SLICE * Math.max(slicesPerRun, 1)))),
    args: [
      ctx.pointer(args.src),
      ctx.pointer(args.order),
      ctx.pointer(args.runs),
      ctx.pointer(args.target),
      ctx.pointer(args.table),
      d,
    ],
  });
};
