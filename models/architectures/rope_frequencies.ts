/**
 * The frequencies of rotary position embedding: θ_j = base^(−2j/headDim), with the linear and the
 * Llama 3 scaling of transformers' `modeling_rope_utils`. Dynamic and YaRN scaling are left out.
 */
import type { ModelConfig } from "./model_config.ts";

/** Angle per position of each pair of a head's elements: [headDim/2], float64. */
export function ropeFrequencies(
  config: Pick<ModelConfig, "headDim" | "ropeTheta" | "ropeScaling">,
): Float64Array {
  const half = config.headDim / 2;
  const scaling = config.ropeScaling;
  return Float64Array.from({ length: half }, (_, j) => {
    const theta = config.ropeTheta ** (-2 * j / config.headDim);
    if (scaling === null) return theta;
    if (scaling.type === "linear") return theta / scaling.factor;
    const { factor, lowFreqFactor: low, highFreqFactor: high, originalMaxPositions } = scaling;
    const wavelength = 2 * Math.PI / theta;
    if (wavelength < originalMaxPositions / high) return theta;
    if (wavelength > originalMaxPositions / low) return theta / factor;
    const t = (originalMaxPositions / wavelength - low) / (high - low);
    return (1 - t) * theta / factor + t * theta;
  });
}
