/**
 * Plans a product with a stored weight on the WASM device (stored.as.ts): which kernel, how the work is cut, how
 * much is widened at once. The plan depends on the shape alone, never on the number of threads.
 */
import type { WasmContext } from "../../common/wasm_op.ts";
import { blockOf, type BlockType, isBlockType, type WeightType } from "../../../weights/types.ts";
import { typeCode, WORK_BYTES } from "../../../weights/wasm.ts";
import type { GemmArgs } from "./gemm_args.ts";
import { PANEL } from "../spec.ts";
import { blockTiles, CHUNK_WORK, K_BLOCK, termsInOrder, TILE_ROWS } from "./tiling.ts";

/** Up to this many rows are multiplied with the codes as they lie; halves in steps of so many. */
const DOT_ROWS = 2;
const HALVES_STEP = 16;
/** Weights that are read (by a dot) or widened in the time that is worth handing to a thread. */
const CHUNK_WEIGHTS = 50_000;
/** Elements of rows that are made ready for a dot in such a time. */
const CHUNK_ELEMENTS = 8_000;
/**
 * Most steps of k that are summed one after the other: a panel's, and those of up to 24 rows, share the first-level
 * cache. The same for any number of rows (but one and two), and so a row's result has the same bits in any company.
 */
const STEPS = 192;
/** Tiles of few rows take a multiple of so many steps (READ_AHEAD of generate.ts). */
const TILE_STEPS = 16;
/** Up to this many rows so many are widened at once. */
const SLICED_ROWS = 96;
/** Most steps of k that are widened at once for more rows. */
const MOST_SLICE = 2048;
/** Most rows of a unit: their slice stays in the second-level cache. */
const UNIT_ROWS = 288;
/** Units of work that are enough for many threads: then they may be larger, which spares reading rows again. */
const ENOUGH_UNITS = 32;
const MOST_UNIT_PANELS = 4;
const MOST_UNIT_COLUMNS = 128;

/** Columns of a weight that can be widened apart: whole blocks, and whole panels of them. */
function columnsAtOnce(type: WeightType): number {
  return Math.max(PANEL, blockOf(type));
}

/** Runs the product with b a stored weight; nothing is empty but perhaps k. */
export function storedProduct(ctx: WasmContext, g: GemmArgs, type: WeightType): void {
  if (!g.transB) alongColumns(ctx, g, type);
  else if (g.m > DOT_ROWS) alongRows(ctx, g, type);
  else if (isBlockType(type)) dots(ctx, g, type);
  else if (g.k % HALVES_STEP === 0) halvesDots(ctx, g, type);
  else alongRows(ctx, g, type);
}

/** x·Wᵀ for one or two rows. */
function dots(
  ctx: WasmContext,
  { a, b, out, m, n, k, alpha, accumulate }: GemmArgs,
  type: BlockType,
) {
  const mark = ctx.mark();
  let x = a, sums = 0;
  if (type !== "q8_0" && type !== "int8") {
    x = ctx.scratch(4 * m * k);
    sums = ctx.scratch(4 * m * Math.ceil(k / 32));
    ctx.parallel({
      kernel: "matmul_stored_prepare",
      units: m,
      grain: Math.ceil(CHUNK_ELEMENTS / Math.max(1, k)),
      args: [typeCode(type), a, k, x, sums],
    });
  }
  ctx.parallel({
    kernel: "matmul_stored_dot",
    units: Math.ceil(n / PANEL),
    grain: Math.max(1, Math.round(CHUNK_WEIGHTS / (PANEL * Math.max(1, k)))),
    args: [typeCode(type), x, sums, b, out, m, n, k, alpha, accumulate ? 1 : 0],
    scratchBytes: 128 + WORK_BYTES,
  });
  ctx.release(mark);
}

/** x·Wᵀ for one or two rows and a weight in halves. */
function halvesDots(ctx: WasmContext, g: GemmArgs, type: "f16" | "bf16"): void {
  const { m, n, k } = g;
  // The kernel takes f16 for numbers 2^112 times too small: half of the difference is in x, half in the result.
  const mend = type === "f16" ? 2 ** 56 : 1;
  const mark = ctx.mark(), x = ctx.scratch(4 * m * k);
  ctx.parallel({
    kernel: "matmul_halves_prepare",
    units: m,
    grain: Math.ceil(CHUNK_ELEMENTS / k),
    args: [g.a, k, mend, x],
  });
  ctx.parallel({
    kernel: "matmul_halves_dot",
    units: Math.ceil(n / 4),
    grain: Math.max(1, Math.round(CHUNK_WEIGHTS / (4 * Math.max(1, k)))),
    args: [type === "bf16" ? 1 : 0, x, g.b, g.out, m, n, k, mend * g.alpha, g.accumulate ? 1 : 0],
    scratchBytes: 256,
  });
  ctx.release(mark);
}

