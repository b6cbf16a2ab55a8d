/**
 * Plans a product in bfloat16 or float16 on the WASM device (native/c/rounded.c, bf16.c): how the
 * work is divided. The plan depends only on the shape, and no bit depends on the plan.
 */
import type { WasmContext } from "../../common/wasm_op.ts";
import { blockOf } from "../../../weights/types.ts";
import { typeCode } from "../../../weights/wasm.ts";
import { TERMS } from "../bf16.ts";
import { type GemmArgs, NO_LORA } from "./gemm_args.ts";

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
/**
 * For many rows: max bytes of b in 16 bits, all of which or whose groups of columns stay in the
 * second-level cache; and min columns of a group, since rows are packed again for each group.
 */
const B_BYTES = 2 ** 21;
const GROUP_BYTES = 2 ** 20;
const MIN_GROUP = 192;
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
  const scratchBytes = 8 * depth * unitColumns + sums;
  return { unitRows, unitColumns, slice, groups, scratchBytes };
}

/** Bytes of the packed rows of a, or columns of b. The WASM kernels keep them as floats. */
function packedRowBytes(m: number, k: number): number {
  return 4 * roundUp(m, LANES) * roundUp(k, TERMS);
}

/** Names of kernels begin or end with the type of products. */
function typeOf({ computeDtype }: WasmContext): "f16" | "bf16" {
  return computeDtype === "float16" ? "f16" : "bf16";
}

function kindOf({ weightType, packedB }: GemmArgs): number {
  if (weightType !== undefined) return typeCode(weightType);
  return packedB ? PACKED : FLOATS;
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
    kernel: `${typeOf(ctx)}_pack_rows`,
    units: Math.ceil(m / LANES),
    // Of a transposed a, neighbouring rows are read together.
    grain: Math.max(transA ? 8 : 1, Math.round(CHUNK_ELEMENTS / (LANES * Math.max(1, k)))),
    args: { a, m, k, transA, packed },
  });
  return packed;
}

/** Runs the product; m and n are positive. A rank of an adapter is at most WIDE_SLICE. */
export function roundedProduct(ctx: WasmContext, g: GemmArgs): void {
  const columns = groupOfColumns(g);
  if (columns > 0) manyRows(ctx, g, columns);
  else fewRows(ctx, g);
}

/**
 * Where there are many rows, b is packed once, and each unit packs its rows: columns of a group of
 * b that units multiply by. Otherwise 0: then all rows are packed once, and units pack columns.
 */
function groupOfColumns(
  { m, n, k, transA }: Pick<GemmArgs, "m" | "n" | "k" | "transA">,
): number {
  if (k === 0 || m < ENOUGH_UNITS * PAIR || transA) return 0;
  const bytes = 2 * n * k;
  if (bytes <= B_BYTES) return roundUp(n, PAIR);
  const columns = roundUp(n / Math.ceil(bytes / GROUP_BYTES), PAIR);
  return columns >= MIN_GROUP ? columns : 0;
}

/** Packs all columns of b. @returns their address */
function packColumns(ctx: WasmContext, g: GemmArgs): number {
  const { n, k, transB, weightType } = g, packed = ctx.scratch(packedRowBytes(n, k));
  const block = weightType === undefined || transB ? 1 : blockOf(weightType);
  const columns = Math.max(transB ? PAIR : 4 * PAIR, block);
  ctx.parallel({
    kernel: `${typeOf(ctx)}_pack_columns`,
    units: Math.ceil(n / columns),
    grain: Math.max(1, Math.round(CHUNK_WEIGHTS / (columns * k))),
    args: { ...g, type: kindOf(g), unitColumns: columns, packed },
    scratchBytes: 4 * roundUp(k, TERMS) * columns,
  });
  return packed;
}

function manyRows(ctx: WasmContext, g: GemmArgs, columns: number): void {
  const { m, n, k, lora } = g, mark = ctx.mark(), packed = packColumns(ctx, g);
  const adapter: GemmArgs | undefined = lora && {
    a: lora.xa,
    b: lora.loraB,
    out: g.out,
    m,
    n,
    k: lora.r,
    alpha: 1,
    transA: false,
    transB: true,
    accumulate: true,
  };
  const loraB = adapter === undefined ? 0 : packColumns(ctx, adapter);
  ctx.parallel({
    kernel: `matmul_${typeOf(ctx)}_rows`,
    units: Math.ceil(m / PAIR) * Math.ceil(n / columns),
    grain: Math.max(1, Math.round(CHUNK_WORK / (PAIR * Math.min(n, columns) * k))),
    args: { ...g, b: packed, unitColumns: columns, ...(lora ?? NO_LORA), loraB },
    scratchBytes: 4 * PAIR * (roundUp(k, TERMS) + roundUp(lora?.r ?? 0, TERMS)),
  });
  ctx.release(mark);
}

function fewRows(ctx: WasmContext, g: GemmArgs): void {
  const { m, k, lora } = g;
  const { unitRows, unitColumns, slice, groups, scratchBytes } = plan(g);
  const mark = ctx.mark(), packed = packRows(ctx, g.a, m, k, g.transA);
  const xa = lora === undefined ? 0 : packRows(ctx, lora.xa, m, lora.r, false);
  const weights = unitColumns * k, work = Math.min(m, unitRows) * weights;
  ctx.parallel({
    kernel: `matmul_${typeOf(ctx)}`,
    units: Math.ceil(m / unitRows) * groups,
    grain: Math.max(1, Math.round(1 / (work / CHUNK_WORK + weights / CHUNK_WEIGHTS))),
    args: {
      ...g,
      type: kindOf(g),
      a: packed,
      unitRows,
      unitColumns,
      slice,
      ...(lora ?? NO_LORA),
      xa,
    },
    scratchBytes,
  });
  ctx.release(mark);
}
