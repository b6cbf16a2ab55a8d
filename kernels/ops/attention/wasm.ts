/** CPU bindings of attention over a packed batch, and of its gradient. */
import { RgxError } from "../../../core/errors.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import { addSinkGradients } from "./reference.ts";
import type { AttentionBackwardArgs, AttentionForwardArgs, SinksBackwardArgs } from "./spec.ts";

/** Number of queries or keys in a tile (TILE of pack.h). */
export const TILE = 96;

/** Number of query heads per key head. @throws RgxError when they do not fit a tile. */
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

/** Bytes of the online softmax's scratch (softmax.h), and of a register tile after its end. */
export function softmaxScratch(headDim: number): number {
  const padded = Math.ceil(headDim / 16) * 16;
  return 4 * (TILE * (TILE + 5 + 4 * padded) + 64) + 512;
}

/** Bytes of the two tables of first keys (attention.c): of a segment, and of its prefix. */
const FIRST_KEYS_BYTES = 2 * 4 * (TILE + 16);

export const attentionWasm: WasmOp<AttentionForwardArgs> = (args, ctx) => {
  const group = queryGroup("attention", args.heads, args.kvHeads);
  const { window } = args, firstKeysOffset = Math.ceil(softmaxScratch(args.headDim) / 64) * 64;
  ctx.parallel({
    kernel: "attention",
    units: Math.ceil(args.rows / Math.floor(TILE / group)) * args.kvHeads,
    grain: 1,
    scratchBytes: firstKeysOffset + (window === undefined ? 0 : FIRST_KEYS_BYTES),
    args: {
      ...args,
      sinks: args.sinks,
      keyRows: args.keys,
      softCap: args.softCap ?? 0,
      window: windowOf(window),
      firstKeysOffset,
    },
  });
};

/** The window as the kernels get it; 0 = none. It is limited to what an i32 holds. */
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
    args: { ...args, softCap: args.softCap ?? 0, window: windowOf(args.window) },
  });
};

/** On the host: it is little beside the products of attention. */
export const sinksBackwardWasm: WasmOp<SinksBackwardArgs> = (args, ctx) => {
  const { dout, out, lse, sinks, dsinks } = args;
  addSinkGradients({
    ...args,
    dout: ctx.f32(dout),
    out: ctx.f32(out),
    lse: ctx.f32(lse),
    sinks: ctx.f32(sinks),
    dsinks: ctx.f32(dsinks),
  });
};
