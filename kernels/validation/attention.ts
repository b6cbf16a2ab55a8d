/** Checks the arguments of attention and of the decoding layer, for validate.ts. */
import {
  type AttentionBackwardArgs,
  type AttentionForwardArgs,
  SEGMENT,
} from "../ops/attention/spec.ts";
import { type AttentionDecodeArgs, BRANCH } from "../ops/attention_decode/spec.ts";
import type { DecodeLayerArgs } from "../ops/decode_layer/spec.ts";
import { packedLength } from "../ops/matmul/spec.ts";
import type { Call } from "./call.ts";

export function checkAttention(args: AttentionForwardArgs, call: Call): void {
  const { keys, window, segmentCount } = args;
  attentionInputs(args, call);
  if (keys !== undefined) {
    if (window !== undefined) call.fail("window", window, "no keys beside it");
    call.input("keys", keys, 2 * segmentCount, "u32");
  }
  call.output("out", args.out, args.rows * args.heads * args.headDim);
  call.output("lse", args.lse, args.rows * args.heads);
}

export function checkAttentionBackward(args: AttentionBackwardArgs, call: Call): void {
  attentionInputs(args, call);
  const queries = args.rows * args.heads * args.headDim;
  const keys = args.rows * args.kvHeads * args.headDim;
  call.input("out", args.out, queries);
  call.input("lse", args.lse, args.rows * args.heads);
  call.input("dout", args.dout, queries);
  call.output("dq", args.dq, queries);
  call.output("dk", args.dk, keys);
  call.output("dv", args.dv, keys);
}

export function checkAttentionDecode(args: AttentionDecodeArgs, call: Call): void {
  const { count, maxNew, heads, kvHeads, headDim, scale } = args;
  call.sizes({ count, maxNew });
  headSizes(heads, kvHeads, headDim, call);
  call.finite({ scale });
  if (args.window !== undefined) call.positive({ window: args.window });
  call.input("q", args.q, count * heads * headDim);
  // The numbers of prompt rows and slots are in the branch table, which the host cannot see.
  const oneSlot = count > 0 ? maxNew * kvHeads * headDim : 0;
  call.input("prefixK", args.prefixK, 0);
  call.input("prefixV", args.prefixV, 0);
  call.input("branchK", args.branchK, oneSlot);
  call.input("branchV", args.branchV, oneSlot);
  call.input("branches", args.branches, count * BRANCH.columns, "u32");
  call.output("out", args.out, count * heads * headDim);
}

export function checkDecodeLayer(args: DecodeLayerArgs, call: Call): void {
  if (call.computeDtype !== "float32") {
    call.fail("computeDtype", call.computeDtype, "float32: this operation has no other");
  }
  const { count, maxNew, d, f, heads, kvHeads, headDim, scale, eps } = args;
  const width = heads * headDim, kv = kvHeads * headDim;
  call.sizes({ count, maxNew });
  call.positive({ d, f });
  headSizes(heads, kvHeads, headDim, call);
  call.finite({ scale, eps });
  call.output("x", args.x, count * d);
  call.input("inputNorm", args.inputNorm, d);
  call.input("wq", args.wq, packedLength(width, d));
  call.input("wk", args.wk, packedLength(kv, d));
  call.input("wv", args.wv, packedLength(kv, d));
  call.input("wo", args.wo, packedLength(d, width));
  call.input("postNorm", args.postNorm, d);
  call.input("wGate", args.wGate, packedLength(f, d));
  call.input("wUp", args.wUp, packedLength(f, d));
  call.input("wDown", args.wDown, packedLength(d, f));
  const table = count > 0 ? headDim / 2 : 0, oneSlot = count > 0 ? maxNew * kv : 0;
  call.input("cos", args.cos, table);
  call.input("sin", args.sin, table);
  call.input("positions", args.positions, count, "u32");
  call.input("cacheRow", args.cacheRow, count, "u32");
  call.input("branches", args.branches, count * BRANCH.columns, "u32");
  // The lengths are unknown to the host, as in attention_decode.
  call.input("prefixK", args.prefixK, 0);
  if (args.packedPrefixK !== undefined) call.input("packedPrefixK", args.packedPrefixK, 0);
  call.input("prefixV", args.prefixV, 0);
  call.output("branchK", args.branchK, oneSlot);
  call.output("branchV", args.branchV, oneSlot);
  const tables = {
    keptH: d,
    keptQ: width,
    keptK: kv,
    keptV: kv,
    keptMid: d,
    keptGate: f,
    keptUp: f,
  };
  if (args.keptRow !== undefined) call.input("keptRow", args.keptRow, count, "u32");
  for (const [name, n] of Object.entries(tables)) {
    const table = args[name as keyof typeof tables];
    if ((table === undefined) !== (args.keptRow === undefined)) {
      call.fail(name, table === undefined ? "missing" : "given", "given with keptRow only");
    }
    // The number of the table's rows is known to the caller only.
    if (table !== undefined) call.output(name, table, count > 0 ? n : 0);
  }
}

function attentionInputs(args: AttentionForwardArgs, call: Call): void {
  const { rows, heads, kvHeads, headDim, segmentCount, scale } = args;
  call.sizes({ rows, segmentCount });
  headSizes(heads, kvHeads, headDim, call);
  call.finite({ scale });
  if (args.window !== undefined) call.positive({ window: args.window });
  if (rows > 0 && segmentCount === 0) call.fail("segmentCount", 0, `segments for ${rows} rows`);
  call.input("q", args.q, rows * heads * headDim);
  // With `keys`, the number of key rows is in that table, which the host cannot see.
  const keyRows = args.keys === undefined ? rows : 0;
  call.input("k", args.k, keyRows * kvHeads * headDim);
  call.input("v", args.v, keyRows * kvHeads * headDim);
  call.input("segments", args.segments, segmentCount * SEGMENT.columns, "u32");
  call.input("rowSegment", args.rowSegment, rows, "u32");
}

function headSizes(heads: number, kvHeads: number, headDim: number, call: Call): void {
  call.positive({ heads, kvHeads, headDim });
  even("headDim", headDim, call);
  if (heads % kvHeads !== 0) call.fail("heads", heads, `a multiple of kvHeads (${kvHeads})`);
}

export function even(name: string, size: number, call: Call): void {
  if (size % 2 !== 0) call.fail(name, size, "an even number");
}
