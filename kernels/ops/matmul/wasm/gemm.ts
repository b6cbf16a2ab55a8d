/**
 * Plans a matrix product on the WASM device: the elements of which operand are broadcast to all
 * lanes of a vector, what is packed, and how the work is divided. It works on addresses, so that
 * other operations (the fused head) can use it for scratch memory. The plan depends only on the
 * shape, never on the number of threads.
 *
 * In the kernels (native/c/blocks.c), S is the operand whose elements are broadcast, and V the one
 * whose columns fill the lanes.
 */
import type { WasmContext } from "../../common/wasm_op.ts";
import type { GemmArgs, LoraArgs, Product } from "./gemm_args.ts";
import { roundedProduct } from "./rounded.ts";
import { int8Product } from "./int8.ts";
import { packedLength, PANEL } from "../spec.ts";
import { storedProduct, widensRows } from "./stored.ts";
import { blockTiles, CHUNK_WORK, termsInOrder, TILE_ROWS, tileCount } from "./tiling.ts";

const LANES = PANEL;
/** Number of elements that are packed in a chunk of work (about 2.5 µs). */
const CHUNK_PACK = 10_000;
/**
 * For aᵀ·b of tall matrices: bytes of the packed rows of both operands in a chunk, which fit the
 * second-level cache; min width of the result; min and max number of rows in a chunk.
 */
const TALL_BYTES = 400 * 1024;
const TALL_MIN_WIDTH = 40;
const TALL_MIN_ROWS = 128;
const TALL_MAX_ROWS = 512;
/** Elements in a unit of matmul_sum_partial. */
const SUM_UNIT = 64;
/** Max number of rows for which x·Wᵀ is computed by dot products. */
const DOT_MAX_ROWS = 8;
/** Max rank of an adapter whose product is not one by itself. */
const MAX_RANK = 512;
/** With at least this many rows, packing b in panels saves time. */
const PACK_FROM_ROWS = 25;
/** Max number of columns for which a transposed a is read in place. */
const NARROW = 64;
/** With at least this many columns of b, packing a transposed a in tiles saves time. */
const PACK_TILES_FROM_COLUMNS = 65;
/**
 * Up to this number of terms, the way of the result to a core and back takes longer than the sums:
 * a chunk of work is whole rows of a result of so many panels or more, in blocks of so many tiles.
 */
const SHORT = 64;
const WIDE = 16;
const SHORT_TILES = 4;
/**
 * Approximate costs in ns: a multiply-add at full speed; packing an element transposed; storing an
 * element transposed.
 */
const MADD_NS = 2 / 110;
const PACK_TRANSPOSED_NS = 0.25;
const STORE_TRANSPOSED_NS = 0.25;

/**
 * Runs the product; m, n and k may be 0. The product of an adapter is added where a part of the
 * result is still in a cache, if that gives the bits of a product by itself.
 */
export function gemm(ctx: WasmContext, given: Product): void {
  const g = { transA: false, transB: false, alpha: 1, accumulate: false, ...given };
  const { m, n, lora } = g;
  if (m === 0 || n === 0) return;
  if (lora === undefined || takesLora(ctx, g, lora)) {
    product(ctx, g);
    return;
  }
  product(ctx, { ...g, lora: undefined });
  const { xa: a, loraB: b, r: k, loraScale: alpha } = lora, { out, steady } = g;
  gemm(ctx, { a, b, out, m, n, k, transB: true, alpha, accumulate: true, steady });
}

/** Whether a kernel that multiplies by a weight adds an adapter's product as well. */
function takesLora(ctx: WasmContext, g: GemmArgs, { r }: LoraArgs): boolean {
  const { m, n, k, transB, weightType, int8 } = g;
  if (int8 || k === 0 || r > MAX_RANK) return false;
  if (ctx.computeDtype !== "float32") return true;
  return weightType !== undefined && transB && widensRows(m) && !usesDots(m, n, r) &&
    !swapPays(m, n, r);
}