/** Rows of a unit: about equally many in each, whole tiles. */
function rowsOfUnit(m: number): number {
  const rows = Math.ceil(m / Math.ceil(m / UNIT_ROWS));
  return Math.ceil(rows / TILE_ROWS) * TILE_ROWS;
}

/** Steps that are widened at once, at most `most`, in about equal parts and whole blocks. */
function sliceOf(k: number, most: number, block: number): number {
  const even = k / Math.max(1, Math.ceil(k / most));
  return Math.max(block, Math.ceil(even / block) * block);
}

/** x·Wᵀ for more rows. */
function alongRows(ctx: WasmContext, g: GemmArgs, type: WeightType): void {
  const { m, n, k } = g;
  const few = m <= SLICED_ROWS;
  const steps = sliceOf(k, STEPS, Math.max(TILE_STEPS, blockOf(type)));
  const slice = few ? steps : steps * Math.max(1, Math.floor(Math.min(k, MOST_SLICE) / steps));
  const kBlock = steps < k ? steps : Math.ceil(termsInOrder(k) / TILE_STEPS) * TILE_STEPS;
  const unitRows = rowsOfUnit(m), panels = Math.ceil(n / PANEL);
  const chunks = Math.ceil(m / unitRows);
  const roomy = Math.floor(chunks * panels / ENOUGH_UNITS);
  const unitPanels = few ? 1 : Math.max(1, Math.min(MOST_UNIT_PANELS, roomy));
  const tiles = blockTiles(Math.min(m, unitRows), slice);
  const unitWork = Math.min(m, unitRows) * unitPanels * PANEL * k;
  const weights = unitPanels * PANEL * k;
  ctx.parallel({
    kernel: "matmul_stored",
    units: chunks * Math.ceil(panels / unitPanels),
    grain: Math.max(1, Math.round(1 / (unitWork / CHUNK_WORK + weights / CHUNK_WEIGHTS))),
    args: [
      typeCode(type),
      g.a,
      g.b,
      g.out,
      ...[m, n, k, unitRows, unitPanels, slice, kBlock, tiles],
      ...[g.alpha, g.accumulate ? 1 : 0],
    ],
    scratchBytes: WORK_BYTES + tiles * TILE_ROWS * PANEL * 4 + 4 * slice * unitPanels * PANEL,
  });
}

/** dy·W: W lies with its rows along k. */
function alongColumns(ctx: WasmContext, g: GemmArgs, type: WeightType): void {
  const { m, n, k } = g, step = columnsAtOnce(type);
  const slice = sliceOf(k, K_BLOCK, PANEL), unitRows = rowsOfUnit(m);
  const chunks = Math.ceil(m / unitRows);
  const roomy = Math.floor(chunks * n / ENOUGH_UNITS);
  const most = Math.max(step, Math.min(MOST_UNIT_COLUMNS, roomy));
  const unitColumns = most - most % step;
  const tiles = blockTiles(Math.min(m, unitRows), slice);
  const unitWork = Math.min(m, unitRows) * unitColumns * k;
  ctx.parallel({
    kernel: "matmul_stored_rows",
    units: chunks * Math.ceil(n / unitColumns),
    grain: Math.max(1, Math.round(CHUNK_WORK / Math.max(1, unitWork))),
    args: [
      typeCode(type),
      g.a,
      g.b,
      g.out,
      ...[m, n, k, unitRows, unitColumns, slice, k > slice ? slice : termsInOrder(k), tiles],
      ...[g.alpha, g.accumulate ? 1 : 0],
    ],
    scratchBytes: WORK_BYTES + 64 * unitColumns + tiles * TILE_ROWS * PANEL * 4 +
      4 * slice * unitColumns,
  });
}

/** `count` rows of a weight [*, k], from address `b` on, widened to panels [k][PANEL] at `packed`. */
export function packPanels(
  ctx: WasmContext,
  type: WeightType,
  b: number,
  k: number,
  count: number,
  packed: number,
): void {
  ctx.parallel({
    kernel: "stored_panels",
    units: Math.ceil(count / PANEL),
    grain: Math.max(1, Math.round(CHUNK_WEIGHTS / (PANEL * k))),
    args: [typeCode(type), b, count, k, packed],
    scratchBytes: WORK_BYTES,
  });
}

/** `count` rows of a weight [*, width], from address `b` on, widened to panels [count][PANEL] of their columns. */
export function packPanelColumns(
  ctx: WasmContext,
  type: WeightType,
  b: number,
  width: number,
  count: number,
  packed: number,
): void {
  const columns = columnsAtOnce(type);
  ctx.parallel({
    kernel: "stored_columns",
    units: Math.ceil(width / columns),
    grain: Math.max(1, Math.round(CHUNK_WEIGHTS / 2 / (columns * count))),
    args: [typeCode(type), b, width, count, columns, packed],
    scratchBytes: WORK_BYTES + 64 * columns,
  });
}
