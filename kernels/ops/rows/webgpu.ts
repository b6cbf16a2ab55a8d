/**
 * GPU bindings of the operations that move rows: one invocation for each element, or for four of a
 * stored weight. A table beyond one binding is bound part by part; each dispatch moves the rows
 * that lie in its part.
 */
import type { Tensor } from "../../tensor.ts";
import { perElement } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { inRowParts, inStoredParts } from "../common/webgpu_parts.ts";
import { storedRows } from "../../weights/layout.ts";
import type { WeightType } from "../../weights/types.ts";
import { BLOCK_PARAMS, rowBufferType, rowFour, rowParams } from "../../weights/widen.wgsl.ts";
import type { WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import type { GatherRowsArgs, ScatterAddRowsArgs, ScatterRowsArgs } from "./spec.ts";

/** WGSL: the entry point with one invocation for each element `column` of row `r`. */
function perRowElement(body: string): string {
  return perElement(
    `let r = i / p.d;
  let column = i - r * p.d;
  ${body}`,
  );
}

/** @param type the elements' type: a NaN would lose its bits if it were read as another type */
const move = variants(({ gather, type }: { gather: boolean; type: "f32" | "u32" }) => ({
  name: gather ? "gather_rows" : "scatter_rows",
  reads: `${type} ${gather ? "table" : "src"}, u32 index`,
  writes: `${type} ${gather ? "rows_out" : "table"}`,
  // The rows [first, first + count) of the table are bound.
  params: "u32 n d first count",
  code: perRowElement(`
  let at = index[r] - p.first;
  if (at >= p.count) { return; }
  ${gather ? "rows_out[i] = table[at * p.d + column];" : "table[at * p.d + column] = src[i];"}`),
}));

/** Dispatches every part of the moved rows with every part of the table. */
function moveRows(
  ctx: WebgpuContext,
  gather: boolean,
  { table, index, moved, rows, d }: {
    table: Tensor;
    index: Tensor;
    moved: Tensor;
    rows: number;
    d: number;
  },
): void {
  inRowParts(
    ctx,
    rows,
    d,
    (part, count) =>
      inRowParts(ctx, tableRows(table, d), d, (tablePart, tableCount, first) =>
        ctx.dispatch({
          kernel: move({ gather, type: table.dtype === "u32" ? "u32" : "f32" }),
          buffers: {
            table: tablePart(table, d),
            index: part(index, 1),
            [gather ? "rows_out" : "src"]: part(moved, d),
          },
          params: { n: count * d, d, first, count: tableCount },
        })),
  );
}

function tableRows(table: Tensor, d: number): number {
  return d === 0 ? 0 : Math.floor(table.length / d);
}

export const gatherRowsWebgpu: WebgpuOp<GatherRowsArgs> = (args, ctx) => {
  const { table, weightType, index, out, rows, d } = args;
  if (weightType === undefined) moveRows(ctx, true, { table, index, moved: out, rows, d });
  else gatherStored(args, weightType, ctx);
};

/** An invocation gathers four elements of a stored weight; p.n is the number of invocations. */
const gatherFours = variants(({ type }: { type: WeightType }) => ({
  name: `gather_rows.${type}`,
  reads: `${rowBufferType(type)} table, u32 index`,
  writes: "f32 rows_out",
  params: `u32 n d first count, ${BLOCK_PARAMS}`,
  code: `${rowFour("table", type)}
${
    perElement(`let fours = (p.d + 3u) / 4u;
  let r = i / fours;
  let column = 4u * (i - r * fours);
  let row = index[r] - p.first;
  if (row >= p.count) { return; }
  let values = row_four(row, column, p.d);
  let at = r * p.d + column;
  for (var j = 0u; j < min(4u, p.d - column); j++) { rows_out[at + j] = values[j]; }`)
  }`,
}));

function gatherStored(args: GatherRowsArgs, type: WeightType, ctx: WebgpuContext): void {
  const { table: weight, index, out, rows, d } = args;
  const stored = { weight, type, rows: storedRows(type, d, weight.length), d };
  inRowParts(
    ctx,
    rows,
    d,
    (part, count) =>
      inStoredParts(ctx, stored, (table, tableCount, first) => {
        const n = count * Math.ceil(d / 4);
        ctx.dispatch({
          kernel: gatherFours({ type }),
          buffers: { table, index: part(index, 1), rows_out: part(out, d) },
          params: { n, d, first, count: tableCount, ...rowParams(type, d) },
        });
      }),
  );
}

export const scatterRowsWebgpu: WebgpuOp<ScatterRowsArgs> = ({ src, index, table, rows, d }, ctx) =>
  moveRows(ctx, false, { table, index, moved: src, rows, d });

const scatterAdd = variants(() => ({
  name: "scatter_add_rows",
  reads: "f32 src, u32 order runs place",
  writes: "f32 table",
  // The rows [src_first, src_first + src_count) of the source are bound.
  params: "u32 n d first count src_first src_count",
  code: perRowElement(`
  let at = place[r] - p.first;
  if (at >= p.count) { return; }
  let end = runs[r + 1u];
  var sum = 0.0;
  for (var e = runs[r]; e < end; e++) {
    let row = order[e] - p.src_first;
    if (row < p.src_count) { sum += src[row * p.d + column]; }
  }
  table[at * p.d + column] += sum;`),
}));

/** The rows of a run that lie in different parts of the source are summed part by part. */
export const scatterAddRowsWebgpu: WebgpuOp<ScatterAddRowsArgs> = (args, ctx) => {
  const { src, order, runs, target, table, runCount, d } = args;
  inRowParts(
    ctx,
    tableRows(table, d),
    d,
    (part, count, first) =>
      inRowParts(ctx, tableRows(src, d), d, (srcPart, src_count, src_first) =>
        ctx.dispatch({
          kernel: scatterAdd({}),
          buffers: { src: srcPart(src, d), order, runs, place: target, table: part(table, d) },
          params: { n: runCount * d, d, first, count, src_first, src_count },
        })),
  );
};