/** Whether x·Wᵀ is computed by dot products. */
function usesDots(m: number, n: number, k: number): boolean {
  return m <= DOT_MAX_ROWS && k % 8 === 0 && n % 4 === 0;
}

function product(ctx: WasmContext, g: GemmArgs): void {
  const { m, n, k } = g;
  if (ctx.computeDtype !== "float32" && !g.int8) {
    roundedProduct(ctx, g);
    return;
  }
  if (g.packedB) {
    const mark = ctx.mark();
    const broadcast = { ...broadcastA(ctx, g), rows: m, columns: n, swapped: false };
    blocks(ctx, g, broadcast, packedLanes(g.b));
    ctx.release(mark);
    return;
  }
  // A stored weight without elements is not read.
  if (g.weightType !== undefined && k > 0) {
    if (g.int8) int8Product(ctx, g, g.weightType);
    else storedProduct(ctx, g, g.weightType);
    return;
  }
  if (g.transB && !g.transA && !g.steady && usesDots(m, n, k)) {
    dots(ctx, g);
    return;
  }
  const mark = ctx.mark();
  const depth = g.transA && !g.transB ? tallDepth(m, n, k) : 0;
  if (depth > 0) {
    tall(ctx, g, depth);
  } else if (g.transB && !g.transA && swapPays(m, n, k)) {
    const packed = packColumns(ctx, g.a, m, k);
    const broadcast = { s: g.b, sStep: 4 * k, sLayout: S_ROWS, rows: n, columns: m, swapped: true };
    blocks(ctx, g, broadcast, packedLanes(packed));
  } else {
    const broadcast = { ...broadcastA(ctx, g), rows: m, columns: n, swapped: false };
    blocks(ctx, g, broadcast, g.transB ? lanesTransposed(ctx, g) : lanesDirect(ctx, g));
  }
  ctx.release(mark);
}

/** Values of the kernel's sLayout: row-major, transposed, or packed by matmul_pack_tiles. */
const S_ROWS = 0;
const S_COLUMNS = 1;
const S_PACKED = 2;

/** The operand S, with the shape of S·V. `swapped`: a and b have changed places. */
interface Broadcast {
  s: number;
  sStep: number;
  sLayout: number;
  rows: number;
  columns: number;
  swapped: boolean;
}

/** The operand V: its first `directPanels` panels are read in place, the others from `vPacked`. */
interface Lanes {
  vDirect: number;
  vDirectStep: number;
  directPanels: number;
  vPacked: number;
}

const packedLanes = (vPacked: number): Lanes => ({
  vDirect: 0,
  vDirectStep: 0,
  directPanels: 0,
  vPacked,
});

/** a as S. A transposed a that several panels need is first packed in tiles. */
function broadcastA(ctx: WasmContext, { a, m, n, k, transA }: GemmArgs) {
  if (!transA) return { s: a, sStep: 4 * k, sLayout: S_ROWS };
  if (m <= NARROW || n < PACK_TILES_FROM_COLUMNS) return { s: a, sStep: 4 * m, sLayout: S_COLUMNS };
  const packed = ctx.scratch(4 * m * k);
  const tiles = tileCount(m);
  ctx.parallel({
    kernel: "matmul_pack_tiles",
    units: tiles,
    grain: Math.max(4, Math.ceil(CHUNK_PACK / (TILE_ROWS * Math.max(1, k)))),
    args: { source: a, stride: 4 * m, low: Math.floor(m / tiles), high: m % tiles, k, packed },
  });
  return { s: packed, sStep: 0, sLayout: S_PACKED };
}

/** For x·Wᵀ: whether it takes less time with S = W and V = xᵀ, so that x is packed instead of W. */
function swapPays(m: number, n: number, k: number): boolean {
  const round = (x: number) => Math.ceil(x / LANES) * LANES;
  const keep = m * round(n) * k * MADD_NS + n * k * PACK_TRANSPOSED_NS;
  const swap = round(m) * n * k * MADD_NS + m * k * PACK_TRANSPOSED_NS +
    m * n * STORE_TRANSPOSED_NS;
  return swap < keep;
}

