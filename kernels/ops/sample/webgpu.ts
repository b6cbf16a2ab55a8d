/**
 * GPU binding of sampling: the weights of chunks; with top-k, top-p or min-p the limits of each row
 * and the weights of the tokens that are kept; then the draw. Nothing is read back to the host.
 * Top-k and top-p order the logits before the division by the temperature. Two logits that are
 * equal only after the division are therefore different here.
 */
import { inRowParts } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { chunkShape, filtersOf, searchShape } from "./choose.ts";
import { COUNTER_WORDS, type SampleArgs } from "./spec.ts";
import { drawTokens, weighChunks } from "./kernels.wgsl.ts";
import { rowLimits } from "./threshold.wgsl.ts";

export const sampleWebgpu: WebgpuOp<SampleArgs> = (args, ctx) => {
  const { logits, scored = logits, counters, tokens, logp, rows, vocab, temperature } = args;
  const { topP, minP } = args;
  const greedy = temperature === 0;
  const { topK, filtered } = filtersOf(args);
  const search = searchShape(vocab, ctx);
  const { invocations, size, chunks, vectors } = chunkShape(vocab);
  const shared = {
    vocab,
    chunks,
    size,
    // Finite for every temperature, so that 0 times it is 0.
    inverse: greedy ? 1 : Math.min(1 / temperature, 3e38),
    log_min_p: minP > 0 ? Math.log(minP) : -3e38,
  };
  inRowParts(ctx, rows, Math.max(vocab, 3), (part, count) => {
    const params = { ...shared, rows: count };
    const weigh = (weighed: typeof logits, label: string) => {
      const stats = ctx.scratch("float", 2 * count * chunks, label);
      ctx.dispatch({
        kernel: weighChunks({ invocations, filtered: false, vectors }),
        buffers: { logits: part(weighed, vocab), stats },
        params,
        groups: count * chunks,
      });
      return stats;
    };
    const plain = weigh(logits, "chunks");
    const whole = scored === logits ? plain : weigh(scored, "chunks of the policy's logits");
    let stats = plain, limits = plain;
    if (filtered) {
      stats = ctx.scratch("float", 2 * count * chunks, "chunks of what is kept");
      limits = ctx.scratch("u32", 2 * count, "row limits");
      ctx.dispatch({
        kernel: rowLimits({ ...search, topK, topP: topP < 1 }),
        buffers: { logits: part(logits, vocab), stats: plain, row_limits: limits },
        params: {
          ...params,
          top_k: args.topK,
          top_p: Math.min(Math.round(topP * 2 ** 32), 2 ** 32 - 1),
        },
        groups: count,
      });
      ctx.dispatch({
        kernel: weighChunks({ invocations, filtered, vectors }),
        buffers: { logits: part(logits, vocab), row_limits: limits, stats },
        params,
        groups: count * chunks,
      });
    }
    ctx.dispatch({
      kernel: drawTokens({ invocations, filtered, greedy }),
      buffers: {
        logits: part(logits, vocab),
        scored: part(scored, vocab),
        stats,
        all_stats: whole,
        row_limits: limits,
        counters: part(counters, COUNTER_WORDS),
        tokens: part(tokens, 1),
        logp: part(logp, 1),
      },
      params,
      groups: count,
    });
  });
};
