/** CPU binding of attention for one new query per branch. */
import { queryGroup, softmaxScratch, TILE, windowOf } from "../attention/wasm.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { AttentionDecodeArgs } from "./spec.ts";

/** Most branches that attend together: enough to share a prefix. */
const BRANCHES = 16;
/** With fewer branches than threads: units for each thread, so that they end nearly together. */
const UNITS_PER_THREAD = 2;

/** So many with `group` query heads per key head: their queries fit a tile. */
export function blockLimit(group: number): number {
  return Math.min(BRANCHES, Math.floor(TILE / group));
}

/**
 * How the work is cut; no bit depends on it. A thread has blocks of its own, and all key heads of them: rows are read
 * from memory once. Where branches are too few for that, key heads are dealt, and their queries in pairs.
 */
function cut(count: number, kvHeads: number, group: number, threads: number) {
  const least = Math.ceil(count / blockLimit(group));
  const blockBranches = Math.ceil(count / Math.max(least, Math.min(count, threads)));
  const blocks = Math.ceil(count / blockBranches);
  const wanted = count < threads ? UNITS_PER_THREAD * threads : 1;
  const parts = Math.min(Math.ceil(group / 2), Math.ceil(wanted / (blocks * kvHeads)));
  const width = parts === 1 ? group : 2 * Math.ceil(group / 2 / parts);
  const inBlock = kvHeads * Math.ceil(group / width), units = blocks * inBlock;
  return { blockBranches, width, units, grain: Math.min(inBlock, Math.ceil(units / threads)) };
}

export const attentionDecodeWasm: WasmOp<AttentionDecodeArgs> = (args, ctx) => {
  const group = queryGroup("attention_decode", args.heads, args.kvHeads);
  if (args.count === 0) return;
  const { blockBranches, width, units, grain } = cut(args.count, args.kvHeads, group, ctx.threads);
  ctx.parallel({
    kernel: "attention_decode",
    units,
    grain,
    scratchBytes: softmaxScratch(args.headDim),
    args: [
      ctx.pointer(args.q),
      ...[ctx.pointer(args.prefixK), 0],
      ctx.pointer(args.prefixV),
      ctx.pointer(args.branchK),
      ctx.pointer(args.branchV),
      ctx.pointer(args.out),
      ctx.pointer(args.branches),
      args.count,
      args.maxNew,
      args.heads,
      args.kvHeads,
      args.headDim,
      args.scale,
      blockBranches,
      width,
      windowOf(args.window),
    ],
  });
};