/** Packs the transpose of `source` [columns, k] in panels of 16 columns; returns their address. */
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
    args: { source, stride: 4 * k, columns, k, panels: packed },
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
    args: { source, stride: 4 * columns, columns, k, firstPanel: from, panels: packed },
  });
}

function lanesTransposed(ctx: WasmContext, { b, n, k }: GemmArgs): Lanes {
  return packedLanes(packColumns(ctx, b, n, k));
}

/**
 * b [k, n] as V. It is read in place, except for a last panel that is not full. With many rows it
 * is packed.
 */
function lanesDirect(ctx: WasmContext, { b, m, n, k }: GemmArgs): Lanes {
  const panels = Math.ceil(n / LANES);
  const direct = m >= PACK_FROM_ROWS ? 0 : Math.floor(n / LANES);
  const rest = panels - direct;
  const packed = rest === 0 ? 0 : ctx.scratch(rest * k * LANES * 4);
  if (rest > 0) packRows(ctx, b, n, k, packed, direct);
  return { vDirect: b, vDirectStep: 4 * n, directPanels: direct, vPacked: packed };
}

/**
 * Number of rows in a chunk of aᵀ·b that is packed and multiplied within TALL_BYTES. It is 0 where
 * the chunks would have too few rows, or where there would be too few chunks.
 */
function tallDepth(m: number, n: number, k: number): number {
  if (Math.min(m, n) < TALL_MIN_WIDTH) return 0;
  const depth = Math.min(TALL_MAX_ROWS, Math.floor(TALL_BYTES / (4 * (m + n))));
  return depth >= TALL_MIN_ROWS && k >= 4 * depth ? depth : 0;
}

function tall(ctx: WasmContext, g: GemmArgs, depth: number): void {
  const { m, n } = g, chunks = Math.ceil(g.k / depth);
  const partial = ctx.scratch(4 * chunks * m * n);
  ctx.parallel({
    kernel: "matmul_tall",
    units: chunks,
    grain: Math.max(1, Math.round(CHUNK_WORK / (m * n * depth))),
    args: { ...g, partial, depth, kBlock: termsInOrder(depth) },
    scratchBytes: 4 * depth * (m + packedLength(n, 1)),
  });
  ctx.parallel({
    kernel: "matmul_sum_partial",
    units: Math.ceil(m * n / SUM_UNIT),
    grain: Math.max(1, Math.ceil(CHUNK_PACK / (SUM_UNIT * chunks))),
    args: { ...g, partial, chunks, size: m * n },
  });
}

/** x·Wᵀ for few rows, by dot products without packing. */
function dots(ctx: WasmContext, g: GemmArgs): void {
  ctx.parallel({
    kernel: "matmul_dot",
    units: Math.ceil(g.n / 8),
    grain: Math.max(1, Math.round(CHUNK_WORK / 2 / Math.max(1, g.m * g.k * 8))),
    args: { ...g, x: g.a, w: g.b },
  });
}

/** S·V by the blocked kernel. */
function blocks(ctx: WasmContext, g: GemmArgs, broadcast: Broadcast, lanes: Lanes): void {
  const { k } = g;
  const { rows, columns } = broadcast;
  const panels = Math.ceil(columns / LANES);
  const tiles = tileCount(rows), isShort = k <= SHORT && panels >= WIDE && !broadcast.swapped;
  const inBlock = isShort ? Math.min(SHORT_TILES, tiles) : blockTiles(rows, k);
  const unitWork = inBlock * TILE_ROWS * LANES * k;
  const grain = Math.max(1, Math.round(CHUNK_WORK / Math.max(1, unitWork)));
  ctx.parallel({
    kernel: "matmul_blocks",
    units: Math.ceil(tiles / inBlock) * panels,
    grain: isShort ? Math.ceil(grain / panels) * panels : grain,
    args: {
      ...g,
      ...broadcast,
      ...lanes,
      outStep: 4 * g.n,
      kBlock: termsInOrder(k),
      blockTiles: inBlock,
    },
  });
}
