/**
 * CPU bindings of the fused head.
 * Forward: the threads share blocks of rows; a thread does a block for a part of the vocabulary by
 * itself. Backward: from the forward's mean where that is enough. Otherwise, for chunks of rows ×
 * chunks of the vocabulary in a fixed order: a matrix product into scratch, one pass over its rows,
 * and one or two matrix products. The logits have the same bits as in the forward, because their
 * terms are summed in the same order. Products in 16 bits (../matmul/bf16.ts) are whole products
 * of larger chunks in the forward, too.
 */
import { gemm, packColumns, packRows } from "../matmul/wasm/gemm.ts";
import { packedLength } from "../matmul/spec.ts";
import { packPanelColumns, packPanels } from "../matmul/wasm/stored.ts";
import { termsInOrder } from "../matmul/wasm/tiling.ts";
import { byElements } from "../common/wasm_jobs.ts";
import type { WasmContext, WasmOp } from "../common/wasm_op.ts";
import { storedWords } from "../../weights/types.ts";
import { ROW_BYTES, typeCode } from "../../weights/wasm.ts";
import { capOf, type HeadArgs, type HeadBackwardArgs } from "./spec.ts";

/**
 * These three are as in native/c/head.c: rows in a work unit of the forward; bytes of its scratch
 * without the logits; bytes of a row's running values.
 */
const UNIT_ROWS = 48;
const UNIT_BYTES = 64 + UNIT_ROWS * 64;
const STATS_BYTES = 24;
/**
 * The weight is packed in parts of this size, because a packed copy of all would take much memory.
 */
const PART_BYTES = 2 ** 22;
/** Columns in a chunk of the forward. Its logits are 192 KB, which fit a core's private cache. */
const UNIT_COLUMNS = 1024;
/** The native kernel does so many units together, with as many floats between rows of logits. */
const UNITS_TOGETHER = 3, PADDING = 16;
/**
 * A chunk of logits of the backward has 1 MB, which fits the caches of two cores between the
 * passes.
 */
const ROW_CHUNK = 256;
const VOCAB_CHUNK = 1024;
/** Rows of a chunk with products in 16 bits: the weight is packed again for each chunk of rows. */
const ROUNDED_ROW_CHUNK = 1024;
/** Number of multiply-adds in a chunk of work (about 20 µs). */
const UNIT_ELEMENTS = 1_000_000;
/** Number of elements in a chunk of a pass over rows (about 3 µs). */
const CHUNK_ELEMENTS = 4096;

/** Calls `body` for every chunk [first, first + count) of [0, total). */
function eachChunk(total: number, size: number, body: (first: number, count: number) => void) {
  for (let first = 0; first < total; first += size) body(first, Math.min(size, total - first));
}

function rowGrain(width: number): number {
  return Math.max(1, Math.ceil(CHUNK_ELEMENTS / width));
}

/** Address of row `first` of the weight. In a type with blocks it must be the first of a panel. */
function weightAt(
  ctx: WasmContext,
  { weight, weightType, d }: Pick<HeadArgs, "weight" | "weightType" | "d">,
  first: number,
): number {
  const words = weightType === undefined ? first * d : storedWords(weightType, first, d);
  return ctx.pointer(weight) + 4 * words;
}

/** Addresses of an adapter; null without one. */
function adapterOf(
  ctx: WasmContext,
  { xa, loraB, r, loraScale, temperature }: HeadArgs | HeadBackwardArgs,
): { xa: number; b: number; r: number; alpha: number } | null {
  if (xa === undefined || loraB === undefined) return null;
  return { xa: ctx.pointer(xa), b: ctx.pointer(loraB), r: r!, alpha: loraScale! / temperature };
}

