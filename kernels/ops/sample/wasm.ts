/** CPU binding of sampling. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { SampleArgs } from "./spec.ts";

/** Number of logits in a chunk: about 2.5 µs. */
const CHUNK = 4096;

export const sampleWasm: WasmOp<SampleArgs> = (args, ctx) => {
  const padded = Math.ceil(args.vocab / 8) * 32;
  ctx.parallel({
    kernel: "sample",
    units: args.rows,
    grain: Math.ceil(CHUNK / args.vocab),
    // Bins, weights, keys and block sums (wasm.as.ts).
    scratchBytes: 2048 + 2 * padded + 32 * (Math.ceil(args.vocab / 64) + 1),
    args: [
      ctx.pointer(args.logits),
      ctx.pointer(args.scored ?? args.logits),
      ctx.pointer(args.counters),
      ctx.pointer(args.tokens),
      ctx.pointer(args.logp),
      args.vocab,
      args.temperature,
      args.topK,
      args.topP,
      args.minP,
    ],
  });
};
