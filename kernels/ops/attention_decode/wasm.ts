/** CPU binding of attention for one new query per branch. */
import { queryGroup, softmaxScratch, TILE, windowOf } from "../attention/wasm.ts";
import type { WasmOp } from "../common/wasm_op.ts";
import type { AttentionDecodeArgs } from "./spec.ts";

/** Max number of branches that attend together: enough to share a prefix. */
const MAX_BRANCHES = 16;
/**
 * With fewer branches than threads: units for each thread, so that all end at about the same time.
 */
const UNITS_PER_THREAD = 2;

/** Max number of branches in a block with `group` query heads per key head: they fit a tile. */
export function maxBlockBranches(group: number): number {
  return Math.min(MAX_BRANCHES, Math.floor(TILE / group));
}

/**
 * Divides the work into units; no bit depends on how. A thread does all key heads of its blocks of
 * branches, so that rows are read from memory once. Where there are too few branches for that, the
 * threads share the key heads of a block, and the queries of a key head in pairs.
 */
function divide(count: number, kvHeads: number, group: number, threads: number) {
  const minBlocks = Math.ceil(count / maxBlockBranches(group));
  const blockBranches = Math.ceil(count / Math.max(minBlocks, Math.min(count, threads)));
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
  const { blockBranches, width, units, grain } = divide(
    args.count,
    args.kvHeads,
    group,
    ctx.threads,
  );
  ctx.parallel({
    kernel: "attention_decode",
    units,
    grain,
    scratchBytes: softmaxScratch(args.headDim),
    args: {
      ...args,
      packedPrefixK: 0,
      sinks: args.sinks,
      branchCount: args.count,
      blockBranches,
      width,
      softCap: args.softCap ?? 0,
      window: windowOf(args.window),
      halves: args.bf16 ? 1 : 0,
    },
  });
};
