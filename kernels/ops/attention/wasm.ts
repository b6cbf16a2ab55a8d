/** CPU bindings of attention over the packed group batch and its backward. */
import { RgxError } from "../../../core/errors.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { AttentionBackwardArgs, AttentionForwardArgs } from "./spec.ts";

/** Queries or keys of a tile (tile.as.ts). */
export const TILE = 96;

/** Query heads per key head. @throws RgxError when they do not fit a tile. */
export function queryGroup(op: string, heads: number, kvHeads: number): number {
  const group = heads / kvHeads;
  if (group > TILE) {
    throw new RgxError(
      `${op} on the CPU: ${heads} query heads over ${kvHeads} key heads, ` +
        `at most ${TILE} query heads per key head are supported`,
    );
  }
  return group;
}

/** Bytes of the online softmax's scratch (softmax.as.ts), with room for a register tile past the end. */
export function softmaxScratch(headDim: number): number {
  const padded = Math.ceil(headDim / 16) * 16;
  return 4 * (TILE * (TILE + 5 + 4 * padded) + 64) + 512;
}

/** Bytes of the first keys that the queries of a block see (wasm.as.ts), of their segment and of its prefix. */
const LOWS_BYTES = 2 * 4 * (TILE + 16);

export const attentionWasm: WasmOp<AttentionForwardArgs> = (args, ctx) => {
  const group = queryGroup("attention", args.heads, args.kvHeads);
  const { window } = args, lows = Math.ceil(softmaxScratch(args.headDim) / 64) * 64;
  ctx.parallel({
    kernel: "attention",
    units: Math.ceil(args.rows / Math.floor(TILE / group)) * args.kvHeads,
    grain: 1,
    scratchBytes: lows + (window === undefined ? 0 : LOWS_BYTES),
    args: [
      ctx.pointer(args.q),
      ctx.pointer(args.k),
      ctx.pointer(args.v),
      ctx.pointer(args.out),
      ctx.pointer(args.lse),
      ctx.pointer(args.segments),
      ctx.pointer(args.rowSegment),
      args.keys === undefined ? 0 : ctx.pointer(args.keys),
      args.rows,
      args.heads,
      args.kvHeads,
      args.headDim,
      args.scale,
      ...[windowOf(window), lows],
    ],
  });
};

/** 0 = none. What is longer than an i32 is longer than every batch. */
export function windowOf(window: number | undefined): number {
  return Math.min(window ?? 0, 2 ** 30);
}

export const attentionBackwardWasm: WasmOp<AttentionBackwardArgs> = (args, ctx) => {
  queryGroup("attention_backward", args.heads, args.kvHeads);
  const padded = Math.ceil(args.headDim / 16) * 16;
  ctx.parallel({
    kernel: "attention_backward",
    units: args.segmentCount * args.kvHeads,
    grain: 1,
    scratchBytes: 4 * TILE * (2 * TILE + 6 + 10 * padded) + 512,
    args: [
      ctx.pointer(args.q),
      ctx.pointer(args.k),
      ctx.pointer(args.v),
      ctx.pointer(args.out),
      ctx.pointer(args.lse),
      ctx.pointer(args.dout),
      ctx.pointer(args.dq),
      ctx.pointer(args.dk),
      ctx.pointer(args.dv),
      ctx.pointer(args.segments),
      ctx.pointer(args.rowSegment),
      args.segmentCount,
      args.heads,
      args.kvHeads,
      args.headDim,
      args.scale,
      windowOf(args.window),
    ],
  });
};
