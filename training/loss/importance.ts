/**
 * Correction for completions that another engine sampled: the ratio between our log-probabilities and the
 * sampler's, truncated or masked (TRL 1.16's `vllm_importance_sampling_*`; Yao et al. 2025).
 * Computed once a generation batch, without gradient.
 */

export interface ImportanceSettings {
  mode: "token_truncate" | "token_mask" | "sequence_truncate" | "sequence_mask";
  clipMin: number | null;
  clipMax: number | null;
}

/**
 * Ratio per token; a sequence's ratio stands at each of its tokens.
 * `offsets` [B + 1], `oldLogp`, `samplerLogp` and `mask` [T]. NaN differences count as 0.
 */
export function importanceRatio(
  offsets: ArrayLike<number>,
  oldLogp: ArrayLike<number>,
  samplerLogp: ArrayLike<number>,
  mask: ArrayLike<number> | null,
  settings: ImportanceSettings,
): Float64Array {
  const low = settings.clipMin ?? -Infinity, high = settings.clipMax ?? Infinity;
  const bound = (ratio: number) =>
    settings.mode.endsWith("truncate")
      ? Math.min(Math.max(ratio, low), high)
      : ratio < low || ratio > high
      ? 0
      : ratio;
  const out = Float64Array.from({ length: oldLogp.length }, (_, t) => {
    const difference = (oldLogp[t]! - samplerLogp[t]!) * (mask === null ? 1 : mask[t]!);
    return Number.isNaN(difference) ? 0 : difference;
  });
  if (settings.mode.startsWith("token")) return out.map((d) => bound(Math.exp(d)));
  for (let row = 0; row + 1 < offsets.length; row++) {
    const tokens = out.subarray(offsets[row]!, offsets[row + 1]!);
    tokens.fill(bound(Math.exp(tokens.reduce((a, b) => a + b, 0))));
  }
  return out;
}
