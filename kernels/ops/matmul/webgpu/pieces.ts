/**
 * Divides a matrix product into pieces whose operands fit one binding each, and finds the bindings.
 * Matrices are divided between rows. A binding begins at a multiple of the alignment of views; a
 * parameter says where in it the rows begin.
 */
import { type Tensor, VIEW_ALIGNMENT } from "../../../tensor.ts";
import type { WebgpuLimits } from "../../common/webgpu_op.ts";
import { isBlockType, panelWords } from "../../../weights/types.ts";
import { type MatmulArgs, PANEL, type WeightType } from "../spec.ts";

/**
 * A part of a product: rows [m0, m0 + m), columns [n0, n0 + n), and terms [k0, k0 + k) of the sum.
 */
export interface Piece {
  m0: number;
  m: number;
  n0: number;
  n: number;
  k0: number;
  k: number;
}

/**
 * The pieces in order; those of the same outputs follow one another.
 * @param block number of terms along k that should stay in one piece
 */
export function* pieces(args: MatmulArgs, limits: WebgpuLimits, block: number): Generator<Piece> {
  const { m, n, k, r = 0, transA, transB, weightType } = args;
  const maxElements = limits.bindingElements - VIEW_ALIGNMENT;
  /** Max number of rows of this length in one binding. */
  const maxRows = (length: number) => Math.max(1, Math.floor(maxElements / Math.max(1, length)));
  const panels = weightType !== undefined && isBlockType(weightType);
  const bRow = rowWords(weightType, transB ? k : n);
  const maxB = panels ? Math.max(PANEL, wholeBlocks(maxRows(bRow), PANEL)) : maxRows(bRow);
  const maxM = Math.min(maxRows(n), transA ? m : maxRows(k), maxRows(r), m);
  const maxN = Math.min(transB ? maxB : n, maxRows(r), n);
  const maxK = Math.min(transA ? maxRows(m) : k, transB ? k : maxB, k);
  const unit = panels ? PANEL : 1;
  const mStep = maxM < m ? wholeBlocks(maxM, 128) : m;
  const nStep = maxN < n ? wholeBlocks(maxN, panels ? PANEL : 128, unit) : n;
  const kStep = maxK < k ? wholeBlocks(maxK, block, unit) : Math.max(1, k);
  for (let m0 = 0; m0 < m; m0 += mStep) {
    for (let n0 = 0; n0 < n; n0 += nStep) {
      for (let k0 = 0; k0 === 0 || k0 < k; k0 += kStep) {
        yield {
          m0,
          m: Math.min(mStep, m - m0),
          n0,
          n: Math.min(nStep, n - n0),
          k0,
          k: Math.min(kStep, k - k0),
        };
      }
    }
  }
}

/** Number of words of a row of b with `length` elements, on average over a panel. */
function rowWords(type: WeightType | undefined, length: number): number {
  if (type === undefined) return length;
  return isBlockType(type) ? panelWords(type, length) / PANEL : length / 2;
}

/**
 * `count` rounded down to a multiple of `block`; if it is less than a block, to a multiple of 4 or
 * 1. The result is a multiple of `unit`, and at least that.
 */
function wholeBlocks(count: number, block: number, unit = 1): number {
  const step = count >= block ? block : Math.max(unit, count >= 4 ? 4 : 1);
  return Math.max(unit, count - count % step);
}

/**
 * What to bind for the elements [start, start + length) of a tensor, and where in it they begin.
 */
export function bound(
  tensor: Tensor,
  start: number,
  length: number,
  { bindingElements }: WebgpuLimits,
): { tensor: Tensor; base: number } {
  if (tensor.length <= bindingElements) return { tensor, base: start };
  const base = start % VIEW_ALIGNMENT, first = start - base;
  return { tensor: tensor.view(first, length === 0 ? 0 : base + length), base };
}
