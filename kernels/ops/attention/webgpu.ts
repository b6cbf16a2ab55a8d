/**
 * GPU bindings of attention over a packed batch, and of its gradient.
 * In the forward, queries beyond one binding are done in parts.
 * Left out (each is an error): keys and values beyond one binding, the gradient of such batches,
 * and keys apart from the rows.
 */
import { RgxError } from "../../../core/errors.ts";
import type { Tensor } from "../../tensor.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import type { ChoicePoint, WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import {
  DELTA_ROWS,
  deltaSpec,
  keyGradientSpec,
  limitsSpec,
  MIN_PART_ROWS,
  queryGradientSpec,
  sumSpec,
} from "./backward.wgsl.ts";
import {
  attentionTile,
  backwardKeysChoice,
  backwardQueriesChoice,
  forwardChoice,
  MATRIX,
  tileNamed,
} from "./choose.ts";
import { attentionSpec } from "./forward.wgsl.ts";
import {
  matrixAttention,
  matrixKeyGradient,
  matrixQueryGradient,
  type SplitOperands,
  splitOperands,
  unitsForAttention,
} from "./matrix_attention.ts";
import type { AttentionArgs, AttentionBackwardArgs, AttentionForwardArgs } from "./spec.ts";
import { Tiles, type TileShape } from "./tiles.wgsl.ts";

/** A window that is longer than every sequence. */
const NO_WINDOW = 0xffffffff;
/**
 * Max number of parts that the queries of a tile of keys are divided into, and max number of
 * elements of the sums of all parts together.
 */
const MAX_PARTS = 8;
const MAX_PART_ELEMENTS = 2 ** 24;

export const attentionKernel = variants(attentionSpec);
const delta = variants(deltaSpec);
const rowLimits = variants(limitsSpec);
export const queryGradient = variants(queryGradientSpec);
export const keyGradient = variants(keyGradientSpec);
const sumParts = variants(sumSpec);

/** What was chosen for these arguments: a tile, matrix units, or nothing. */
function chosenKernel<Args>(
  point: ChoicePoint<Args>,
  args: Args,
  ctx: WebgpuContext,
): TileShape | typeof MATRIX | undefined {
  const name = ctx.choose(point, args);
  return name === null ? undefined : name === MATRIX ? MATRIX : tileNamed(name);
}

/** The tile that was chosen; none where matrix units were, which these arguments do not fit. */
const tileOf = (chosen: TileShape | typeof MATRIX | undefined) =>
  chosen === MATRIX ? undefined : chosen;

export const attentionWebgpu: WebgpuOp<AttentionForwardArgs> = (args, ctx) => {
  if (args.keys !== undefined) throw new RgxError("attention on webgpu: keys apart from the rows");
  const { heads, headDim, segments, rowSegment } = args, width = heads * headDim;
  const chosen = chosenKernel(forwardChoice, args, ctx);
  const units = chosen === MATRIX ? unitsForAttention(args, 1, ctx) : null;
  if (units !== null) {
    const { m, buffers, params } = splitOperands(args, units, ctx);
    const grid = queryGrid(args, m, args.rows);
    const table = { segments, row_segment: rowSegment };
    ctx.dispatch({
      kernel: matrixAttention(units),
      buffers: { ...buffers, ...table, outputs: args.out, lses: args.lse },
      params: { ...grid.params, ...params },
      groups: ctx.grid(grid.count),
    });
    return;
  }
  const sizes = attentionTile(ctx, "queries", headDim, 1, tileOf(chosen));
  const { m } = new Tiles(sizes, headDim, 1);
  inRowParts(ctx, args.rows, width, (part, rows, begin) => {
    const { count, params } = queryGrid(args, m, rows, begin);
    ctx.dispatch({
      kernel: attentionKernel({ headDim, sizes }),
      buffers: {
        queries: part(args.q, width),
        keys: args.k,
        values: args.v,
        outputs: part(args.out, width),
        lses: part(args.lse, heads),
        segments,
        row_segment: rowSegment,
      },
      params,
      groups: ctx.grid(count),
    });
  });
};

export const attentionBackwardWebgpu: WebgpuOp<AttentionBackwardArgs> = (args, ctx) => {
  const { rows, heads, headDim } = args;
  const stats = ctx.scratch("float", 2 * rows * heads, "lse and delta");
  ctx.dispatch({
    kernel: delta({ headDim }),
    buffers: { douts: args.dout, outputs: args.out, lses: args.lse, stats },
    params: { n: rows * heads },
    groups: ctx.grid(Math.ceil(rows * heads / DELTA_ROWS)),
    flops: 2 * rows * heads * headDim,
  });
  const overQueries = chosenKernel(backwardQueriesChoice, args, ctx);
  const overKeys = chosenKernel(backwardKeysChoice, args, ctx);
  const units = overQueries === MATRIX || overKeys === MATRIX
    ? unitsForAttention(args, 2, ctx)
    : null;
  const split = units === null ? null : splitOperands(args, units, ctx);
  const inputs = { queries: args.q, keys: args.k, values: args.v, douts: args.dout, stats };
  queryGradients(args, overQueries === MATRIX ? split : null, tileOf(overQueries), inputs, ctx);
  keyGradients(args, overKeys === MATRIX ? split : null, tileOf(overKeys), inputs, ctx);
};

