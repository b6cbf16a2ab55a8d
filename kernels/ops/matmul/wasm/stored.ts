/**
 * Plans a product with a stored weight on the WASM device (native/c/stored.c): which kernel is
 * used, how the work is divided, and how much is widened at once. The plan depends only on the
 * shape, never on the number of threads.
 */
import type { WasmContext } from "../../common/wasm_op.ts";
import { blockOf, type BlockType, isBlockType, type WeightType } from "../../../weights/types.ts";
import { typeCode } from "../../../weights/wasm.ts";
import { type GemmArgs, NO_LORA } from "./gemm_args.ts";
import { PANEL } from "../spec.ts";
import { blockTiles, CHUNK_WORK, K_BLOCK, termsInOrder, TILE_ROWS } from "./tiling.ts";

/**
 * Max number of rows that are multiplied with the stored codes directly. For weights in halves, k
 * must be a multiple of HALVES_STEP for that.
 */
const DOT_ROWS = 2;
const HALVES_STEP = 16;
/** Number of weights that a chunk of work reads (for dot products) or widens. */
const CHUNK_WEIGHTS = 50_000;
/** Number of elements that a chunk of work prepares for dot products. */
const CHUNK_ELEMENTS = 8_000;
/**
 * Max number of terms that are summed in order: those of a panel and of up to 24 rows together fit
 * the first-level cache. It is the same for every number of rows (except one and two). So the bits
 * of a row's result do not depend on how many other rows there are.
 */
const MAX_TERMS = 192;
/** The number of terms that are summed in order is a multiple of this one. */
const TILE_TERMS = 16;
/** Up to this many rows, only the terms that are summed in order are widened at once. */
const SLICED_ROWS = 96;
/** Max number of terms that are widened at once for more rows. */
const MAX_SLICE = 2048;
/**
 * Max number of rows in a unit: they stay in the second-level cache, beside the widened weights and
 * the result, while they are multiplied by all columns.
 */
const MAX_UNIT_ROWS = 132;
/**
 * This number of units is enough for many threads. If there would be more, units may have more
 * panels or columns, so that rows are read less often.
 */
const ENOUGH_UNITS = 32;
const MAX_UNIT_PANELS = 4;
const MAX_UNIT_COLUMNS = 128;

/** Smallest number of columns of a weight that can be widened: whole blocks and whole panels. */
function columnsAtOnce(type: WeightType): number {
  return Math.max(PANEL, blockOf(type));
}

/** Whether x·Wᵀ of m rows is computed by matmul_stored, whatever the type and k are. */
export function widensRows(m: number): boolean {
  return m > DOT_ROWS;
}

/** Runs the product; b is a stored weight. m, n and k are positive. */
export function storedProduct(ctx: WasmContext, g: GemmArgs, type: WeightType): void {
  if (!g.transB) alongColumns(ctx, g, type);
  else if (g.steady || widensRows(g.m)) alongRows(ctx, g, type);
  else if (isBlockType(type)) dots(ctx, g, type);
  else if (g.k % HALVES_STEP === 0) halvesDots(ctx, g, type);
  else alongRows(ctx, g, type);
}

/** x·Wᵀ for one or two rows. */
function dots(ctx: WasmContext, g: GemmArgs, type: BlockType): void {
  const { m, n, k } = g, mark = ctx.mark();
  let x = g.a, sums = 0;
  if (type !== "q8_0" && type !== "int8") {
    x = ctx.scratch(4 * m * k);
    sums = ctx.scratch(4 * m * Math.ceil(k / 32));
    ctx.parallel({
      kernel: "matmul_stored_prepare",
      units: m,
      grain: Math.ceil(CHUNK_ELEMENTS / Math.max(1, k)),
      args: { type: typeCode(type), x: g.a, k, to: x, sums },
    });
  }
  ctx.parallel({
    kernel: "matmul_stored_dot",
    units: Math.ceil(n / PANEL),
    grain: Math.max(1, Math.round(CHUNK_WEIGHTS / (PANEL * Math.max(1, k)))),
    args: { ...g, type: typeCode(type), x, sums, w: g.b },
  });
  ctx.release(mark);
}

