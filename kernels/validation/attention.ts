/** Checks the arguments of attention and of the decoding layer, for validate.ts. */
import {
  type AttentionBackwardArgs,
  type AttentionForwardArgs,
  SEGMENT,
  type SinksBackwardArgs,
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
    call.inputs({ keys: 2 * segmentCount }, "u32");
  }
  call.inputs({ sinks: args.sinks && args.heads });
  call.outputs({ out: args.rows * args.heads * args.headDim, lse: args.rows * args.heads });
}

export function checkAttentionBackward(args: AttentionBackwardArgs, call: Call): void {
  attentionInputs(args, call);
  const queries = args.rows * args.heads * args.headDim;
  const keys = args.rows * args.kvHeads * args.headDim;
  call.inputs({ out: queries, lse: args.rows * args.heads, dout: queries });
  call.outputs({ dq: queries, dk: keys, dv: keys });
}

export function checkSinksBackward(args: SinksBackwardArgs, call: Call): void {
  const { rows, heads, headDim } = args, queries = rows * heads * headDim;
  call.inputs({ dout: queries, out: queries, lse: rows * heads, sinks: heads });
  call.outputs({ dsinks: heads });
}

export function checkAttentionDecode(args: AttentionDecodeArgs, call: Call): void {
  const { count, maxNew, heads, kvHeads, headDim } = args;
  headSizes(heads, kvHeads, headDim, call);
  // The numbers of prompt rows and slots are in the branch table, which the host cannot see.
  const oneSlot = count > 0 ? maxNew * kvHeads * headDim / (args.bf16 ? 2 : 1) : 0;
  const queries = count * heads * headDim;
  call.inputs({ q: queries });
  call.inputs(
    { prefixK: 0, prefixV: 0, branchK: oneSlot, branchV: oneSlot },
    args.bf16 ? "u32" : "float",
  );
  call.inputs({ branches: count * BRANCH.columns }, "u32");
  call.inputs({ sinks: args.sinks && heads });
  call.outputs({ out: queries });
}

export function checkDecodeLayer(args: DecodeLayerArgs, call: Call): void {
  if (call.computeDtype !== "float32") {
    call.fail("computeDtype", call.computeDtype, "float32: this operation has no other");
  }
  const { count, maxNew, d, f, heads, kvHeads, headDim } = args;
  const width = heads * headDim, kv = kvHeads * headDim;
  call.positive({ f });
  headSizes(heads, kvHeads, headDim, call);
  const table = count > 0 ? headDim / 2 : 0, oneSlot = count > 0 ? maxNew * kv : 0;
  const gate = packedLength(f, d);
  call.inputs({ inputNorm: d, postNorm: d, cos: table, sin: table });
  call.inputs({ wq: packedLength(width, d), wk: packedLength(kv, d), wv: packedLength(kv, d) });
  call.inputs({ wo: packedLength(d, width), wGate: gate, wUp: gate, wDown: packedLength(d, f) });
  const { keptRow, packedPrefixK } = args, rows = keptRow && count;
  call.inputs({ positions: count, cacheRow: count, keptRow: rows }, "u32");
  call.inputs({ branches: count * BRANCH.columns }, "u32");
  // The lengths are unknown to the host, as in attention_decode.
  call.inputs({ prefixK: 0, packedPrefixK: packedPrefixK && 0, prefixV: 0 });
  call.outputs({ x: count * d, branchK: oneSlot, branchV: oneSlot });
  const tables = {
    keptH: d,
    keptQ: width,
    keptK: kv,
    keptV: kv,
    keptMid: d,
    keptGate: f,
    keptUp: f,
  };
  for (const [name, n] of Object.entries(tables)) {
    const table = args[name as keyof typeof tables];
    if ((table === undefined) !== (keptRow === undefined)) {
      call.fail(name, table === undefined ? "missing" : "given", "given with keptRow only");
    }
    // The number of the table's rows is known to the caller only.
    if (table !== undefined) call.output(name, count > 0 ? n : 0);
  }
}

function attentionInputs(args: AttentionForwardArgs, call: Call): void {
  const { rows, heads, kvHeads, headDim, segmentCount } = args;
  headSizes(heads, kvHeads, headDim, call);
  if (rows > 0 && segmentCount === 0) call.fail("segmentCount", 0, `segments for ${rows} rows`);
  // With `keys`, the number of key rows is in that table, which the host cannot see.
  const keyRows = args.keys === undefined ? rows : 0;
  const keys = keyRows * kvHeads * headDim;
  call.inputs({ q: rows * heads * headDim, k: keys, v: keys });
  call.inputs({ segments: segmentCount * SEGMENT.columns, rowSegment: rows }, "u32");
}

function headSizes(heads: number, kvHeads: number, headDim: number, call: Call): void {
  even("headDim", headDim, call);
  if (heads % kvHeads !== 0) call.fail("heads", heads, `a multiple of kvHeads (${kvHeads})`);
}

export function even(name: string, size: number, call: Call): void {
  if (size % 2 !== 0) call.fail(name, size, "an even number");
}