type Inputs = Record<"queries" | "keys" | "values" | "douts" | "stats", Tensor>;

/** @param split the operands for matrix units; null: they are not used */
function queryGradients(
  args: AttentionBackwardArgs,
  split: SplitOperands | null,
  tile: TileShape | undefined,
  inputs: Inputs,
  ctx: WebgpuContext,
): void {
  const { rows, headDim, segments, rowSegment } = args;
  const outputs = { segments, row_segment: rowSegment, dqueries: args.dq };
  if (split !== null) {
    const { count, params } = queryGrid(args, split.m, rows);
    ctx.dispatch({
      kernel: matrixQueryGradient(split.heads),
      buffers: { ...split.buffers, stats: inputs.stats, ...outputs },
      params: { ...params, ...split.params },
      groups: ctx.grid(count),
    });
    return;
  }
  const sizes = attentionTile(ctx, "queries", headDim, 2, tile);
  const { count, params } = queryGrid(args, new Tiles(sizes, headDim, 2).m, rows);
  ctx.dispatch({
    kernel: queryGradient({ headDim, sizes }),
    buffers: { ...inputs, ...outputs },
    params,
    groups: ctx.grid(count),
  });
}

function keyGradients(
  args: AttentionBackwardArgs,
  split: SplitOperands | null,
  tile: TileShape | undefined,
  inputs: Inputs,
  ctx: WebgpuContext,
): void {
  const { rows, kvHeads, headDim, segments, rowSegment } = args;
  const sizes = split === null ? attentionTile(ctx, "keys", headDim, 2, tile) : null;
  const tileKeys = sizes === null ? split!.m : new Tiles(sizes, headDim, 2).m;
  const tiles = Math.ceil(rows / tileKeys), elements = rows * kvHeads * headDim;
  const limits = ctx.scratch("u32", rows + tiles, "limits");
  ctx.dispatch({
    kernel: rowLimits({ tileKeys }),
    buffers: { segments, row_segment: rowSegment, limits },
    params: { rows, count: tiles, window: args.window ?? NO_WINDOW },
    groups: ctx.grid(tiles),
  });
  const room = Math.min(MAX_PART_ELEMENTS, ctx.limits.bindingElements);
  const parts = Math.max(
    1,
    Math.min(MAX_PARTS, Math.ceil(rows / MIN_PART_ROWS), Math.floor(room / Math.max(1, elements))),
  );
  const partial = (name: string, whole: Tensor) =>
    parts === 1 ? whole : ctx.scratch("float", parts * elements, `parts of ${name}`);
  const dkeys = partial("dk", args.dk), dvalues = partial("dv", args.dv);
  const count = tiles * kvHeads * parts, windowed = args.window !== undefined;
  const outputs = {
    ...{ limits, dkeys, dvalues },
    ...(windowed ? { segments, row_segment: rowSegment } : {}),
  };
  const params = { ...queryGrid(args, tileKeys, rows).params, count, parts };
  ctx.dispatch({
    groups: ctx.grid(count),
    ...(sizes === null
      ? {
        kernel: matrixKeyGradient({ ...split!.heads, windowed }),
        buffers: { ...split!.buffers, stats: inputs.stats, ...outputs },
        params: { ...params, ...split!.params },
      }
      : {
        kernel: keyGradient({ headDim, sizes, windowed }),
        buffers: { ...inputs, ...outputs },
        params,
      }),
  });
  if (parts === 1) return;
  const n = elements / (headDim % 4 === 0 ? 4 : 2);
  ctx.dispatch({
    kernel: sumParts({ headDim, tileKeys }),
    buffers: { dkey_parts: dkeys, dvalue_parts: dvalues, limits, dkeys: args.dk, dvalues: args.dv },
    params: { n, rows, kv_heads: kvHeads, parts },
    groups: ctx.grid(Math.ceil(n / 256)),
  });
}

/**
 * Number of workgroups and parameters of a kernel over tiles of `m` queries: rows from `begin` on.
 */
function queryGrid(args: AttentionArgs, m: number, rows: number, begin = 0) {
  const { heads, kvHeads, scale, window = NO_WINDOW } = args, perKv = heads / kvHeads;
  const count = Math.ceil(rows * perKv / m) * kvHeads;
  const params = {
    count,
    rows,
    row_begin: begin,
    heads,
    kv_heads: kvHeads,
    per_kv: perKv,
    window,
    scale,
  };
  return { count, params };
}
