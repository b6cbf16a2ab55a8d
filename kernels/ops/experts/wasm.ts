/**
 * CPU bindings of the operations on experts. The choice is made on the host. Products of floats are
 * one job for all experts (native/c/experts.c), in which the order of a sum's terms depends on its
 * length alone. With other weights, and where experts have many rows, each expert's rows are a
 * product of their own.
 */
import { gemm } from "../matmul/wasm/gemm.ts";
import { blockTiles, CHUNK_WORK, K_BLOCK, termsInOrder } from "../matmul/wasm/tiling.ts";
import { PANEL } from "../matmul/spec.ts";
import type { WasmContext, WasmOp } from "../common/wasm_op.ts";
import { storedWords } from "../../weights/types.ts";
import { route, routeBackward } from "./choose.ts";
import type { ExpertGradientArgs, ExpertMatmulArgs, RouteArgs, RouteBackwardArgs } from "./spec.ts";

/** Max number of terms of x·Wᵀ that are packed at once; of other products it is K_BLOCK. */
const MAX_SLICE = 2048;
/** Columns of a unit of x·Wᵀ, and of dy·W. */
const UNIT_COLUMNS = [64, 128] as const;
/** Rows and columns of a unit of a gradient: its rows are written in the order of memory. */
const GRADIENT_ROWS = 224;
const MAX_GRADIENT_COLUMNS = 1024;
/**
 * Mean rows of an expert from which its rows are a product of their own, with the same bits. On two
 * threads of an Intel Xeon a forward of 2 of 8 experts at 512 rows then takes 0.89 of the time
 * (docs/log/families.md).
 */
const LARGE_EXPERT = 96;
/** Number of weights that a chunk of work packs. */
const CHUNK_WEIGHTS = 10_000;

export const routeWasm: WasmOp<RouteArgs> = (args, ctx) =>
  route({
    ...args,
    logits: ctx.f32(args.logits),
    gates: ctx.f32(args.gates),
    rowOf: ctx.u32(args.rowOf),
    placeOf: ctx.u32(args.placeOf),
    expertOf: ctx.u32(args.expertOf),
    begin: ctx.u32(args.begin),
  });

export const routeBackwardWasm: WasmOp<RouteBackwardArgs> = (args, ctx) =>
  routeBackward({
    ...args,
    logits: ctx.f32(args.logits),
    gates: ctx.f32(args.gates),
    placeOf: ctx.u32(args.placeOf),
    expertOf: ctx.u32(args.expertOf),
    dgates: ctx.f32(args.dgates),
    balance: args.balance && ctx.f32(args.balance),
    dlogits: ctx.f32(args.dlogits),
  });

/** Calls `work` for each expert that has rows. */
function eachExpert(
  ctx: WasmContext,
  args: Pick<ExpertMatmulArgs, "begin" | "experts">,
  work: (expert: number, first: number, rows: number) => void,
): void {
  const begin = ctx.u32(args.begin).slice(0, args.experts + 1);
  for (let e = 0; e < args.experts; e++) {
    const first = begin[e]!, rows = begin[e + 1]! - first;
    if (rows === 0) continue;
    const mark = ctx.mark();
    work(e, first, rows);
    ctx.release(mark);
  }
}

const wholePanels = (columns: number) => Math.ceil(columns / PANEL) * PANEL;

export const expertMatmulWasm: WasmOp<ExpertMatmulArgs> = (args, ctx) => {
  const { rows, n, k, transB = false, alpha = 1, accumulate = false, weightType } = args;
  const { experts, begin: at } = args, isLarge = !accumulate && rows >= LARGE_EXPERT * experts;
  if (weightType !== undefined || ctx.computeDtype !== "float32" || isLarge) {
    matmulEach(args, ctx);
    return;
  }
  const kBlock = termsInOrder(k);
  const slice = kBlock * Math.floor((transB ? MAX_SLICE : K_BLOCK) / kBlock);
  const unitColumns = Math.min(UNIT_COLUMNS[transB ? 0 : 1], wholePanels(n));
  const weights = unitColumns * k, work = weights * rows / experts;
  ctx.parallel({
    kernel: "expert_matmul",
    units: experts * Math.ceil(n / unitColumns),
    grain: Math.max(1, Math.round(1 / (work / CHUNK_WORK + weights / CHUNK_WEIGHTS))),
    args: {
      ...args,
      at,
      transB,
      unitColumns,
      slice,
      kBlock,
      blockTiles: blockTiles(rows, slice),
      alpha,
      accumulate,
    },
    scratchBytes: 4 * Math.min(k, slice) * unitColumns,
  });
};

const matmulEach: WasmOp<ExpertMatmulArgs> = (args, ctx) => {
  const { n, k, transB = false, alpha = 1, accumulate = false, weightType } = args;
  const a = ctx.pointer(args.a), b = ctx.pointer(args.b), out = ctx.pointer(args.out);
  const [height, width] = transB ? [n, k] : [k, n];
  const sizes = { n, k, transB, weightType, alpha, accumulate, steady: true };
  eachExpert(ctx, args, (e, first, m) => {
    const before = e * height;
    const words = weightType === undefined
      ? before * width
      : storedWords(weightType, before, width);
    gemm(ctx, {
      ...sizes,
      m,
      a: a + 4 * first * k,
      b: b + 4 * words,
      out: out + 4 * first * n,
    });
  });
};

export const expertGradientWasm: WasmOp<ExpertGradientArgs> = (args, ctx) => {
  const { rows, m, n, alpha = 1, experts, begin: at } = args;
  if (ctx.computeDtype !== "float32") {
    gradientEach(args, ctx);
    return;
  }
  const unitColumns = wholePanels(n / Math.ceil(n / MAX_GRADIENT_COLUMNS));
  const work = rows / experts * Math.min(m, GRADIENT_ROWS) * unitColumns;
  ctx.parallel({
    kernel: "expert_gradient",
    units: experts * Math.ceil(m / GRADIENT_ROWS) * Math.ceil(n / unitColumns),
    grain: Math.max(1, Math.round(CHUNK_WORK / work)),
    args: { ...args, at, unitRows: GRADIENT_ROWS, unitColumns, alpha },
    scratchBytes: 4 * K_BLOCK * (PANEL + unitColumns),
  });
};

const gradientEach: WasmOp<ExpertGradientArgs> = (args, ctx) => {
  const { m, n, alpha = 1 } = args, sizes = { m, n, transA: true, alpha, accumulate: true };
  const a = ctx.pointer(args.a), b = ctx.pointer(args.b), out = ctx.pointer(args.out);
  eachExpert(ctx, args, (e, first, k) => {
    gemm(ctx, {
      ...sizes,
      k,
      a: a + 4 * first * m,
      b: b + 4 * first * n,
      out: out + 4 * e * m * n,
    });
  });
};
