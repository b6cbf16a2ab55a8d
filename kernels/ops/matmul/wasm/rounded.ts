/**
 * Plans a product in bfloat16 or float16 on the WASM device (rounded.as.ts): how the work is
 * divided. The plan depends only on the shape, and no bit depends on the plan.
 */
import type { WasmContext } from "../../common/wasm_op.ts";
import { blockOf } from "../../../weights/types.ts";
import { typeCode, WORK_BYTES } from "../../../weights/wasm.ts";
import { TERMS } from "../bf16.ts";
import type { GemmArgs } from "./gemm_args.ts";

/** Rows and columns that the native kernels multiply at once. */
const PAIR = 32;
const LANES = 16;
/** Kinds of b that are no storage types: floats, and floats in panels (pack_weight). */
const FLOATS = -1;
const PACKED = -2;
/** Max terms that are packed at once: whole blocks of every type, and of fewer columns. */
const MAX_SLICE = 2048;
const WIDE_SLICE = 1024;
/** Max bytes of a unit's rows in 16 bits, which should stay in the second-level cache. */
const UNIT_BYTES = 2 ** 20;
/** If there would be fewer units, units get fewer rows. */
const ENOUGH_UNITS = 32;
/** A chunk of work (about 2.5 µs) in multiply-adds, in weights to pack, in elements to round. */
const CHUNK_WORK = 1_000_000;
const CHUNK_WEIGHTS = 10_000;
const CHUNK_ELEMENTS = 8_000;

const roundUp = (x: number, to: number) => Math.ceil(x / to) * to;

/** The sizes of the units, and bytes of a thread's scratch. */
function plan({ m, n, k, transB, weightType, lora }: GemmArgs) {
  const block = weightType === undefined || transB ? 1 : blockOf(weightType);
  const unitColumns = Math.max(PAIR, block), wide = unitColumns > PAIR;
  const slice = wide ? WIDE_SLICE : MAX_SLICE, terms = Math.max(k, lora?.r ?? 0);
  const depth = roundUp(Math.min(slice, terms), TERMS);
  const groups = Math.ceil(n / unitColumns);
  const fitting = Math.floor(UNIT_BYTES / (2 * Math.max(TERMS, depth)));
  const enough = Math.floor(m * groups / ENOUGH_UNITS);
  const maxRows = Math.max(PAIR, Math.min(fitting, enough));
  const unitRows = roundUp(Math.ceil(m / Math.ceil(m / maxRows)), PAIR);
  const sums = k > slice ? 4 * unitRows * unitColumns : 0;
  const scratchBytes = WORK_BYTES + 64 * unitColumns + 8 * depth * unitColumns + 384 + sums;
  return { unitRows, unitColumns, slice, groups, scratchBytes };
}

/** Bytes of the packed rows of a. The WASM kernels keep them as floats. */
export function packedRowBytes(m: number, k: number): number {
  return 4 * roundUp(m, LANES) * roundUp(k, TERMS);
}

/** The kernels of the type of products. */
function kernels({ computeDtype }: WasmContext): { pack: string; multiply: string } {
  return computeDtype === "float16"
    ? { pack: "f16_pack_rows", multiply: "matmul_f16" }
    : { pack: "bf16_pack_rows", multiply: "matmul_bf16" };
}

/** Packs the rows of a [m, k], or its transpose with `transA`. @returns their address */
function packRows(
  ctx: WasmContext,
  a: number,
  m: number,
  k: number,
  transA: boolean,
): number {
  const packed = ctx.scratch(packedRowBytes(m, k));
  ctx.parallel({
    kernel: kernels(ctx).pack,
    units: Math.ceil(m / LANES),
    grain: Math.max(1, Math.round(CHUNK_ELEMENTS / (LANES * Math.max(1, k)))),
    args: [a, m, k, transA ? 1 : 0, packed],
  });
  return packed;
}

/** Runs the product; m and n are positive. A rank of an adapter is at most WIDE_SLICE. */
export function roundedProduct(ctx: WasmContext, g: GemmArgs): void {
  const { m, n, k, transB, packedB, weightType, lora } = g;
  const { unitRows, unitColumns, slice, groups, scratchBytes } = plan(g);
  const mark = ctx.mark(), packed = packRows(ctx, g.a, m, k, g.transA);
  const xa = lora === undefined ? 0 : packRows(ctx, lora.xa, m, lora.r, false);
  const weights = unitColumns * k, work = Math.min(m, unitRows) * weights;
  ctx.parallel({
    kernel: kernels(ctx).multiply,
    units: Math.ceil(m / unitRows) * groups,
    grain: Math.max(1, Math.round(1 / (work / CHUNK_WORK + weights / CHUNK_WEIGHTS))),
    args: [
      weightType === undefined ? (packedB ? PACKED : FLOATS) : typeCode(weightType),
      transB ? 1 : 0,
      packed,
      g.b,
      g.out,
      m,
      n,
      k,
      unitRows,
      unitColumns,
      slice,
      g.alpha,
      g.accumulate ? 1 : 0,
      xa,
      lora?.b ?? 0,
      lora?.r ?? 0,
      lora?.scale ?? 0,
    ],
    scratchBytes,
  });
  ctx.release(mark);
}
