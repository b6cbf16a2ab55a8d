/**
 * Sums over the rows of a batch for every column, as gradients of norm weights and biases need
 * them. Each chunk of rows is summed first, then the chunks in order, so that the bits are always
 * the same.
 */
import type { Tensor } from "../../tensor.ts";
import { perElement } from "./wgsl/entry.ts";
import { type Kernel, kernel } from "./wgsl/kernel.ts";
import type { WebgpuContext } from "./webgpu_op.ts";

/** Min number of rows in a chunk, and max number of chunks. */
const MIN_CHUNK_ROWS = 64;
const MAX_CHUNKS = 256;

/**
 * The kernel that sums each chunk.
 * @param inputs the buffers that it reads
 * @param step WGSL that adds element `at` (column `column` of row `row`) to `sum`
 */
export function columnChunks(name: string, inputs: string, step: string): Kernel {
  return kernel({
    name,
    reads: inputs,
    writes: "f32 partial",
    params: "u32 rows d n size",
    code: perElement(`let chunk = i / p.d;
  let column = i - chunk * p.d;
  let end = min(p.rows, (chunk + 1u) * p.size);
  var sum = 0.0;
  for (var row = chunk * p.size; row < end; row++) {
    let at = row * p.d + column;
    ${step}
  }
  partial[i] = sum;`),
  });
}

const chunkSum = kernel({
  name: "column_sums",
  reads: "f32 partial",
  writes: "f32 sums",
  params: "u32 chunks n, f32 scale",
  code: perElement(`var sum = 0.0;
  for (var chunk = 0u; chunk < p.chunks; chunk++) { sum += partial[chunk * p.n + i]; }
  sums[i] += p.scale * sum;`),
});

/**
 * sums[d] += scale (default 1) times the sums of `rows` rows of `d` columns.
 * @param chunksKernel made by {@link columnChunks}
 */
export function addColumnSums(
  ctx: WebgpuContext,
  chunksKernel: Kernel,
  buffers: Readonly<Record<string, Tensor>>,
  { sums, rows, d, scale = 1 }: {
    sums: Tensor;
    rows: number;
    d: number;
    scale?: number | undefined;
  },
): void {
  const size = Math.max(MIN_CHUNK_ROWS, Math.ceil(rows / MAX_CHUNKS));
  const chunks = Math.ceil(rows / size);
  const partial = ctx.scratch("float", chunks * d, "sums of columns by chunks of rows");
  ctx.dispatch({
    kernel: chunksKernel,
    buffers: { ...buffers, partial },
    params: { rows, d, n: chunks * d, size },
  });
  ctx.dispatch({
    kernel: chunkSum,
    buffers: { partial, sums },
    params: { chunks, n: d, scale },
  });
}
