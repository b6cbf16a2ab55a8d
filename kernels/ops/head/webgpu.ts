/**
 * GPU bindings of the fused head. For chunks of rows × chunks of the vocabulary in a fixed order: a
 * matrix product into scratch of bounded size, and a pass over its rows. The backward computes the
 * logits again, or starts from the forward's mean where that is enough. The size of the chunks
 * depends on the device's limits.
 */
import type { MatmulArgs } from "../matmul/spec.ts";
import { matmulWebgpu } from "../matmul/webgpu.ts";
import { copyWebgpu, softCapBackwardWebgpu, softCapWebgpu } from "../elementwise/webgpu.ts";
import { inRowParts, inStoredParts, storedRowsView } from "../common/webgpu_parts.ts";
import { rowParams } from "../../weights/widen.wgsl.ts";
import type { WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import { fromMean, logitSlopes, mergeLogits } from "./rows.wgsl.ts";
import { type ChunkSize, chunkSizes, rowInvocations } from "./choose.ts";
import { capOf, type HeadArgs, type HeadBackwardArgs } from "./spec.ts";

/** Rows [row, row + rows) × tokens [first, first + width) of the logits. */
interface Chunk {
  row: number;
  rows: number;
  first: number;
  width: number;
}

/** The weight's rows of some tokens, as an operand of a matrix product. */
function weightRows(
  { weight, weightType, d }: Pick<HeadArgs, "weight" | "weightType" | "d">,
  first: number,
  width: number,
): Pick<MatmulArgs, "b" | "weightType"> {
  const b = storedRowsView(weight, weightType ?? "f32", d, first, width);
  return { b, ...(weightType === undefined ? {} : { weightType }) };
}

/** The adapter's part in the logits of a chunk. */
function adapterPart(
  { xa, loraB, r, loraScale, temperature }: HeadArgs | HeadBackwardArgs,
  { row, rows, first, width }: Chunk,
): Pick<MatmulArgs, "xa" | "loraB" | "r" | "loraScale"> {
  if (xa === undefined || loraB === undefined || r === undefined) return {};
  return {
    xa: xa.view(row * r, rows * r),
    loraB: loraB.view(first * r, width * r),
    r,
    loraScale: loraScale! / temperature,
  };
}

/** Computes the logits of each chunk and calls `each` for it. */
function eachChunk(
  args: HeadArgs | HeadBackwardArgs,
  size: ChunkSize,
  ctx: WebgpuContext,
  each: (chunk: Chunk, logits: ReturnType<WebgpuContext["scratch"]>) => void,
): void {
  const { hidden, rows, vocab, d, temperature } = args;
  if (rows === 0) return;
  const logits = ctx.scratch("float", size.rows * size.width, "logits");
  for (let row = 0; row < rows; row += size.rows) {
    for (let first = 0; first < vocab; first += size.width) {
      const chunk = {
        row,
        rows: Math.min(size.rows, rows - row),
        first,
        width: Math.min(size.width, vocab - first),
      };
      ctx.runPart(matmulWebgpu, {
        a: hidden.view(row * d, chunk.rows * d),
        ...weightRows(args, first, chunk.width),
        ...adapterPart(args, chunk),
        out: logits,
        m: chunk.rows,
        n: chunk.width,
        k: d,
        transB: true,
        alpha: 1 / temperature,
      });
      const cap = capOf(args), n = chunk.rows * chunk.width;
      if (cap !== undefined) ctx.runPart(softCapWebgpu, { x: logits, out: logits, n, cap });
      each(chunk, logits);
    }
  }
}

export const headWebgpu: WebgpuOp<HeadArgs> = (args, ctx) => {
  const { pairStart, targets, logp, lse, entropy, mean, vocab, d } = args;
  const size = chunkSizes(args, ctx);
  const running = ctx.scratch("float", 4 * size.rows, "running values");
  eachChunk(args, size, ctx, (chunk, logits) => {
    const { row, rows, first, width } = chunk;
    const means = mean?.view(row * d, rows * d);
    ctx.dispatch({
      kernel: mergeLogits({ invocations: rowInvocations(width), mean: means !== undefined }),
      buffers: {
        logits,
        pair_start: pairStart,
        targets,
        running,
        logp,
        lse,
        entropy,
        ...(means === undefined ? {} : { means }),
      },
      params: { rows, row, width, first, last: first + width === vocab ? 1 : 0, d },
      groups: rows,
    });
    if (means === undefined) return;
    ctx.runPart(matmulWebgpu, {
      a: logits,
      ...weightRows(args, first, width),
      out: means,
      m: rows,
      n: d,
      k: width,
      accumulate: first > 0,
    });
  });
};

export const headBackwardWebgpu: WebgpuOp<HeadBackwardArgs> = (args, ctx) => {
  const { hidden, pairStart, targets, lse, entropy, dlogp, dentropy } = args;
  const { mean, dhidden, dweight, dxa, dloraB, d } = args;
  const alpha = 1 / args.temperature;
  if (mean !== undefined) {
    backwardFromMean({ ...args, mean }, ctx);
    return;
  }
  const size = chunkSizes(args, ctx), cap = capOf(args);
  const capped = cap === undefined ? null : ctx.scratch("float", size.rows * size.width, "capped");
  eachChunk(args, size, ctx, (chunk, logits) => {
    const { row, rows, first, width } = chunk, n = rows * width;
    if (capped !== null) ctx.runPart(copyWebgpu, { src: logits, out: capped, n });
    ctx.dispatch({
      kernel: logitSlopes({ invocations: rowInvocations(width), dentropy: dentropy !== undefined }),
      buffers: {
        logits,
        pair_start: pairStart,
        targets,
        lse,
        entropy,
        dlogp,
        ...(dentropy === undefined ? {} : { dentropy }),
      },
      params: { rows, row, width, first },
      groups: rows,
    });
    if (cap !== undefined && capped !== null) {
      ctx.runPart(softCapBackwardWebgpu, { dout: logits, y: capped, dx: logits, n, cap });
    }
    ctx.runPart(matmulWebgpu, {
      a: logits,
      ...weightRows(args, first, width),
      out: dhidden.view(row * d, rows * d),
      m: rows,
      n: d,
      k: width,
      alpha,
      accumulate: first > 0,
    });
    const sum = { m: width, k: rows, transA: true, accumulate: true };
    if (dweight !== undefined) {
      const b = hidden.view(row * d, rows * d), out = dweight.view(first * d, width * d);
      ctx.runPart(matmulWebgpu, { a: logits, b, out, n: d, alpha, ...sum });
    }
    const { xa, loraB, r, loraScale } = adapterPart(args, chunk);
    if (xa === undefined || loraB === undefined || r === undefined || dxa === undefined) return;
    const low = { a: logits, n: r, alpha: loraScale! };
    const out = dxa.view(row * r, rows * r);
    ctx.runPart(matmulWebgpu, { ...low, b: loraB, out, m: rows, k: width, accumulate: first > 0 });
    if (dloraB === undefined) return;
    ctx.runPart(matmulWebgpu, { ...low, b: xa, out: dloraB.view(first * r, width * r), ...sum });
  });
};

function backwardFromMean(
  args: HeadBackwardArgs & Required<Pick<HeadBackwardArgs, "mean">>,
  ctx: WebgpuContext,
): void {
  const { weight, weightType: type = "f32", pairStart, targets, dlogp, mean, dhidden } = args;
  const { rows, vocab, d } = args, kernel = fromMean({ invocations: rowInvocations(d), type });
  inRowParts(ctx, rows, d, (part, count, row) => {
    inStoredParts(ctx, { weight, type, rows: vocab, d }, (weight, tokens, first) =>
      ctx.dispatch({
        kernel,
        buffers: {
          weight,
          pair_start: pairStart,
          targets,
          dlogp,
          means: part(mean, d),
          dhidden: part(dhidden, d),
        },
        params: {
          rows: count,
          row,
          d,
          first,
          tokens,
          scale: 1 / args.temperature,
          ...rowParams(type, d),
        },
        groups: count,
      }));
  });
}
