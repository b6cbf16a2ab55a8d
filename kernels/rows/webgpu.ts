/**
 * Moving rows on the GPU: one invocation an element, rows found by an index on the device. A table beyond one
 * binding is gone through in parts, each of which does the rows that lie in it.
 */
import type { Tensor } from "../device.ts";
import { perElement } from "../webgpu/entry.ts";
import { variants } from "../webgpu/kernel.ts";
import { inRowParts } from "../webgpu/parts.ts";
import { GROUP } from "../webgpu/reduce.ts";
import { refuseStored } from "../weights/missing.ts";
import type { WebgpuContext, WebgpuOp } from "../webgpu/webgpu_op.ts";
import type { GatherRowsArgs, ScatterAddRowsArgs, ScatterRowsArgs } from "./spec.ts";

/** WGSL: element `column` of row `r` of p.rows rows. */
function perRowElement(body: string): string {
  return perElement(
    `let r = i / p.d;
  let column = i - r * p.d;
  ${body}`,
    "p.rows * p.d",
  );
}

const move = variants(({ gather }: { gather: boolean }) => ({
  name: gather ? "gather_rows" : "scatter_rows",
  buffers: gather
    ? { table: "read f32", index: "read u32", rows_out: "write f32" }
    : { src: "read f32", index: "read u32", table: "write f32" },
  // Rows [first, first + count) of the table are bound.
  params: { rows: "u32" as const, d: "u32" as const, first: "u32" as const, count: "u32" as const },
  code: perRowElement(`
  let at = index[r] - p.first;
  if (at >= p.count) { return; }
  ${gather ? "rows_out[i] = table[at * p.d + column];" : "table[at * p.d + column] = src[i];"}`),
}));

/** Parts of the rows that are moved, each with every part of the table. */
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
          kernel: move({ gather }),
          buffers: {
            table: tablePart(table, d),
            index: part(index, 1),
            [gather ? "rows_out" : "src"]: part(moved, d),
          },
          params: { rows: count, d, first, count: tableCount },
          groups: ctx.grid(Math.ceil(count * d / GROUP)),
        })),
  );
}

function tableRows(table: Tensor, d: number): number {
  return d === 0 ? 0 : Math.floor(table.length / d);
}

export const gatherRowsWebgpu: WebgpuOp<GatherRowsArgs> = (args, ctx) => {
  const { table, index, out, rows, d } = args;
  refuseStored("webgpu", "gather_rows", args.weightType);
  moveRows(ctx, true, { table, index, moved: out, rows, d });
};

export const scatterRowsWebgpu: WebgpuOp<ScatterRowsArgs> = ({ src, index, table, rows, d }, ctx) =>
  moveRows(ctx, false, { table, index, moved: src, rows, d });

const scatterAdd = variants(() => ({
  name: "scatter_add_rows",
  buffers: {
    src: "read f32",
    order: "read u32",
    runs: "read u32",
    place: "read u32",
    table: "write f32",
  },
  params: { rows: "u32" as const, d: "u32" as const, first: "u32" as const, count: "u32" as const },
  code: perRowElement(`
  let at = place[r] - p.first;
  if (at >= p.count) { return; }
  let end = runs[r + 1u];
  var sum = 0.0;
  for (var e = runs[r]; e < end; e++) { sum += src[order[e] * p.d + column]; }
  table[at * p.d + column] += sum;`),
}));

export const scatterAddRowsWebgpu: WebgpuOp<ScatterAddRowsArgs> = (args, ctx) => {
  const { src, order, runs, target, table, runCount, d } = args;
  inRowParts(ctx, tableRows(table, d), d, (part, count, first) =>
    ctx.dispatch({
      kernel: scatterAdd({}),
      buffers: { src, order, runs, place: target, table: part(table, d) },
      params: { rows: runCount, d, first, count },
      groups: ctx.grid(Math.ceil(runCount * d / GROUP)),
    }));
};