/** z [rows, width] = logits of the rows from `row` on and the tokens from `first` on. */
function makeLogits(
  ctx: WasmContext,
  args: HeadArgs | HeadBackwardArgs,
  z: number,
  [row, rows]: [number, number],
  [first, width]: [number, number],
): void {
  const logits = { out: z, m: rows, n: width, transB: true };
  gemm(ctx, {
    ...logits,
    a: ctx.pointer(args.hidden) + 4 * row * args.d,
    b: weightAt(ctx, args, first),
    weightType: args.weightType,
    k: args.d,
    alpha: 1 / args.temperature,
  });
  const adapter = adapterOf(ctx, args), cap = capOf(args);
  if (adapter !== null) {
    const { xa, b, r, alpha } = adapter;
    const low = { a: xa + 4 * row * r, b: b + 4 * first * r, k: r };
    gemm(ctx, { ...logits, ...low, alpha, accumulate: true });
  }
  if (cap !== undefined) byElements(ctx, "soft_cap", 4, { x: z, out: z, n: rows * width, cap });
}

/** Packs the rows [first, first + count) of the weight as columns of hidden·weightᵀ. */
function packLogits(
  ctx: WasmContext,
  args: Pick<HeadArgs, "weight" | "weightType" | "d">,
  [first, count]: readonly [number, number],
  packed: number,
): void {
  const { weightType, d } = args, b = weightAt(ctx, args, first);
  if (weightType === undefined) packColumns(ctx, b, count, d, packed);
  else packPanels(ctx, weightType, b, d, count, packed);
}

/** Packs the same rows as rows of p·weight. */
function packValues(
  ctx: WasmContext,
  args: Pick<HeadArgs, "weight" | "weightType" | "d">,
  [first, count]: readonly [number, number],
  packed: number,
): void {
  const { weightType, d } = args, b = weightAt(ctx, args, first);
  if (weightType === undefined) packRows(ctx, b, d, count, packed);
  else packPanelColumns(ctx, weightType, b, d, count, packed);
}

/** Number of rows in a chunk of logits. */
const rowChunk = ({ computeDtype }: WasmContext) =>
  computeDtype !== "float32" ? ROUNDED_ROW_CHUNK : ROW_CHUNK;

/** Scratch for a chunk of logits. */
function logitsScratch(ctx: WasmContext, { rows, vocab }: HeadArgs | HeadBackwardArgs): number {
  return ctx.scratch(4 * Math.min(rows, rowChunk(ctx)) * Math.min(vocab, VOCAB_CHUNK));
}

/** The running values of all rows, with products in 16 bits. */
function forwardRounded(ctx: WasmContext, args: HeadArgs, stats: number): void {
  const z = logitsScratch(ctx, args);
  eachChunk(args.rows, rowChunk(ctx), (row, count) => {
    eachChunk(args.vocab, VOCAB_CHUNK, (first, width) => {
      makeLogits(ctx, args, z, [row, count], [first, width]);
      ctx.parallel({
        kernel: "head_merge",
        units: count,
        grain: rowGrain(width),
        args: { ...args, z, width, first, row, stats },
        scratchBytes: 64,
      });
    });
  });
}

export const headWasm: WasmOp<HeadArgs> = (args, ctx) => {
  const { rows, d, mean } = args;
  if (rows === 0) return;
  const stats = ctx.scratch(STATS_BYTES * rows);
  if (ctx.computeDtype !== "float32") forwardRounded(ctx, args, stats);
  else forwardFloat(ctx, args, stats);
  ctx.parallel({
    kernel: "head_finish",
    units: rows,
    grain: rowGrain(mean === undefined ? 32 : d),
    args: { ...args, stats },
  });
};

