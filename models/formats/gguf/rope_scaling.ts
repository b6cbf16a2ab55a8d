/**
 * Llama 3's RoPE scaling in GGUF files. llama.cpp stores it as a tensor of frequency divisors; here
 * they are computed from a `rope_scaling` and back.
 */
import { UsageError } from "../../../core/errors.ts";
import { parseJsonObject } from "../../../core/json_file.ts";
import { ropeFrequencies } from "../../architectures/rope_frequencies.ts";
import type { GgufFile } from "./gguf.ts";
import { ggufArchitecture } from "./gguf_config.ts";

export const ROPE_DIVISORS = "rope_freqs.weight";
/**
 * JSON of the `rope_scaling` itself, which rgx writes next to the divisors. Other readers ignore
 * it.
 */
export const ROPE_SCALING_KEY = "rgx.rope_scaling";

/** The divisor of each frequency of a model: float64 [headDim/2]. */
export function ropeDivisors(
  model: Parameters<typeof ropeFrequencies>[0],
): Float64Array<ArrayBuffer> {
  const plain = ropeFrequencies({ ...model, ropeScaling: null }), scaled = ropeFrequencies(model);
  return Float64Array.from(plain, (frequency, i) => frequency / scaled[i]!);
}

/** Parameters that all Llama 3.x models share; their factors differ. */
const LLAMA3 = { lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositions: 8192 };

/**
 * The `rope_scaling` that a file's frequency divisors were computed from, or null without divisors.
 * @throws UsageError when they are not those of a Llama 3.x model
 */
export async function ggufRopeScaling(file: GgufFile): Promise<Record<string, unknown> | null> {
  if (!file.tensors.has(ROPE_DIVISORS)) return null;
  const divisors = await file.float32(ROPE_DIVISORS);
  const base = file.metadata.get(`${ggufArchitecture(file)}.rope.freq_base`) ?? 10000;
  const noted = file.metadata.get(ROPE_SCALING_KEY);
  const note = typeof noted === "string"
    ? parseJsonObject(noted, `${file.label}: ${ROPE_SCALING_KEY}`)
    : null;
  const scaling = {
    type: "llama3",
    factor: Number(note?.["factor"] ?? divisors.reduce((a, b) => Math.max(a, b), 0)),
    lowFreqFactor: Number(note?.["low_freq_factor"] ?? LLAMA3.lowFreqFactor),
    highFreqFactor: Number(note?.["high_freq_factor"] ?? LLAMA3.highFreqFactor),
    originalMaxPositions: Number(
      note?.["original_max_position_embeddings"] ?? LLAMA3.originalMaxPositions,
    ),
  } as const;
  const expected = ropeDivisors({
    headDim: divisors.length * 2,
    ropeTheta: Number(base),
    ropeScaling: scaling,
  });
  const same = divisors.every((divisor, i) => Math.abs(expected[i]! - divisor) <= 1e-4 * divisor);
  if (!same) {
    throw new UsageError(
      `${file.label}: ${ROPE_DIVISORS} are not the frequency divisors of a Llama 3 model`,
      { advice: "Use the model's safetensors, whose config.json says how they are made." },
    );
  }
  return {
    rope_type: scaling.type,
    factor: scaling.factor,
    low_freq_factor: scaling.lowFreqFactor,
    high_freq_factor: scaling.highFreqFactor,
    original_max_position_embeddings: scaling.originalMaxPositions,
  };
}
