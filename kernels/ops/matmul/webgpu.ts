/**
 * GPU bindings of the matrix product: dispatches with their parameters, and how a product
 * beyond one binding is divided into pieces. The choice (webgpu/choose.ts) depends only on the
 * shape of the whole product, never on the pieces. So a divided product has the same bits as an
 * undivided one, as long as a block of its sum fits one binding.
 * Left out: a special kernel for dy·W with few rows.
 */
import { RgxError } from "../../../core/errors.ts";
import type { Tensor } from "../../tensor.ts";
import { isBlockType, panelWords, storedWords } from "../../weights/types.ts";
import { blockParams } from "../../weights/widen.wgsl.ts";
import { type Kernel, variants } from "../common/wgsl/kernel.ts";
import type { WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import {
  type Choice,
  chooseKernel,
  chooseTile,
  elementRounding,
  isVector,
  kernelNamed,
  productChoice,
  type VectorShape,
} from "./webgpu/choose.ts";
import type { Rounding } from "./webgpu/elements.wgsl.ts";
import { matrixProduct, unitsFor } from "./webgpu/matrix_product.ts";
import { bound, type Piece, pieces } from "./webgpu/pieces.ts";
import { type MatmulArgs, PANEL } from "./spec.ts";
import { roundedRows } from "./webgpu/round_rows.wgsl.ts";
import { tileKernel, type TileOptions, type TileShape } from "./webgpu/tile.wgsl.ts";
import { addParts } from "./webgpu/split.wgsl.ts";
import { storedVectorKernel, TERMS } from "./webgpu/stored_vector.wgsl.ts";
import { VECTOR_COLUMNS, vectorKernel } from "./webgpu/vector.wgsl.ts";

/** Sums of at least this length keep a large workgroup busy even with few columns. */
const LONG_SUM = 512;
/**
 * With fewer rows of a weight, a workgroup makes fewer columns, so that there are enough of them.
 */
const WIDE = 4096;
/** Max number of terms in an accumulator before it is added to the output. */
const MAX_BLOCK_TERMS = 512;

const tile = variants(tileKernel);
const vector = variants(vectorKernel);
const storedVector = variants(storedVectorKernel);

export const matmulWebgpu: WebgpuOp<MatmulArgs> = (args, ctx) => {
  if (args.packedB) throw new RgxError("matmul: packedB is true, expected none on a graphics card");
  const name = ctx.choose(productChoice, args);
  matmulWith(name === null ? chooseKernel(args, ctx) : kernelNamed(name), args, ctx);
};

/**
 * Computes the product with the given kernel, which must support it; tiles support every product.
 * @param isOperand whether a is the argument itself, not its activations in bytes
 */
function matmulWith(
  shape: Choice,
  args: MatmulArgs,
  ctx: WebgpuContext,
  isOperand = true,
): void {
  const { m, n, k } = args;
  if (m === 0 || n === 0) return;
  if (m === 1 && args.transA) {
    // One row is stored the same whether it is transposed or not.
    matmulWith(shape, { ...args, transA: false }, ctx, isOperand);
    return;
  }
  if (args.activations === "int8" && k > 0 && isOperand) {
    matmulWith(shape, { ...args, a: roundedRows(args.a, m, k, ctx) }, ctx, false);
    return;
  }
  const units = shape === "matrix" ? unitsFor(args, ctx) : null;
  const rounding = elementRounding(args, ctx);
  if (units !== null && rounding !== null) {
    matrixProduct(args, units, rounding, ctx);
    const adapter = adapterProduct(args);
    if (adapter !== null) matmulWith(chooseKernel(adapter, ctx), adapter, ctx);
    return;
  }
  if (shape === "matrix") {
    // It was chosen for the class of a product; this one does not fit into the bindings.
    matmulWith(chooseTile(m, n, ctx.software), args, ctx, isOperand);
    return;
  }
  const tiled = isVector(shape) ? null : shape;
  const flush = tiled === null ? 1 : tilesOfBlock(k, tiled);
  const partTiles = tiled === null ? 1 : tilesOfPart(k, tiled, flush);
  for (const piece of pieces(args, ctx.limits, tiled === null ? 1 : partTiles * tiled.bk)) {
    const call = pieceOf(args, piece, ctx);
    if (isVector(shape)) dispatchVector(call, shape, args, ctx);
    else if (isSplit(call, shape, partTiles, ctx)) {
      dispatchParts(call, shape, { flush, partTiles }, args, ctx);
    } else dispatchTile(call, shape, flush, args, ctx);
  }
}

/** The adapter's part of a product, which is added to it; null without an adapter. */
function adapterProduct({ xa, loraB, r = 0, loraScale = 1, out, m, n }: MatmulArgs) {
  if (xa === undefined || loraB === undefined || r === 0) return null;
  const sum = { alpha: loraScale, accumulate: true, transB: true };
  return { ...sum, a: xa, b: loraB, out, m, n, k: r } satisfies MatmulArgs;
}

/**
 * Number of tiles that one accumulator sums. A sum of two tiles or more has at least two blocks.
 */
function tilesOfBlock(k: number, { bk, slices, parts = 1 }: TileShape): number {
  const tiles = Math.ceil(k / bk), max = parts === 1 ? tiles >> 1 : Math.ceil(tiles / parts);
  return Math.max(1, Math.min(max, Math.floor(MAX_BLOCK_TERMS * slices / bk)));
}

/** Number of tiles in a part of the sum; without parts, of a block. */
function tilesOfPart(k: number, { bk, parts = 1 }: TileShape, flush: number): number {
  return parts === 1 ? flush : Math.ceil(Math.ceil(k / bk) / parts / flush) * flush;
}

/** Whether the sum of a piece is done in parts, whose sums fit one binding. */
function isSplit(
  { piece: { m, n, k }, lora }: Call,
  { bk, parts = 1 }: TileShape,
  partTiles: number,
  { limits }: WebgpuContext,
): boolean {
  const count = Math.ceil(k / bk / partTiles);
  return parts > 1 && lora === null && count * m * n <= limits.bindingElements;
}

/** A piece of the product, with its bindings and parameters. */
interface Call {
  piece: Piece;
  buffers: Record<string, Tensor>;
  bases: { a_base: number; out_base: number };
  /** Parameters by which the kernel finds the elements of b. */
  bParams: Record<string, number>;
  /** The adapter's product, which is added with the last terms. */
  lora: { r: number; x_base: number; w_base: number; lora_scale: number } | null;
  add: number;
  alpha: number;
  n: number;
  /** All matrices can be read and written as vectors of four. */
  aligned: boolean;
  bType: TileOptions["bType"];
}

function pieceOf(args: MatmulArgs, piece: Piece, { limits }: WebgpuContext): Call {
  const { m, n, k, transA, weightType, xa, loraB } = args;
  const { m0, n0, k0 } = piece;
  const a = transA
    ? bound(args.a, k0 * m, piece.k * m, limits)
    : bound(args.a, m0 * k, piece.m * k, limits);
  const b = boundB(args, piece, limits);
  const out = bound(args.out, m0 * n, piece.m * n, limits);
  const bases = { a_base: a.base + (transA ? m0 : k0), out_base: out.base + n0 };
  const buffers: Record<string, Tensor> = { mat_a: a.tensor, mat_b: b.tensor, mat_out: out.tensor };
  const steps = [transA ? m : k, n, ...b.steps];
  const extents = [transA ? piece.m : piece.k, piece.n];
  let lora: Call["lora"] = null;
  const { r = 0, loraScale = 1 } = args;
  if (xa !== undefined && loraB !== undefined && r > 0 && k0 + piece.k === k) {
    const x = bound(xa, m0 * r, piece.m * r, limits), w = bound(loraB, n0 * r, piece.n * r, limits);
    lora = { r, x_base: x.base, w_base: w.base, lora_scale: loraScale };
    steps.push(r, x.base, w.base);
    buffers.lora_x = x.tensor;
    buffers.lora_w = w.tensor;
  }
  const whole = [...Object.values(bases), ...steps, ...extents].every((size) => size % 4 === 0);
  return {
    piece,
    buffers,
    bases,
    bParams: b.params,
    lora,
    add: args.accumulate || k0 > 0 ? 1 : 0,
    alpha: args.alpha ?? 1,
    n,
    aligned: whole,
    bType: weightType ?? "f32",
  };
}

/**
 * What to bind of b for a piece, the kernel's parameters, and the sizes that must be multiples of
 * four for vectors.
 */
function boundB(
  { b, n, k, transB, weightType }: MatmulArgs,
  { n0, k0, ...piece }: Piece,
  limits: WebgpuContext["limits"],
): { tensor: Tensor; params: Record<string, number>; steps: number[] } {
  if (weightType !== undefined && isBlockType(weightType)) {
    const [row, rows, length] = transB ? [n0, piece.n, k] : [k0, piece.k, n];
    const first = row / PANEL * panelWords(weightType, length);
    const { tensor, base } = bound(b, first, storedWords(weightType, rows, length), limits);
    const params = { ...blockParams(weightType, length, base), b_column: transB ? 0 : n0 };
    return { tensor, params, steps: [] };
  }
  const [row, rows, length, column] = transB ? [n0, piece.n, k, k0] : [k0, piece.k, n, n0];
  const perWord = weightType === undefined ? 1 : 2;
  const words = [row * length / perWord, rows * length / perWord] as const;
  const { tensor, base } = bound(b, ...words, limits);
  const b_base = base * perWord + column;
  return { tensor, params: { ldb: length, b_base }, steps: [length, b_base, transB ? piece.k : 0] };
}

/** Number of invocations in a workgroup: as many as there is work for. */
function storedThreads(k: number, columns: number): number {
  const busy = columns / 4 * Math.ceil(k / TERMS);
  return busy > 128 ? 256 : busy > 64 ? 128 : 64;
}

function vectorOf(
  { piece: { m, k }, n, lora, aligned, bType }: Call,
  chosen: VectorShape,
  rounding: Rounding,
): { kernel: Kernel; columns: number } {
  const shape = { rows: m, lora: lora !== null, rounding };
  if (!isBlockType(bType)) {
    const { threads = k >= LONG_SUM ? 256 : 64 } = chosen;
    return { kernel: vector({ ...shape, threads, bType, aligned }), columns: VECTOR_COLUMNS };
  }
  const { columns = n >= WIDE ? 16 : 8, threads = storedThreads(k, columns) } = chosen;
  return { kernel: storedVector({ ...shape, threads, columns, type: bType }), columns };
}

function dispatchVector(
  call: Call,
  shape: VectorShape,
  args: MatmulArgs,
  ctx: WebgpuContext,
): void {
  const { piece: { m, n, k }, buffers, bases, bParams, lora, add, alpha } = call;
  const { kernel, columns } = vectorOf(call, shape, elementRounding(args, ctx));
  ctx.dispatch({
    kernel,
    buffers,
    params: { n, k, ldo: call.n, ...bases, ...bParams, add, alpha, ...lora },
    groups: Math.ceil(n / columns),
    flops: 2 * m * n * (k + (lora?.r ?? 0)),
  });
}

/** The sums of the parts into scratch, then their sum. */
function dispatchParts(
  call: Call,
  shape: TileShape,
  { flush, partTiles }: { flush: number; partTiles: number },
  args: MatmulArgs,
  ctx: WebgpuContext,
): void {
  const { piece: { m, n, k }, buffers, bases, add, alpha } = call, count = m * n;
  const parts = Math.ceil(k / shape.bk / partTiles);
  const sums = ctx.scratch("float", parts * count, "parts of the sum");
  const whole = { ...call, buffers: { ...buffers, mat_out: sums }, n, add: 0, alpha: 1 };
  const toSums = { ...whole, bases: { ...bases, out_base: 0 } };
  dispatchTile(toSums, shape, flush, args, ctx, { parts, part_tiles: partTiles });
  ctx.dispatch({
    kernel: addParts,
    buffers: { sums, mat_out: buffers.mat_out! },
    params: { n: count, columns: n, ldo: call.n, out_base: bases.out_base, parts, add, alpha },
  });
}

function dispatchTile(
  call: Call,
  { parts: _, ...shape }: TileShape,
  flush: number,
  args: MatmulArgs,
  ctx: WebgpuContext,
  split: { parts: number; part_tiles: number } | null = null,
): void {
  const { transA, transB, m: wholeM, k: wholeK } = args;
  const { piece: { m, n, k }, buffers, bases, bParams, lora, add, alpha, aligned, bType } = call;
  const rounding = elementRounding(args, ctx);
  const options: TileOptions = {
    ...shape,
    a: transA ? "across" : "along",
    b: transB ? "along" : "across",
    bType,
    aligned,
    lora: lora !== null,
    rounding,
    ...(split === null ? {} : { split: true }),
  };
  const lda = transA ? wholeM : wholeK;
  // Neighbouring workgroups read the same part of the larger operand.
  const m_first = m <= n ? 1 : 0;
  const groups = Math.ceil(m / shape.bm) * Math.ceil(n / shape.bn);
  ctx.dispatch({
    kernel: tile(options),
    buffers,
    params: {
      m,
      n,
      k,
      lda,
      ldo: call.n,
      ...bases,
      ...bParams,
      flush,
      add,
      m_first,
      alpha,
      ...split,
      ...lora,
    },
    groups: groups * (split?.parts ?? 1),
    flops: 2 * m * n * (k + (lora?.r ?? 0)),
  });
}
