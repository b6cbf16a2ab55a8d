/** Dispatches of attention on matrix units (matrix.wgsl.ts), and where they can be used. */
import type { Tensor } from "../../tensor.ts";
import { variants } from "../common/wgsl/kernel.ts";
import type { WebgpuContext, WebgpuTraits } from "../common/webgpu_op.ts";
import {
  matrixAttentionSpec,
  matrixKeyGradientSpec,
  matrixQueryGradientSpec,
} from "./matrix.wgsl.ts";
import {
  COLUMNS,
  type MatrixHeads,
  MatrixTiles,
  SPLIT_ROWS,
  splitSpec,
} from "./matrix_tiles.wgsl.ts";
import type { AttentionArgs } from "./spec.ts";

/** More sums of a mix than this do not fit into the registers of an invocation. */
const MAX_MIXED = 128;

const split = variants(splitSpec);
export const matrixAttention = variants(matrixAttentionSpec);
export const matrixQueryGradient = variants(matrixQueryGradientSpec);
export const matrixKeyGradient = variants(matrixKeyGradientSpec);

type Shape = Pick<AttentionArgs, "rows" | "heads" | "kvHeads" | "headDim" | "softCap">;

/** The packed rows of operands, and the parameters that say where they are. */
function places({ rows, heads, kvHeads }: Shape, { m, depth }: MatrixTiles, products: number) {
  const padded = (n: number) => Math.ceil(n / m) * m + COLUMNS;
  const queryRows = padded(rows * heads / kvHeads), keyRows = padded(rows);
  const keysFrom = kvHeads * queryRows, valuesFrom = keysFrom + kvHeads * keyRows;
  const doutsFrom = valuesFrom + kvHeads * keyRows;
  const packedRows = doutsFrom + (products === 1 ? 0 : kvHeads * queryRows);
  return {
    queryRows,
    keyRows,
    keysFrom,
    valuesFrom,
    doutsFrom,
    packedRows,
    low: packedRows * depth,
  };
}

/**
 * The units for attention; null where they cannot be used.
 * @param products score products that are computed at once: 1 in the forward, 2 in the gradient
 */
export function unitsForAttention(
  args: Shape,
  products: number,
  { matrixUnits = null, limits }: Pick<WebgpuTraits, "matrixUnits" | "limits">,
): MatrixHeads | null {
  // Scores with a soft cap are left to the other kernels.
  if (matrixUnits === null || args.rows === 0 || args.softCap !== undefined) return null;
  const { edge, subgroup } = matrixUnits, lanes = subgroup / edge;
  // All matrices of a row are whole, and a whole number of invocations shares it.
  if (![1, 2, 4, 8].includes(lanes)) return null;
  const heads = { ...matrixUnits, headDim: args.headDim }, tiles = new MatrixTiles(heads, products);
  const { low, packedRows } = places(args, tiles, products);
  const fits = tiles.mixed <= MAX_MIXED && tiles.bytes <= limits.workgroupBytes &&
    tiles.threads <= limits.invocations && low <= limits.bindingElements &&
    packedRows <= limits.bindingElements &&
    args.rows * args.heads * args.headDim <= limits.bindingElements;
  return fits ? heads : null;
}

/** Operands of attention that were split into halves. */
export interface SplitOperands {
  heads: MatrixHeads;
  /** Rows of a tile. */
  m: number;
  buffers: { halves: Tensor; scales: Tensor };
  params: Record<string, number>;
}

/** Splits q, k, v, and in the gradient dout, into halves. */
export function splitOperands(
  args: AttentionArgs & { dout?: Tensor },
  heads: MatrixHeads,
  ctx: WebgpuContext,
): SplitOperands {
  const products = args.dout === undefined ? 1 : 2, tiles = new MatrixTiles(heads, products);
  const { depth } = tiles, { headDim, kvHeads, rows } = args;
  const at = places(args, tiles, products);
  const halves = ctx.scratch("u32", at.low, "halves");
  const scales = ctx.scratch("float", at.packedRows, "scales");
  const perKv = args.heads / kvHeads;
  const pack = (
    vectors: Tensor,
    base: number,
    paddedRows: number,
    perKv: number,
    heads: number,
  ) => {
    const count = kvHeads * paddedRows;
    ctx.dispatch({
      kernel: split({ headDim, depth }),
      buffers: { vectors, halves, scales },
      params: {
        count,
        rows: rows * perKv,
        padded_rows: paddedRows,
        per_kv: perKv,
        heads,
        base,
        low: at.low,
      },
      groups: Math.ceil(count / SPLIT_ROWS),
    });
  };
  pack(args.q, 0, at.queryRows, perKv, args.heads);
  pack(args.k, at.keysFrom, at.keyRows, 1, kvHeads);
  pack(args.v, at.valuesFrom, at.keyRows, 1, kvHeads);
  if (args.dout !== undefined) pack(args.dout, at.doutsFrom, at.queryRows, perKv, args.heads);
  return {
    heads,
    m: tiles.m,
    buffers: { halves, scales },
    params: {
      query_rows: at.queryRows,
      key_rows: at.keyRows,
      keys_from: at.keysFrom,
      values_from: at.valuesFrom,
      douts_from: at.doutsFrom,
      low: at.low,
    },
  };
}
