/**
 * Cuts a matrix product so that no operand of a piece needs more than one binding, and finds the binding. Matrices
 * are cut between rows; what is bound begins at a view's alignment, and the kernel is told where in it the rows begin.
 */
import { type Tensor, VIEW_ALIGNMENT } from "../../../tensor.ts";
import type { WebgpuLimits } from "../../common/webgpu_op.ts";
import { isBlockType, panelWords } from "../../../weights/types.ts";
import { type MatmulArgs, PANEL, type WeightType } from "../spec.ts";

/** A part of a product: rows and columns of the result, and terms of the sum; `end` exclusive. */
export interface Piece {
  m0: number;
  m: number;
  n0: number;
  n: number;
  k0: number;
  k: number;
}

/** The pieces in order; those along k follow one another. `block` terms along k are best kept together. */
export function* pieces(args: MatmulArgs, limits: WebgpuLimits, block: number): Generator<Piece> {
  const { m, n, k, r = 0, transA, transB, packedB, weightType } = args;
  const most = limits.bindingElements - VIEW_ALIGNMENT;
  /** Most rows of this length in one binding. */
  const fitting = (length: number) => Math.max(1, Math.floor(most / Math.max(1, length)));
  const wholeRows = transB || packedB;
  const panels = packedB || (weightType !== undefined && isBlockType(weightType));
  const bRow = rowWords(weightType, wholeRows ? k : n);
  const bMost = panels ? Math.max(PANEL, wholeBlocks(fitting(bRow), PANEL)) : fitting(bRow);
  const mMost = Math.min(fitting(n), transA ? m : fitting(k), fitting(r), m);
  const nMost = Math.min(wholeRows ? bMost : n, fitting(r), n);
  const kMost = Math.min(transA ? fitting(m) : k, wholeRows ? k : bMost, k);
  const least = panels ? PANEL : 1;
  const mStep = mMost < m ? wholeBlocks(mMost, 128) : m;
  const nStep = nMost < n ? wholeBlocks(nMost, panels ? PANEL : 128, least) : n;
  const kStep = kMost < k ? wholeBlocks(kMost, block, least) : Math.max(1, k);
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

/** Words of a row of so many elements of b, on average over a panel. */
function rowWords(type: WeightType | undefined, length: number): number {
  if (type === undefined) return length;
  return isBlockType(type) ? panelWords(type, length) / PANEL : length / 2;
}

/** As many whole blocks as fit, or of 4 or 1 where not one fits; a multiple of `least` in any case. */
function wholeBlocks(count: number, block: number, least = 1): number {
  const unit = count >= block ? block : Math.max(least, count >= 4 ? 4 : 1);
  return Math.max(least, count - count % unit);
}

/** What to bind for elements [start, start + length) of a tensor, and where in it they begin. */
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
