/**
 * GPU bindings of attention over a packed batch, and of its gradient. Rows beyond one binding are
 * done in parts. Results of several parts of the keys are merged by their lse; gradients are added
 * in the order of the parts.
 * Left out (an error): keys apart from the rows.
 */
import { RgxError } from "../../../core/errors.ts";
import type { Tensor } from "../../tensor.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { inRowParts, type RowPart, rowParts } from "../common/webgpu_parts.ts";
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
  tileNamed,
} from "./choose.ts";
import { attentionSpec, capValue } from "./forward.wgsl.ts";
import type { AttentionArgs, AttentionBackwardArgs, AttentionForwardArgs } from "./spec.ts";
import { addSinks } from "./sinks.wgsl.ts";
import { Tiles, type TileShape } from "./tiles.wgsl.ts";

/** A window that is longer than every sequence. */
const NO_WINDOW = 0xffffffff;
/**
 * Max number of parts that the queries of a tile of keys are divided into, and max number of
 * elements of the sums of all parts together.
 */
const MAX_PARTS = 8;
const MAX_PART_ELEMENTS = 2 ** 24;

const attentionKernel = variants(attentionSpec);
const delta = variants(deltaSpec);
const rowLimits = variants(limitsSpec);
const queryGradient = variants(queryGradientSpec);
const keyGradient = variants(keyGradientSpec);
const sumParts = variants(sumSpec);

/**
 * Number of parts of the queries in the gradient of the keys.
 * @param elements of the keys in one binding
 */
function gradientParts(rows: number, elements: number, bindingElements: number): number {
  const fitting = Math.floor(
    Math.min(MAX_PART_ELEMENTS, bindingElements) / Math.max(1, elements),
  );
  return Math.max(1, Math.min(MAX_PARTS, Math.ceil(rows / MIN_PART_ROWS), fitting));
}

/** The tile that was chosen, by a name of this version or an earlier one; none: the rule's. */
function chosenTile<Args>(
  point: ChoicePoint<Args>,
  args: Args,
  ctx: WebgpuContext,
): TileShape | undefined {
  const name = ctx.choose(point, args);
  if (name === null || name === "matrix") return undefined;
  return tileNamed(name.split(" ")[0]!); // "… subgroups"
}

export const attentionWebgpu: WebgpuOp<AttentionForwardArgs> = (args, ctx) => {
  withoutSinks(args, ctx);
  if (args.sinks !== undefined) addSinks({ ...args, sinks: args.sinks }, ctx);
};

const withoutSinks: WebgpuOp<AttentionForwardArgs> = (args, ctx) => {
  if (args.keys !== undefined) throw new RgxError("attention on webgpu: keys apart from the rows");
  const { heads, kvHeads, headDim, segments, rowSegment } = args;
  const width = heads * headDim, keyWidth = kvHeads * headDim;
  const tile = chosenTile(forwardChoice, args, ctx);
  const sizes = attentionTile(ctx, "queries", headDim, 1, tile);
  const { m } = new Tiles(sizes, headDim, 1);
  eachQueryAndKeyPart(args, ctx, ({ queries, keys, keyParts }) => {
    const { count, params } = queryGrid(args, m, queries.rows, queries.begin);
    ctx.dispatch({
      kernel: attentionKernel({
        headDim,
        sizes,
        ...(keyParts ? { keyParts } : {}),
        capped: args.softCap !== undefined,
      }),
      buffers: {
        queries: queries.of(args.q, width),
        keys: keys.of(args.k, keyWidth),
        values: keys.of(args.v, keyWidth),
        outputs: queries.of(args.out, width),
        lses: queries.of(args.lse, heads),
        segments,
        row_segment: rowSegment,
      },
      params: { ...params, ...keyParams(keys), ...capValue(args) },
      groups: count,
    });
  });
};

interface BoundParts {
  queries: RowPart;
  keys: RowPart;
  /** There are several parts of the keys. */
  keyParts: boolean;
}

/**
 * Calls `each` for the parts of the queries and of the keys that fit one binding: for each part of
 * the queries, the parts of the keys up to it, since no row attends to a later one.
 */
function eachQueryAndKeyPart(
  { rows, heads, kvHeads, headDim }: AttentionArgs,
  ctx: WebgpuContext,
  each: (parts: BoundParts) => void,
): void {
  const ofKeys = rowParts(ctx, rows, kvHeads * headDim), keyParts = ofKeys.length > 1;
  for (const queries of rowParts(ctx, rows, heads * headDim)) {
    for (const keys of ofKeys) {
      if (keys.begin >= queries.begin + queries.rows) break;
      each({ queries, keys, keyParts });
    }
  }
}

const keyParams = ({ begin, rows }: RowPart) => ({ key_begin: begin, key_end: begin + rows });

export const attentionBackwardWebgpu: WebgpuOp<AttentionBackwardArgs> = (args, ctx) => {
  const { rows, heads, headDim } = args;
  const stats = ctx.scratch("float", 2 * rows * heads, "lse and delta");
  inRowParts(ctx, rows, heads * headDim, (part, count) => {
    ctx.dispatch({
      kernel: delta({ headDim }),
      buffers: {
        douts: part(args.dout, heads * headDim),
        outputs: part(args.out, heads * headDim),
        lses: part(args.lse, heads),
        stats: part(stats, 2 * heads),
      },
      params: { n: count * heads },
      groups: Math.ceil(count * heads / DELTA_ROWS),
    });
  });
  const inputs = { queries: args.q, keys: args.k, values: args.v, douts: args.dout, stats };
  queryGradients(args, inputs, ctx);
  keyGradients(args, inputs, ctx);
};

