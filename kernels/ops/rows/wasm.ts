/** CPU bindings of the operations that move rows. */
import type { WasmOp } from "../common/wasm_op.ts";
import { ROW_BYTES, typeCode } from "../../weights/wasm.ts";
import type { GatherRowsArgs, ScatterAddRowsArgs, ScatterRowsArgs } from "./spec.ts";

/** Number of elements in a chunk: about 2.5 µs. */
const CHUNK = 16_384;
/** The same for a stored weight, where a row is widened with its neighbours in a panel. */
const CHUNK_WIDENED = 2048;
/** Columns in a work unit of scatter_add_rows (SLICE of native/c/rows.c). */
const SLICE = 64;

export const gatherRowsWasm: WasmOp<GatherRowsArgs> = (args, ctx) => {
  const { table, weightType, index, out, rows, d } = args;
  const pointers = [ctx.pointer(table), ctx.pointer(index), ctx.pointer(out)];
  if (weightType === undefined) {
    const grain = Math.ceil(CHUNK / d);
    ctx.parallel({ kernel: "gather_rows", units: rows, grain, args: [...pointers, d] });
    return;
  }
  ctx.parallel({
    kernel: "gather_stored_rows",
    units: rows,
    grain: Math.ceil(CHUNK_WIDENED / d),
    args: [typeCode(weightType), ...pointers, d],
    scratchBytes: ROW_BYTES,
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
  // Runs differ in length. Small chunks keep all threads busy for the same time.
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
