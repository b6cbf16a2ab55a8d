/**
 * GPU binding of attention while decoding: partial softmaxes over pieces of the prompts' and of the branches' keys,
 * then their merge. Caches beyond one binding go in parts: the prompts' by rows, the branches' by slots.
 */
import { softmaxBytes } from "../attention/softmax.wgsl.ts";
import { Tiles, type TileShape, type TileSizes, tileSizes } from "../attention/tiles.wgsl.ts";
import { type Tensor, VIEW_ALIGNMENT } from "../../tensor.ts";
import { variants } from "../common/wgsl/kernel.ts";
import type { WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import { mergeSpec, ownSpec, PIECE_KEYS, prefixSpec } from "./partial.wgsl.ts";
import type { AttentionDecodeArgs } from "./spec.ts";

export const prefixPieces = variants(prefixSpec);
export const ownPieces = variants(ownSpec);
export const mergePieces = variants(mergeSpec);

/** Workgroups that keep a device busy: on a card, and on a software adapter. */
const BUSY = { card: 1024, software: 16 } as const;
/** Most pieces that a range of keys is cut into. */
const MOST_PIECES = 16;
const MOST_BYTES = 32_768;

/** Shapes of tiles by their queries, best first. */
const SHAPES: readonly { upTo: number; shapes: readonly TileShape[] }[] = [
  { upTo: 4, shapes: [[32, 4, 1], [16, 4, 1]] },
  { upTo: 8, shapes: [[16, 8, 1]] },
  { upTo: 16, shapes: [[16, 8, 2], [16, 8, 1]] },
  { upTo: Infinity, shapes: [[16, 8, 4], [16, 8, 2], [16, 8, 1]] },
];

/** The tile for so many queries in all. */
export function decodeTile(queries: number, headDim: number, ctx: WebgpuContext): TileSizes {
  const { shapes } = SHAPES.find(({ upTo }) => queries <= upTo)!;
  const bytes = Math.min(ctx.limits.workgroupBytes, MOST_BYTES);
  return tileSizes(shapes, headDim, 1, bytes, softmaxBytes);
}

export const attentionDecodeWebgpu: WebgpuOp<AttentionDecodeArgs> = (args, ctx) => {
  const { count, maxNew, heads, kvHeads, headDim, scale, window = 0xffffffff } = args;
  if (count === 0) return;
  const perKv = heads / kvHeads, row = kvHeads * headDim, n = count * heads * headDim;
  const prefixParts = boundParts(args.prefixK, args.prefixV, row, ctx);
  const slotParts = boundParts(args.branchK, args.branchV, maxNew * row, ctx);
  const room = Math.floor(ctx.limits.bindingElements / n / Math.max(1, prefixParts.length));
  const pieces = (keys: number, tileKeys: number, workgroups: number) => {
    const busy = Math.ceil(BUSY[ctx.software ? "software" : "card"] / workgroups);
    const useful = Math.ceil(keys / Math.max(PIECE_KEYS, tileKeys));
    return Math.max(1, Math.min(busy, useful, MOST_PIECES, room));
  };

  const ownSizes = decodeTile(perKv, headDim, ctx), ownTile = new Tiles(ownSizes, headDim, 1);
  const ownUnits = count * Math.ceil(perKv / ownTile.m) * kvHeads;
  const ownCount = pieces(maxNew, ownTile.n, ownUnits);
  const sizes = decodeTile(count * perKv, headDim, ctx), tile = new Tiles(sizes, headDim, 1);
  const units = Math.ceil(count * perKv / tile.m) * kvHeads;
  const prefixCount = pieces(prefixParts.at(-1)?.end ?? 0, tile.n, units);
  // Memory of their own lets the two kinds of pieces run at the same time.
  const partials = (kind: string, pieces: number) => ({
    mixes: ctx.scratch("float", pieces * n, `${kind} outputs`),
    sums: ctx.scratch("float", pieces * 2 * count * heads, `${kind} sums`),
  });
  const ownPartials = partials("own", ownCount);
  const allPrefixCount = prefixParts.length * prefixCount;
  const prefixPartials = partials("prefix", allPrefixCount);
  const inputs = { queries: args.q, branches: args.branches };
  const shape = { branch_count: count, heads, kv_heads: kvHeads, per_kv: perKv, scale };
  prefixParts.forEach(({ begin, end, keys, values }, part) => {
    const groups = units * prefixCount, first_piece = part * prefixCount;
    const bounds = { bound_begin: begin, bound_end: end };
    ctx.dispatch({
      kernel: prefixPieces({ headDim, sizes }),
      buffers: { ...inputs, ...prefixPartials, keys, values },
      params: { ...shape, ...bounds, count: groups, pieces: prefixCount, first_piece },
      groups: ctx.grid(groups),
    });
  });
  for (const { begin, end, keys, values } of slotParts) {
    const groups = ownUnits * ownCount;
    const bounds = { bound_begin: begin, bound_end: end, max_new: maxNew, window };
    ctx.dispatch({
      kernel: ownPieces({ headDim, sizes: ownSizes }),
      buffers: { ...inputs, ...ownPartials, keys, values },
      params: { ...shape, ...bounds, count: groups, pieces: ownCount, first_piece: 0 },
      groups: ctx.grid(groups),
    });
  }
  const vectors = n / (headDim % 4 === 0 ? 4 : 2);
  ctx.dispatch({
    kernel: mergePieces({ headDim }),
    buffers: {
      own_mixes: ownPartials.mixes,
      own_sums: ownPartials.sums,
      prefix_mixes: prefixPartials.mixes,
      prefix_sums: prefixPartials.sums,
      outputs: args.out,
    },
    params: {
      n: vectors,
      rows: count * heads,
      own_pieces: ownCount,
      prefix_pieces: allPrefixCount,
    },
    groups: ctx.grid(Math.ceil(vectors / 256)),
  });
};

interface BoundPart {
  /** Rows (of `width` elements) that `keys` and `values` hold. */
  begin: number;
  end: number;
  keys: Tensor;
  values: Tensor;
}

/** A cache in parts of whole rows that fit one binding. A row that fits none is left to the device's message. */
function boundParts(keys: Tensor, values: Tensor, width: number, ctx: WebgpuContext): BoundPart[] {
  const most = ctx.limits.bindingElements;
  if (width === 0) return [];
  const rows = Math.floor(Math.min(keys.length, values.length) / width);
  const whole = Math.max(keys.length, values.length) <= most;
  let step = VIEW_ALIGNMENT;
  while (step % 2 === 0 && step / 2 * width % VIEW_ALIGNMENT === 0) step /= 2;
  step *= Math.floor(most / (step * width));
  if (whole || step === 0) return rows === 0 ? [] : [{ begin: 0, end: rows, keys, values }];
  const parts: BoundPart[] = [];
  for (let begin = 0; begin < rows; begin += step) {
    const end = Math.min(begin + step, rows),
      view = [begin * width, (end - begin) * width] as const;
    parts.push({ begin, end, keys: keys.view(...view), values: values.view(...view) });
  }
  return parts;
}
