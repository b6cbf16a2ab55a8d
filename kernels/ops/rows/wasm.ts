/** CPU bindings of the operations that move rows. */
import { byRows } from "../common/wasm_jobs.ts";
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
  const { weightType, rows, d } = args;
  if (weightType === undefined) return byRows(ctx, "gather_rows", args, args, CHUNK);
  ctx.parallel({
    kernel: "gather_stored_rows",
    units: rows,
    grain: Math.ceil(CHUNK_WIDENED / d),
    args: { ...args, type: typeCode(weightType) },
    scratchBytes: ROW_BYTES,
  });
};

export const scatterRowsWasm: WasmOp<ScatterRowsArgs> = (args, ctx) =>
  byRows(ctx, args.bf16 ? "scatter_bf16_rows" : "scatter_rows", args, args, CHUNK);

export const scatterAddRowsWasm: WasmOp<ScatterAddRowsArgs> = (args, ctx) => {
  const { runCount, d } = args;
  // Runs differ in length. Small chunks keep all threads busy for the same time.
  const slicesPerRun = args.order.length / Math.max(runCount, 1);
  ctx.parallel({
    kernel: "scatter_add_rows",
    units: runCount * Math.ceil(d / SLICE),
    grain: Math.max(1, Math.ceil(CHUNK / 4 / (SLICE * Math.max(slicesPerRun, 1)))),
    args,
  });
};
