/**
 * GPU binding of attention while decoding: partial softmaxes over pieces of the prompts' keys and
 * of the branches' keys, then their merge. Caches beyond one binding are bound in parts: those of
 * prompts by rows, those of branches by slots.
 */
import { capValue } from "../attention/forward.wgsl.ts";
import { Tiles } from "../attention/tiles.wgsl.ts";
import { type Tensor, VIEW_ALIGNMENT } from "../../tensor.ts";
import { variants } from "../common/wgsl/kernel.ts";
import type { WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import { branchChoice, decodeShape, prefixChoice } from "./choose.ts";
import { branchSpec, mergeSpec, MIN_PIECE_KEYS, prefixSpec } from "./partial.wgsl.ts";
import type { AttentionDecodeArgs } from "./spec.ts";

/** Max number of pieces that a range of keys is divided into. */
const MAX_PIECES = 16;

const prefixPieces = variants(prefixSpec);
const branchPieces = variants(branchSpec);
const mergePieces = variants(mergeSpec);

export const attentionDecodeWebgpu: WebgpuOp<AttentionDecodeArgs> = (args, ctx) => {
  const { count, maxNew, heads, kvHeads, headDim, scale, window = 0xffffffff } = args;
  if (count === 0) return;
  const perKv = heads / kvHeads, row = kvHeads * headDim, n = count * heads * headDim;
  const prefixParts = boundParts(args.prefixK, args.prefixV, row, ctx);
  const slotParts = boundParts(args.branchK, args.branchV, maxNew * row, ctx);
  const room = Math.floor(ctx.limits.bindingElements / n / Math.max(1, prefixParts.length));
  const piecesOf = (keys: number, tileKeys: number, workgroups: number, enough: number) => {
    const busy = Math.ceil(enough / workgroups);
    const useful = Math.ceil(keys / Math.max(MIN_PIECE_KEYS, tileKeys));
    return Math.max(1, Math.min(busy, useful, MAX_PIECES, room));
  };

  const chosenBranch = ctx.choose(branchChoice, args);
  const branchShape = decodeShape(perKv, headDim, ctx, chosenBranch);
  const branchTile = new Tiles(branchShape.sizes, headDim, 1);
  const branchUnits = count * Math.ceil(perKv / branchTile.m) * kvHeads;
  const branchCount = piecesOf(maxNew, branchTile.n, branchUnits, branchShape.busy);
  const chosen = ctx.choose(prefixChoice, args);
  const { sizes, busy } = decodeShape(count * perKv, headDim, ctx, chosen);
  const tile = new Tiles(sizes, headDim, 1);
  const units = Math.ceil(count * perKv / tile.m) * kvHeads;
  const prefixCount = piecesOf(prefixParts.at(-1)?.end ?? 0, tile.n, units, busy);
  // The two kinds of pieces write to different memory, so that they can run at the same time.
  const partials = (kind: string, pieces: number) => ({
    mixes: ctx.scratch("float", pieces * n, `${kind} outputs`),
    sums: ctx.scratch("float", pieces * 2 * count * heads, `${kind} sums`),
  });
  const branchPartials = partials("branch", branchCount);
  const allPrefixCount = prefixParts.length * prefixCount;
  const prefixPartials = partials("prefix", allPrefixCount);
  const inputs = { queries: args.q, branches: args.branches };
  const capped = args.softCap !== undefined, cap = capValue(args);
  const shape = { branch_count: count, heads, kv_heads: kvHeads, per_kv: perKv, scale, ...cap };
  prefixParts.forEach(({ begin, end, keys, values }, part) => {
    const groups = units * prefixCount, first_piece = part * prefixCount;
    const bounds = { bound_begin: begin, bound_end: end };
    ctx.dispatch({
      kernel: prefixPieces({ headDim, sizes, capped }),
      buffers: { ...inputs, ...prefixPartials, keys, values },
      params: { ...shape, ...bounds, count: groups, pieces: prefixCount, first_piece },
      groups,
    });
  });
  for (const { begin, end, keys, values } of slotParts) {
    const groups = branchUnits * branchCount;
    const bounds = { bound_begin: begin, bound_end: end, max_new: maxNew, window };
    ctx.dispatch({
      kernel: branchPieces({
        headDim,
        sizes: branchShape.sizes,
        capped,
      }),
      buffers: { ...inputs, ...branchPartials, keys, values },
      params: { ...shape, ...bounds, count: groups, pieces: branchCount, first_piece: 0 },
      groups,
    });
  }
  const vectors = n / (headDim % 4 === 0 ? 4 : 2);
  ctx.dispatch({
    kernel: mergePieces({ headDim, sinks: args.sinks !== undefined }),
    buffers: {
      branch_mixes: branchPartials.mixes,
      branch_sums: branchPartials.sums,
      prefix_mixes: prefixPartials.mixes,
      prefix_sums: prefixPartials.sums,
      ...(args.sinks === undefined ? {} : { sinks: args.sinks }),
      outputs: args.out,
    },
    params: {
      n: vectors,
      rows: count * heads,
      heads,
      branch_pieces: branchCount,
      prefix_pieces: allPrefixCount,
    },
  });
};

interface BoundPart {
  /** The rows [begin, end) of the cache (`width` elements each) that `keys` and `values` hold. */
  begin: number;
  end: number;
  keys: Tensor;
  values: Tensor;
}

/**
 * Parts of a cache, of whole rows, that fit one binding. If a single row does not fit, the cache is
 * one part, and the device refuses it.
 */
function boundParts(keys: Tensor, values: Tensor, width: number, ctx: WebgpuContext): BoundPart[] {
  const { bindingElements } = ctx.limits;
  if (width === 0) return [];
  const rows = Math.floor(Math.min(keys.length, values.length) / width);
  const whole = Math.max(keys.length, values.length) <= bindingElements;
  let step = VIEW_ALIGNMENT;
  while (step % 2 === 0 && step / 2 * width % VIEW_ALIGNMENT === 0) step /= 2;
  step *= Math.floor(bindingElements / (step * width));
  if (whole || step === 0) return rows === 0 ? [] : [{ begin: 0, end: rows, keys, values }];
  const parts: BoundPart[] = [];
  for (let begin = 0; begin < rows; begin += step) {
    const end = Math.min(begin + step, rows),
      view = [begin * width, (end - begin) * width] as const;
    parts.push({ begin, end, keys: keys.view(...view), values: values.view(...view) });
  }
  return parts;
}
