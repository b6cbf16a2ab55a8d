/**
 * RoPE scaling in GGUF files, as a section `rope_scaling` of a `config.json`. llama.cpp has the
 * metadata `rope.scaling.*`, the divisors of LongRoPE as two tensors, and those of Llama 3's
 * scaling as one tensor. The parameters of Llama 3 are computed from the divisors and back.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { parseJsonObject } from "../../../core/json_file.ts";
import { type RopeConfig, ropeFrequencies } from "../../architectures/rope_frequencies.ts";
import { ropeParameters } from "../../architectures/rope_config.ts";
import { yarnMagnitude } from "../../architectures/rope_scaling.ts";
import type { GgufFile } from "./gguf.ts";
import { ggufArchitecture, shortest } from "./gguf_config.ts";

export const ROPE_DIVISORS = "rope_freqs.weight";
export const LONG_DIVISORS = "rope_factors_long.weight";
export const SHORT_DIVISORS = "rope_factors_short.weight";
/** Tensors of the scaling, which are no weights. */
export const ROPE_TENSORS: readonly string[] = [ROPE_DIVISORS, LONG_DIVISORS, SHORT_DIVISORS];
/**
 * JSON of a Llama 3 `rope_scaling` itself, which rgx writes next to the divisors. Other readers
 * ignore it.
 */
export const ROPE_SCALING_KEY = "rgx.rope_scaling";

/** The divisor of each frequency of a model: float64 [headDim/2]. */
export function ropeDivisors(model: RopeConfig): Float64Array<ArrayBuffer> {
  const plain = ropeFrequencies({ ...model, ropeScaling: null }), scaled = ropeFrequencies(model);
  return Float64Array.from(plain, (frequency, i) => frequency / scaled[i]!);
}

/**
 * The `rope_scaling` of a file, or null without one.
 * @throws UsageError for a scaling that rgx does not compute, RgxError for metadata that are wrong
 */
export async function ggufRopeScaling(file: GgufFile): Promise<Record<string, unknown> | null> {
  const prefix = `${ggufArchitecture(file)}.rope.`;
  const number = (key: string): number | undefined => {
    const value = file.metadata.get(prefix + key);
    if (value === undefined || typeof value === "number") {
      return value === undefined ? undefined : shortest(value);
    }
    throw new RgxError(`${file.label}: ${prefix}${key} is ${value}, expected a number`);
  };
  const neutral = (key: string, ...values: number[]) => {
    const value = number(key);
    if (value === undefined || values.includes(value)) return;
    throw new UsageError(
      `${file.label}: ${prefix}${key} is ${value}, which is not supported ` +
        `(only ${values.join(", ")})`,
    );
  };
  const factor = number("scaling.factor") ?? number("scale_linear");
  const plain = factor === undefined || factor === 0 || factor === 1;
  // The file of a Phi does not name its type.
  const type = file.metadata.get(`${prefix}scaling.type`) ??
    (file.tensors.has(LONG_DIVISORS) ? "longrope" : plain ? "none" : "linear");
  if (typeof type !== "string") {
    throw new RgxError(`${file.label}: ${prefix}scaling.type is ${type}`);
  }
  const tensors = type === "none"
    ? [ROPE_DIVISORS]
    : type === "longrope"
    ? ROPE_TENSORS.slice(1)
    : [];
  const odd = ROPE_TENSORS.find((name) => file.tensors.has(name) && !tensors.includes(name));
  if (odd !== undefined) {
    throw new UsageError(
      `${file.label}: the tensor "${odd}" beside ${prefix}scaling.type "${type}" is not supported`,
    );
  }
  const original = number("scaling.original_context_length") ?? null;
  if (type === "yarn") {
    neutral("scaling.yarn_ext_factor", 1, -1);
    const log = number("scaling.yarn_log_multiplier") ?? 0, times = number("scaling.attn_factor");
    // llama.cpp multiplies its default by `attn_factor`; `yarn_attn_factor` is the whole factor.
    const attention = times === undefined
      ? number("scaling.yarn_attn_factor") ?? null
      : times * yarnMagnitude(factor ?? 1);
    return {
      rope_type: type,
      factor,
      original_max_position_embeddings: original,
      attention_factor: attention,
      beta_fast: number("scaling.yarn_beta_fast") ?? null,
      beta_slow: number("scaling.yarn_beta_slow") ?? null,
      ...(log === 0 ? {} : { mscale: 1, mscale_all_dim: log }),
    };
  }
  if (type === "longrope") {
    neutral("scaling.factor", 0, 1);
    return {
      rope_type: type,
      original_max_position_embeddings: original,
      attention_factor: number("scaling.attn_factor") ?? 1,
      short_factor: await divisors(file, SHORT_DIVISORS),
      long_factor: await divisors(file, LONG_DIVISORS),
    };
  }
  neutral("scaling.attn_factor", 1);
  if (type === "none") {
    if (!file.tensors.has(ROPE_DIVISORS)) return null;
    return ggufArchitecture(file) === "gemma4"
      ? await proportionalScaling(file)
      : await llama3Scaling(file);
  }
  return { rope_type: type, factor, original_max_position_embeddings: original };
}

async function divisors(file: GgufFile, name: string): Promise<number[]> {
  return Array.from(await file.float32(name), shortest);
}

/** A divisor so large that the frequency is 0: llama.cpp's converter has no other way to say it. */
export const UNROTATED = Math.fround(1e30);

/** The share of a head that is rotated. @throws UsageError for other divisors than 1 and 1e30 */
async function proportionalScaling(file: GgufFile): Promise<Record<string, unknown>> {
  const values = await divisors(file, ROPE_DIVISORS), first = values.indexOf(UNROTATED);
  const rotated = first < 0 ? values.length : first;
  if (values.some((value, i) => value !== (i < rotated ? 1 : UNROTATED))) {
    throw new UsageError(`${file.label}: ${ROPE_DIVISORS} does not leave out the last frequencies`);
  }
  return { rope_type: "proportional", partial_rotary_factor: rotated / values.length };
}

/** Parameters that all Llama 3.x models share; their factors differ. */
const LLAMA3 = { lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositions: 8192 };

/**
 * The `rope_scaling` that a file's frequency divisors were computed from.
 * @throws UsageError when they are not those of a Llama 3.x model
 */
async function llama3Scaling(file: GgufFile): Promise<Record<string, unknown>> {
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
  const model = { headDim: divisors.length * 2, ropeTheta: Number(base) };
  const expected = ropeDivisors({ ...model, ropeScaling: scaling });
  const same = divisors.every((divisor, i) => Math.abs(expected[i]! - divisor) <= 1e-4 * divisor);
  if (!same) {
    throw new UsageError(
      `${file.label}: ${ROPE_DIVISORS} are not the frequency divisors of a Llama 3 model`,
      { advice: "Use the model's safetensors, whose config.json says how they are made." },
    );
  }
  const { rope_theta: _, ...section } = ropeParameters({ ...model, ropeScaling: scaling });
  return section;
}
