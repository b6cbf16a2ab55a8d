/** CPU binding of attention for one new query per branch. */
import { queryGroup, softmaxScratch, TILE, windowOf } from "../attention/wasm.ts";
import type { WasmOp } from "../wasm/wasm_op.ts";
import type { AttentionDecodeArgs } from "./spec.ts";

/** Most branches of a work unit: enough to share a prefix, few enough to occupy the threads. */
const BRANCHES = 16;

export const attentionDecodeWasm: WasmOp<AttentionDecodeArgs> = (args, ctx) => {
  const group = queryGroup("attention_decode", args.heads, args.kvHeads);
  const blockBranches = Math.min(BRANCHES, Math.floor(TILE / group));
  ctx.parallel({
    kernel: "attention_decode",
    units: Math.ceil(args.count / blockBranches) * args.kvHeads,
    grain: 1,
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
      windowOf(args.window),
    ],
  });
};
