/** Cuts tensors that are longer than one binding into views that fit. */
import { type Tensor, VIEW_ALIGNMENT } from "../../tensor.ts";
import { isBlockType, storedWords, type WeightType } from "../../weights/types.ts";
import type { WebgpuContext } from "./webgpu_op.ts";
import type { Kernel } from "./wgsl/kernel.ts";

/**
 * Runs a kernel of `perElement` over n elements of its tensors, in parts that fit one binding.
 * @param buffers what the kernel does not name is left out
 */
export function eachElement(
  ctx: WebgpuContext,
  kernel: Kernel,
  n: number,
  buffers: Readonly<Record<string, Tensor | undefined>>,
  params: Readonly<Record<string, number>> = {},
): void {
  const { bindingElements } = ctx.limits;
  for (let begin = 0; begin < n; begin += bindingElements) {
    const count = Math.min(bindingElements, n - begin);
    const part = (tensor: Tensor) =>
      n <= bindingElements ? fitting(tensor, n, bindingElements) : tensor.view(begin, count);
    ctx.dispatch({
      kernel,
      buffers: Object.fromEntries(kernel.bufferNames.map((name) => [name, part(buffers[name]!)])),
      params: { n: count, ...params },
    });
  }
}

/** Rows [begin, begin + rows) that fit one binding. */
export interface RowPart {
  begin: number;
  rows: number;
  /** These rows of a tensor that has `width` elements in a row. */
  of(tensor: Tensor, width: number): Tensor;
}

/**
 * Divides `rows` rows of `width` elements into parts that fit one binding. A part begins at a
 * multiple of 64 rows, so that views are aligned.
 */
export function rowParts({ limits }: WebgpuContext, rows: number, width: number): RowPart[] {
  const { bindingElements } = limits, maxRows = Math.floor(bindingElements / Math.max(width, 1));
  if (rows <= maxRows) {
    return [{ begin: 0, rows, of: (tensor, w) => fitting(tensor, rows * w, bindingElements) }];
  }
  const size = Math.max(1, Math.floor(maxRows / VIEW_ALIGNMENT)) * VIEW_ALIGNMENT;
  return Array.from({ length: Math.ceil(rows / size) }, (_, i) => {
    const begin = i * size, count = Math.min(size, rows - begin);
    return { begin, rows: count, of: (tensor, w) => tensor.view(begin * w, count * w) };
  });
}

/**
 * Calls `each` for parts of `rows` rows of `width` elements that fit one binding. `part(tensor, w)`
 * is the part of a tensor with w elements in a row, w ≤ width.
 */
export function inRowParts(
  ctx: WebgpuContext,
  rows: number,
  width: number,
  each: (part: (tensor: Tensor, w: number) => Tensor, rows: number, begin: number) => void,
): void {
  for (const part of rowParts(ctx, rows, width)) each(part.of, part.rows, part.begin);
}

/** n, if a view of a weight may begin at every n-th row, whatever the length of the rows. */
export function storedAlignment(type: WeightType | "f32"): number {
  return isBlockType(type) ? 4 * VIEW_ALIGNMENT : VIEW_ALIGNMENT;
}

/** Rows [begin, begin + rows) of a weight, `begin` a multiple of {@link storedAlignment}. */
export function storedRowsView(
  weight: Tensor,
  type: WeightType | "f32",
  d: number,
  begin: number,
  rows: number,
): Tensor {
  return weight.view(lengthOf(type, begin, d), lengthOf(type, rows, d));
}

const lengthOf = (type: WeightType | "f32", rows: number, d: number) =>
  type === "f32" ? rows * d : storedWords(type, rows, d);

/**
 * Calls `each` for parts of a weight of `rows` rows (d elements each) that fit one binding.
 */
export function inStoredParts(
  { limits }: WebgpuContext,
  { weight, type, rows, d }: { weight: Tensor; type: WeightType | "f32"; rows: number; d: number },
  each: (part: Tensor, rows: number, begin: number) => void,
): void {
  const unit = storedAlignment(type);
  const maxUnits = Math.floor(limits.bindingElements / Math.max(1, lengthOf(type, unit, d)));
  const step = Math.max(1, maxUnits) * unit;
  for (let begin = 0; begin < rows; begin += step) {
    const count = Math.min(step, rows - begin);
    each(storedRowsView(weight, type, d, begin, count), count, begin);
  }
}

/** The tensor, or a view of its first `n` elements where the whole tensor exceeds a binding. */
export function fitting(tensor: Tensor, n: number, bindingElements: number): Tensor {
  return tensor.length <= bindingElements ? tensor : tensor.view(0, n);
}
