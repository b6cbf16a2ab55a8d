/**
 * Correction for completions that another engine sampled: the ratio between the policy's
 * probability of a token and the sampler's, truncated or masked (TRL 1.16's
 * `vllm_importance_sampling_*`; Yao et al. 2025). It is computed once for each generation batch,
 * without gradient.
 */
import type { AlgorithmSection } from "../../configs/schema/run_config.ts";

/** For each token or the whole completion; what is out of bounds is clamped or 0. */
export type ImportanceKeys = Pick<
  AlgorithmSection,
  | "vllm_importance_sampling_mode"
  | "vllm_importance_sampling_clip_min"
  | "vllm_importance_sampling_clip_max"
>;

/**
 * The ratio at each token. In sequence mode every token of a completion gets the ratio of the
 * whole completion. [T]
 * @param offsets row i has the tokens [offsets[i], offsets[i + 1]). [B + 1]
 * @param oldLogp log-probabilities of the trainer's policy at the time of sampling. [T]
 * @param samplerLogp those of the engine that sampled. [T] Where a difference is NaN, it counts 0.
 */
export function importanceRatio(
  offsets: ArrayLike<number>,
  oldLogp: ArrayLike<number>,
  samplerLogp: ArrayLike<number>,
  keys: ImportanceKeys,
): Float64Array {
  const mode = keys.vllm_importance_sampling_mode;
  const low = keys.vllm_importance_sampling_clip_min ?? -Infinity;
  const high = keys.vllm_importance_sampling_clip_max ?? Infinity;
  const bound = (ratio: number) =>
    mode.endsWith("truncate")
      ? Math.min(Math.max(ratio, low), high)
      : ratio < low || ratio > high
      ? 0
      : ratio;
  const out = Float64Array.from({ length: oldLogp.length }, (_, t) => {
    const difference = oldLogp[t]! - samplerLogp[t]!;
    return Number.isNaN(difference) ? 0 : difference;
  });
  if (mode.startsWith("token")) return out.map((d) => bound(Math.exp(d)));
  for (let row = 0; row + 1 < offsets.length; row++) {
    const tokens = out.subarray(offsets[row]!, offsets[row + 1]!);
    tokens.fill(bound(Math.exp(tokens.reduce((a, b) => a + b, 0))));
  }
  return out;
}