/** The running values of all rows, and their means. */
function forwardFloat(ctx: WasmContext, args: HeadArgs, stats: number): void {
  const { rows, vocab, d, mean } = args;
  // Columns at a time, and columns that are packed at once.
  const chunk = Math.min(UNIT_COLUMNS, Math.ceil(vocab / 16) * 16);
  const part = Math.min(vocab, chunk * Math.max(1, Math.floor(PART_BYTES / (4 * chunk * d))));
  const panels = ctx.scratch(4 * packedLength(part, d));
  const valueBytes = 64 * Math.ceil(d / 16);
  const values = mean === undefined ? 0 : ctx.scratch(part * valueBytes);
  const adapter = adapterOf(ctx, args), r = adapter?.r ?? 0;
  const loraPanels = adapter === null ? 0 : ctx.scratch(4 * packedLength(part, r));
  eachChunk(vocab, part, (begin, width) => {
    packLogits(ctx, args, [begin, width], panels);
    if (adapter !== null) packColumns(ctx, adapter.b + 4 * begin * r, width, r, loraPanels);
    if (mean !== undefined) {
      eachChunk(width, chunk, (first, count) => {
        packValues(ctx, args, [begin + first, count], values + first * valueBytes);
      });
    }
    ctx.parallel({
      kernel: "head_forward",
      units: Math.ceil(rows / UNIT_ROWS),
      grain: Math.max(1, Math.ceil(UNIT_ELEMENTS / (UNIT_ROWS * width * d))),
      scratchBytes: UNIT_BYTES + 4 * UNITS_TOGETHER * UNIT_ROWS * (chunk + PADDING),
      args: {
        ...args,
        panels,
        values,
        stats,
        firstColumn: begin,
        endColumn: begin + width,
        alpha: 1 / args.temperature,
        chunk,
        kBlock: termsInOrder(d),
        chunkBlock: termsInOrder(chunk),
        softCap: capOf(args) ?? 0,
        loraPanels,
        r,
        rBlock: termsInOrder(r),
        loraAlpha: adapter?.alpha ?? 0,
      },
    });
  });
}

/** Where neither the weight is trained nor the entropies matter, the logits' mean is enough. */
const backwardFromMean = (args: HeadBackwardArgs, ctx: WasmContext): void =>
  ctx.parallel({
    kernel: "head_from_mean",
    units: args.rows,
    grain: rowGrain(2 * args.d),
    args: {
      ...args,
      type: args.weightType === undefined ? -1 : typeCode(args.weightType),
      scale: 1 / args.temperature,
    },
    scratchBytes: args.weightType === undefined ? 0 : Math.ceil(args.d / 16) * 64 + ROW_BYTES,
  });

export const headBackwardWasm: WasmOp<HeadBackwardArgs> = (args, ctx) => {
  const { rows, vocab, d, mean } = args;
  if (mean !== undefined) return backwardFromMean(args, ctx);
  const z = logitsScratch(ctx, args), cap = capOf(args);
  const capped = cap === undefined ? 0 : logitsScratch(ctx, args);
  const hidden = ctx.pointer(args.hidden);
  const dhidden = ctx.pointer(args.dhidden);
  const alpha = 1 / args.temperature, adapter = adapterOf(ctx, args);
  eachChunk(rows, rowChunk(ctx), (row, count) => {
    eachChunk(vocab, VOCAB_CHUNK, (first, width) => {
      makeLogits(ctx, args, z, [row, count], [first, width]);
      const n = count * width;
      if (cap !== undefined) byElements(ctx, "copy", 32, { src: z, out: capped, n });
      ctx.parallel({
        kernel: "head_dlogits",
        units: count,
        grain: rowGrain(width),
        args: { ...args, z, width, first, row },
      });
      if (cap !== undefined) {
        byElements(ctx, "soft_cap_backward", 16, { dout: z, y: capped, dx: z, n, cap });
      }
      gemm(ctx, {
        alpha,
        a: z,
        b: weightAt(ctx, args, first),
        weightType: args.weightType,
        out: dhidden + 4 * row * d,
        m: count,
        n: d,
        k: width,
        accumulate: first > 0,
      });
      const sum = { m: width, k: count, transA: true, accumulate: true };
      if (args.dweight !== undefined) {
        const out = ctx.pointer(args.dweight) + 4 * first * d;
        gemm(ctx, { ...sum, alpha, a: z, b: hidden + 4 * row * d, out, n: d });
      }
      if (adapter === null || args.dxa === undefined) return;
      const { xa, b, r } = adapter, low = { a: z, n: r, alpha: adapter.alpha };
      gemm(ctx, {
        ...low,
        b: b + 4 * first * r,
        out: ctx.pointer(args.dxa) + 4 * row * r,
        m: count,
        k: width,
        accumulate: first > 0,
      });
      if (args.dloraB === undefined) return;
      const out = ctx.pointer(args.dloraB) + 4 * first * r;
      gemm(ctx, { ...low, ...sum, b: xa + 4 * row * r, out });
    });
  });
};
