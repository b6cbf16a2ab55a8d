/** CPU binding of sampling. */
import type { WasmOp } from "../common/wasm_op.ts";
import type { SampleArgs } from "./spec.ts";

/** Number of logits in a chunk: about 2.5 µs. */
const CHUNK = 4096;
/** Number of logarithms in a chunk. */
const LOG_ROWS = 128;

/** Bytes of the two f64 that a row leaves for its log-probability. */
const DISTANCE_BYTES = 16;

export const sampleWasm: WasmOp<SampleArgs> = (args, ctx) => {
  const { rows, vocab, temperature, topK, topP, minP } = args;
  if (rows === 0) return;
  const distances = ctx.scratch(DISTANCE_BYTES * rows);
  const filters = temperature !== 0 && ((topK > 0 && topK < vocab) || topP < 1 || minP > 0);
  // The parts of the scratch are explained in native/c/sample.c.
  const padded = Math.ceil(vocab / 8) * 32, sums = 8 * (Math.ceil(vocab / 64) + 1);
  ctx.parallel({
    kernel: filters ? "sample_filtered" : "sample_plain",
    units: rows,
    grain: Math.ceil(CHUNK / vocab),
    scratchBytes: filters ? 2048 + 2 * padded + sums : padded + sums,
    args: { ...args, scored: args.scored ?? args.logits, distances },
  });
  ctx.parallel({
    kernel: "sample_logp",
    units: rows,
    grain: LOG_ROWS,
    args: { distances, logp: args.logp },
  });
};
