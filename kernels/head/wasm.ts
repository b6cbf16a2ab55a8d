/**
 * Host binding of the fused head on the WASM device: chunks of rows × chunks of the vocabulary, each a
 * matrix product into scratch followed by one pass over its rows. Chunks follow one another in a fixed
 * order, so the sums do not depend on the threads. Backward recomputes the logits of a chunk with the
 * same product as forward: the same bits.
 */
import { gemm } from "../matmul/gemm.ts";
import type { WasmContext, WasmOp } from "../wasm/wasm_op.ts";
import type { HeadArgs, HeadBackwardArgs } from "./spec.ts";

/** A chunk of logits is 1 MB: it stays in the caches of two or more cores between the passes. */
const ROW_CHUNK = 256;
const VOCAB_CHUNK = 1024;
/** Elements of a row pass worth handing to a thread (about 15 µs). */
const CHUNK_ELEMENTS = 16384;
const STATS_BYTES = 24;

/** Calls `body` for every chunk [first, first + count) of [0, total). */
function eachChunk(total: number, size: number, body: (first: number, count: number) => void) {
  for (let first = 0; first < total; first += size) body(first, Math.min(size, total - first));
}

function rowGrain(width: number): number {
  return Math.max(1, Math.ceil(CHUNK_ELEMENTS / width));
}

/** z [rows, width] = hidden[row …]·weight[first …]ᵀ / temperature. */
function logits(
  ctx: WasmContext,
  args: Pick<HeadArgs, "hidden" | "weight" | "d" | "temperature">,
  z: number,
  [row, rows]: [number, number],
  [first, width]: [number, number],
): void {
  gemm(ctx, {
    a: ctx.pointer(args.hidden) + 4 * row * args.d,
    b: ctx.pointer(args.weight) + 4 * first * args.d,
    out: z,
    m: rows,
    n: width,
    k: args.d,
    transA: false,
    transB: true,
    alpha: 1 / args.temperature,
    accumulate: false,
  });
}

function scratchLogits(ctx: WasmContext, rows: number, vocab: number): number {
  return ctx.scratch(4 * Math.min(rows, ROW_CHUNK) * Math.min(vocab, VOCAB_CHUNK));
}

export const headWasm: WasmOp<HeadArgs> = (args, ctx) => {
  const { rows, vocab } = args;
  const z = scratchLogits(ctx, rows, vocab);
  const stats = ctx.scratch(STATS_BYTES * Math.min(rows, ROW_CHUNK));
  const pairStart = ctx.pointer(args.pairStart);
  const targets = ctx.pointer(args.targets);
  const logp = ctx.pointer(args.logp);
  eachChunk(rows, ROW_CHUNK, (row, count) => {
    eachChunk(vocab, VOCAB_CHUNK, (first, width) => {
      logits(ctx, args, z, [row, count], [first, width]);
      ctx.parallel({
        kernel: "head_chunk",
        units: count,
        grain: rowGrain(width),
        args: [z, width, first, first === 0 ? 1 : 0, stats, row, pairStart, targets, logp],
        scratchBytes: 64,
      });
    });
    ctx.parallel({
      kernel: "head_finish",
      units: count,
      grain: ROW_CHUNK,
      args: [stats, row, pairStart, logp, ctx.pointer(args.lse), ctx.pointer(args.entropy)],
    });
  });
};

export const headBackwardWasm: WasmOp<HeadBackwardArgs> = (args, ctx) => {
  const { rows, vocab, d } = args;
  const z = scratchLogits(ctx, rows, vocab);
  const hidden = ctx.pointer(args.hidden);
  const weight = ctx.pointer(args.weight);
  const dhidden = ctx.pointer(args.dhidden);
  const pass = [
    ctx.pointer(args.pairStart),
    ctx.pointer(args.targets),
    ctx.pointer(args.lse),
    ctx.pointer(args.entropy),
    ctx.pointer(args.dlogp),
    args.dentropy === undefined ? 0 : ctx.pointer(args.dentropy),
  ];
  const alpha = 1 / args.temperature;
  const plain = { transA: false, transB: false, alpha };
  eachChunk(rows, ROW_CHUNK, (row, count) => {
    eachChunk(vocab, VOCAB_CHUNK, (first, width) => {
      logits(ctx, args, z, [row, count], [first, width]);
      ctx.parallel({
        kernel: "head_dlogits",
        units: count,
        grain: rowGrain(width),
        args: [z, width, first, row, ...pass],
      });
      gemm(ctx, {
        ...plain,
        a: z,
        b: weight + 4 * first * d,
        out: dhidden + 4 * row * d,
        m: count,
        n: d,
        k: width,
        accumulate: first > 0,
      });
      if (args.dweight === undefined) return;
      gemm(ctx, {
        ...plain,
        a: z,
        b: hidden + 4 * row * d,
        out: ctx.pointer(args.dweight) + 4 * first * d,
        m: width,
        n: d,
        k: count,
        transA: true,
        accumulate: true,
      });
    });
  });
};
