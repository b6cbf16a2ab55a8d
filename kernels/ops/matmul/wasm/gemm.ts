/**
 * Plans a matrix product on the WASM device: which operand is spread over the lanes, what is packed,
 * how the work is cut. Works on addresses, so that other operations (the fused head) can use it on
 * scratch memory. The plan depends on the shape alone, never on the number of threads.
 */
import type { WasmContext } from "../../common/wasm_op.ts";
import type { GemmArgs } from "./gemm_args.ts";
import { int8Product } from "./int8.ts";
import { packedLength, PANEL } from "../spec.ts";
import { storedProduct } from "./stored.ts";
import {
  blockTiles,
  CHUNK_WORK,
  MOST_BLOCK_TILES,
  termsInOrder,
  TILE_ROWS,
  tileCount,
} from "./tiling.ts";

const LANES = PANEL;
/** Packed elements worth handing to a thread (about 2.5 µs). */
const CHUNK_PACK = 10_000;
/**
 * Packed rows of both operands of aᵀ·b that stay in the second-level cache, from which width of the
 * result on packing pays, and how many rows a chunk may have.
 */
const TALL_BYTES = 400 * 1024;
const TALL_WIDTH = 40;
const TALL_LEAST = 128;
const TALL_MOST = 512;
/** Elements of a unit of matmul_sum_partial. */
const SUM_UNIT = 64;
/** Up to this many rows x·Wᵀ is done by dot products. */
const DOT_MOST_ROWS = 8;
/** From this many rows on, a copy of b in panels pays for itself. */
const PACK_FROM_ROWS = 25;
/** Up to this many columns a transposed a is read where it lies. */
const NARROW = 64;
/** From this many columns of b on, a copy of a transposed a in tiles pays for itself. */
const PACK_TILES_FROM_COLUMNS = 65;
/** Rough costs in ns: one multiply-add at full speed, packing and storing transposed one element. */
const MADD_NS = 2 / 110;
const PACK_TRANSPOSED_NS = 0.25;
const STORE_TRANSPOSED_NS = 0.25;

/** Runs the product; m, n and k may be 0. */
export function gemm(ctx: WasmContext, g: GemmArgs): void {
  const { m, n, k } = g;
  if (m === 0 || n === 0) return;
  if (g.packedB) {
    const mark = ctx.mark();
    const spread = { ...spreadA(ctx, g), rows: m, columns: n, swapped: false };
    blocks(ctx, g, spread, { address: 0, step: 0, panels: 0, packed: g.b });
    ctx.release(mark);
    return;
  }
  // Of an empty weight nothing is read: it may be of any type.
  if (g.weightType !== undefined && k > 0) {
    if (g.int8) int8Product(ctx, g, g.weightType);
    else storedProduct(ctx, g, g.weightType);
    return;
  }
  if (g.transB && !g.transA && m <= DOT_MOST_ROWS && k % 8 === 0 && n % 4 === 0) {
    dots(ctx, g);
    return;
  }
  const mark = ctx.mark();
  const depth = g.transA && !g.transB ? tallDepth(m, n, k) : 0;
  if (depth > 0) {
    tall(ctx, g, depth);
  } else if (g.transB && !g.transA && swapPays(m, n, k)) {
    const packed = packColumns(ctx, g.a, m, k);
    const spread = { s: g.b, sStep: 4 * k, layout: S_ROWS, rows: n, columns: m, swapped: true };
    blocks(ctx, g, spread, {
      address: 0,
      step: 0,
      panels: 0,
      packed,
    });
  } else {
    const spread = { ...spreadA(ctx, g), rows: m, columns: n, swapped: false };
    blocks(ctx, g, spread, g.transB ? lanesTransposed(ctx, g) : lanesDirect(ctx, g));
  }
  ctx.release(mark);
}

/** Values of the kernel's sLayout. */
const S_ROWS = 0;
const S_COLUMNS = 1;
const S_PACKED = 2;

/** The operand that is spread over all lanes, and the shape seen from it. */
interface Spread {
  s: number;
  sStep: number;
  layout: number;
  rows: number;
  columns: number;
  swapped: boolean;
}

/** The operand that fills the lanes: `panels` panels read in place, the others from `packed`. */
interface Lanes {
  address: number;
  step: number;
  panels: number;
  packed: number;
}

/** a as the spread operand; transposed and read by several panels, it is first packed by tiles. */
function spreadA(ctx: WasmContext, { a, m, n, k, transA }: GemmArgs) {
  if (!transA) return { s: a, sStep: 4 * k, layout: S_ROWS };
  if (m <= NARROW || n < PACK_TILES_FROM_COLUMNS) return { s: a, sStep: 4 * m, layout: S_COLUMNS };
  const packed = ctx.scratch(4 * m * k);
  const tiles = tileCount(m);
  ctx.parallel({
    kernel: "matmul_pack_tiles",
    units: tiles,
    grain: Math.max(4, Math.ceil(CHUNK_PACK / (TILE_ROWS * Math.max(1, k)))),
    args: [a, 4 * m, Math.floor(m / tiles), m % tiles, k, packed],
  });
  return { s: packed, sStep: 0, layout: S_PACKED };
}