/** x·Wᵀ for one or two rows, with a weight in halves. */
function halvesDots(ctx: WasmContext, g: GemmArgs, type: "f16" | "bf16"): void {
  const { m, n, k } = g;
  // The kernel reads an f16 as a number that is 2^112 times too small. x and the result are each
  // multiplied by the square root of that.
  const factor = type === "f16" ? 2 ** 56 : 1;
  const mark = ctx.mark(), x = ctx.scratch(4 * m * k);
  ctx.parallel({
    kernel: "matmul_halves_prepare",
    units: m,
    grain: Math.ceil(CHUNK_ELEMENTS / k),
    args: { x: g.a, k, factor, to: x },
  });
  ctx.parallel({
    kernel: "matmul_halves_dot",
    units: Math.ceil(n / 4),
    grain: Math.max(1, Math.round(CHUNK_WEIGHTS / (4 * Math.max(1, k)))),
    args: { ...g, bf16: type === "bf16", x, w: g.b, alpha: factor * g.alpha },
  });
  ctx.release(mark);
}

/** Number of rows in a unit: about the same in each unit, and whole tiles. */
function rowsOfUnit(m: number): number {
  const rows = Math.ceil(m / Math.ceil(m / MAX_UNIT_ROWS));
  return Math.ceil(rows / TILE_ROWS) * TILE_ROWS;
}

/** Length of the slices of k: whole blocks, about the same in each, and about `max` at most. */
function sliceOf(k: number, max: number, block: number): number {
  const even = k / Math.max(1, Math.ceil(k / max));
  return Math.max(block, Math.ceil(even / block) * block);
}

/** x·Wᵀ for more rows. */
function alongRows(ctx: WasmContext, g: GemmArgs, type: WeightType): void {
  const { m, n, k, lora = NO_LORA } = g;
  const few = m <= SLICED_ROWS;
  const terms = sliceOf(k, MAX_TERMS, Math.max(TILE_TERMS, blockOf(type)));
  const slice = few ? terms : terms * Math.max(1, Math.floor(Math.min(k, MAX_SLICE) / terms));
  const kBlock = terms < k ? terms : Math.ceil(termsInOrder(k) / TILE_TERMS) * TILE_TERMS;
  const unitRows = rowsOfUnit(m), panels = Math.ceil(n / PANEL);
  const chunks = Math.ceil(m / unitRows);
  const roomy = Math.floor(chunks * panels / ENOUGH_UNITS);
  const unitPanels = few ? 1 : [4, 2, 1].find((panels) => panels <= roomy) ?? 1;
  const unitWork = Math.min(m, unitRows) * unitPanels * PANEL * k;
  const weights = unitPanels * PANEL * k;
  ctx.parallel({
    kernel: "matmul_stored",
    units: chunks * Math.ceil(panels / unitPanels),
    grain: Math.max(1, Math.round(1 / (unitWork / CHUNK_WORK + weights / CHUNK_WEIGHTS))),
    args: {
      ...g,
      type: typeCode(type),
      w: g.b,
      unitRows,
      unitPanels,
      slice,
      kBlock,
      blockTiles: blockTiles(Math.min(m, unitRows), slice),
      ...lora,
      rBlock: termsInOrder(lora.r),
    },
    // The kernel does neighbouring units together, up to MAX_UNIT_PANELS panels.
    scratchBytes: 4 * Math.max(slice, lora.r) * MAX_UNIT_PANELS * PANEL,
  });
}

/** dy·W: the rows of W are the terms. */
function alongColumns(ctx: WasmContext, g: GemmArgs, type: WeightType): void {
  const { m, n, k } = g, step = columnsAtOnce(type);
  const slice = sliceOf(k, K_BLOCK, PANEL), unitRows = rowsOfUnit(m);
  const chunks = Math.ceil(m / unitRows);
  const roomy = Math.floor(chunks * n / ENOUGH_UNITS);
  const maxColumns = Math.max(step, Math.min(MAX_UNIT_COLUMNS, roomy));
  const unitColumns = maxColumns - maxColumns % step;
  const kBlock = k > slice ? slice : termsInOrder(k);
  const unitWork = Math.min(m, unitRows) * unitColumns * k;
  ctx.parallel({
    kernel: "matmul_stored_rows",
    units: chunks * Math.ceil(n / unitColumns),
    grain: Math.max(1, Math.round(CHUNK_WORK / Math.max(1, unitWork))),
    args: {
      ...g,
      type: typeCode(type),
      w: g.b,
      unitRows,
      unitColumns,
      slice,
      kBlock,
      blockTiles: blockTiles(Math.min(m, unitRows), slice),
    },
    scratchBytes: 4 * slice * unitColumns,
  });
}

/**
 * Widens `count` rows of a weight [*, k], from address `b` on, to panels [k][PANEL] at `packed`.
 */
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
    args: { type: typeCode(type), w: b, rows: count, k, to: packed },
  });
}

/**
 * Widens `count` rows of a weight [*, width], from address `b` on, to panels [count][PANEL] of
 * their columns at `packed`.
 */
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
    args: { type: typeCode(type), w: b, width, rows: count, unitColumns: columns, to: packed },
  });
}