type Inputs = Record<"queries" | "keys" | "values" | "douts" | "stats", Tensor>;

function queryGradients(args: AttentionBackwardArgs, inputs: Inputs, ctx: WebgpuContext): void {
  const { heads, headDim, segments, rowSegment } = args;
  const tables = { segments, row_segment: rowSegment };
  const tile = chosenTile(backwardQueriesChoice, args, ctx);
  const sizes = attentionTile(ctx, "queries", headDim, 2, tile);
  const { m } = new Tiles(sizes, headDim, 2);
  eachQueryAndKeyPart(args, ctx, (parts) => {
    const { queries, keys, keyParts } = parts;
    const { count, params } = queryGrid(args, m, queries.rows, queries.begin);
    ctx.dispatch({
      kernel: queryGradient({
        headDim,
        sizes,
        ...(keyParts ? { keyParts } : {}),
        capped: args.softCap !== undefined,
      }),
      buffers: {
        ...boundInputs(args, inputs, parts),
        ...tables,
        dqueries: queries.of(args.dq, heads * headDim),
      },
      params: { ...params, ...keyParams(keys), ...capValue(args) },
      groups: count,
    });
  });
}

/** The rows of parts of the queries and of the keys. */
function boundInputs(
  { heads, kvHeads, headDim }: AttentionArgs,
  { queries, keys, values, douts, stats }: Inputs,
  parts: Pick<BoundParts, "queries" | "keys">,
): Inputs {
  const width = heads * headDim, keyWidth = kvHeads * headDim;
  return {
    queries: parts.queries.of(queries, width),
    keys: parts.keys.of(keys, keyWidth),
    values: parts.keys.of(values, keyWidth),
    douts: parts.queries.of(douts, width),
    stats: parts.queries.of(stats, 2 * heads),
  };
}

function keyGradients(args: AttentionBackwardArgs, inputs: Inputs, ctx: WebgpuContext): void {
  const { rows, heads, kvHeads, headDim, segments, rowSegment } = args;
  const tile = chosenTile(backwardKeysChoice, args, ctx);
  const sizes = attentionTile(ctx, "keys", headDim, 2, tile);
  const tileKeys = new Tiles(sizes, headDim, 2).m;
  const tiles = Math.ceil(rows / tileKeys);
  const limits = ctx.scratch("u32", rows + tiles, "limits");
  ctx.dispatch({
    kernel: rowLimits({ tileKeys }),
    buffers: { segments, row_segment: rowSegment, limits },
    params: { rows, count: tiles, window: args.window ?? NO_WINDOW },
    groups: tiles,
  });
  const ofKeys = rowParts(ctx, rows, kvHeads * headDim);
  const ofQueries = rowParts(ctx, rows, heads * headDim);
  const inPieces = ofKeys.length * ofQueries.length > 1;
  const elements = ofKeys[0]!.rows * kvHeads * headDim;
  const parts = gradientParts(rows, elements, ctx.limits.bindingElements);
  const [dkeyParts, dvalueParts] = ["dk", "dv"].map((name) =>
    parts === 1 ? null : ctx.scratch("float", parts * elements, `parts of ${name}`)
  );
  const windowed = args.window !== undefined;
  const tables = windowed ? { segments, row_segment: rowSegment } : {};
  for (const keys of ofKeys) {
    const dkeys = keys.of(args.dk, kvHeads * headDim);
    const dvalues = keys.of(args.dv, kvHeads * headDim);
    const outputs = { limits, dkeys: dkeyParts ?? dkeys, dvalues: dvalueParts ?? dvalues };
    const count = Math.ceil(keys.rows / tileKeys) * kvHeads * parts;
    const n = keys.rows * kvHeads * headDim / (headDim % 4 === 0 ? 4 : 2);
    for (const queries of ofQueries) {
      if (queries.begin + queries.rows <= keys.begin) continue;
      const piece = inPieces
        ? {
          row_begin: queries.begin,
          row_end: queries.begin + queries.rows,
          key_begin: keys.begin,
        }
        : {};
      const params = { ...queryGrid(args, tileKeys, rows).params, count, parts, ...piece };
      ctx.dispatch({
        groups: count,
        kernel: keyGradient({
          headDim,
          sizes,
          windowed,
          ...(inPieces ? { rowParts: true } : {}),
          capped: args.softCap !== undefined,
        }),
        buffers: { ...boundInputs(args, inputs, { queries, keys }), ...outputs, ...tables },
        params: { ...params, ...capValue(args) },
      });
      if (parts === 1) continue;
      ctx.dispatch({
        kernel: sumParts({ headDim, tileKeys, ...(inPieces ? { rowParts: true } : {}) }),
        buffers: {
          dkey_parts: outputs.dkeys,
          dvalue_parts: outputs.dvalues,
          limits,
          dkeys,
          dvalues,
        },
        params: { n, rows, kv_heads: kvHeads, parts, ...piece },
      });
    }
  }
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