/** For x·Wᵀ: whether to spread W and fill the lanes with x, which then is what must be packed. */
function swapPays(m: number, n: number, k: number): boolean {
  const round = (x: number) => Math.ceil(x / LANES) * LANES;
  const keep = m * round(n) * k * MADD_NS + n * k * PACK_TRANSPOSED_NS;
  const swap = round(m) * n * k * MADD_NS + m * k * PACK_TRANSPOSED_NS +
    m * n * STORE_TRANSPOSED_NS;
  return swap < keep;
}

/** Packs `source` [columns, k], read along its rows, in panels of 16 columns; returns their address. */
export function packColumns(
  ctx: WasmContext,
  source: number,
  columns: number,
  k: number,
  packed = ctx.scratch(4 * packedLength(columns, k)),
): number {
  ctx.parallel({
    kernel: "transpose_to_panels",
    units: Math.ceil(columns / LANES),
    grain: Math.max(1, Math.ceil(CHUNK_PACK / (k * LANES))),
    args: [source, 4 * k, columns, k, packed],
  });
  return packed;
}

/** Packs `source` [k, columns] in panels of 16 columns at `packed`, from panel `from` on. */
export function packRows(
  ctx: WasmContext,
  source: number,
  columns: number,
  k: number,
  packed: number,
  from = 0,
): void {
  ctx.parallel({
    kernel: "matmul_pack",
    units: Math.ceil(columns / LANES) - from,
    grain: Math.max(1, Math.ceil(CHUNK_PACK / (k * LANES))),
    args: [source, 4 * columns, columns, k, from, packed],
  });
}

function lanesTransposed(ctx: WasmContext, { b, n, k }: GemmArgs): Lanes {
  return { address: 0, step: 0, panels: 0, packed: packColumns(ctx, b, n, k) };
}

/** b [k, n] can be read in place, except for a last panel that is not full; packing pays for many rows. */
function lanesDirect(ctx: WasmContext, { b, m, n, k }: GemmArgs): Lanes {
  const panels = Math.ceil(n / LANES);
  const direct = m >= PACK_FROM_ROWS ? 0 : Math.floor(n / LANES);
  const rest = panels - direct;
  const packed = rest === 0 ? 0 : ctx.scratch(rest * k * LANES * 4);
  if (rest > 0) packRows(ctx, b, n, k, packed, direct);
  return { address: b, step: 4 * n, panels: direct, packed };
}

/**
 * Rows of a chunk of aᵀ·b that is packed and multiplied within TALL_BYTES; 0 when chunks would be too flat,
 * or too few to be worth their partial results.
 */
function tallDepth(m: number, n: number, k: number): number {
  if (Math.min(m, n) < TALL_WIDTH) return 0;
  const depth = Math.min(TALL_MOST, Math.floor(TALL_BYTES / (4 * (m + n))));
  return depth >= TALL_LEAST && k >= 4 * depth ? depth : 0;
}

function tall(
  ctx: WasmContext,
  { a, b, out, m, n, k, alpha, accumulate }: GemmArgs,
  depth: number,
) {
  const chunks = Math.ceil(k / depth), tiles = Math.min(MOST_BLOCK_TILES, tileCount(m));
  const partial = ctx.scratch(4 * chunks * m * n);
  ctx.parallel({
    kernel: "matmul_tall",
    units: chunks,
    grain: Math.max(1, Math.round(CHUNK_WORK / (m * n * depth))),
    args: [a, b, partial, m, n, k, depth, termsInOrder(depth), tiles],
    scratchBytes: 4 * depth * (m + packedLength(n, 1)) + tiles * TILE_ROWS * LANES * 4,
  });
  ctx.parallel({
    kernel: "matmul_sum_partial",
    units: Math.ceil(m * n / SUM_UNIT),
    grain: Math.max(1, Math.ceil(CHUNK_PACK / (SUM_UNIT * chunks))),
    args: [partial, chunks, m * n, out, alpha, accumulate ? 1 : 0],
  });
}

/** x·Wᵀ for few rows: dot products, nothing packed. */
function dots(ctx: WasmContext, { a, b, out, m, n, k, alpha, accumulate }: GemmArgs): void {
  ctx.parallel({
    kernel: "matmul_dot",
    units: Math.ceil(n / 8),
    grain: Math.max(1, Math.round(CHUNK_WORK / 2 / Math.max(1, m * k * 8))),
    args: [a, b, out, m, n, k, alpha, accumulate ? 1 : 0],
    scratchBytes: 256,
  });
}

function blocks(ctx: WasmContext, g: GemmArgs, spread: Spread, lanes: Lanes): void {
  const { k } = g;
  const { rows, columns } = spread;
  const panels = Math.ceil(columns / LANES);
  const tiles = tileCount(rows), inBlock = blockTiles(rows, k);
  const unitWork = inBlock * TILE_ROWS * LANES * k;
  ctx.parallel({
    kernel: "matmul_blocks",
    units: Math.ceil(tiles / inBlock) * panels,
    grain: Math.max(1, Math.round(CHUNK_WORK / Math.max(1, unitWork))),
    args: [
      spread.s,
      spread.sStep,
      spread.layout,
      lanes.address,
      lanes.step,
      lanes.panels,
      lanes.packed,
      g.out,
      4 * g.n,
      rows,
      columns,
      k,
      termsInOrder(k),
      inBlock,
      g.alpha,
      g.accumulate ? 1 : 0,
      spread.swapped ? 1 : 0,
    ],
    scratchBytes: inBlock * TILE_ROWS * LANES * 4,
  });
}
