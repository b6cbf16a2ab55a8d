/**
 * How RoPE frequencies are stretched for texts beyond the length of the first training. The types
 * are those of transformers' `modeling_rope_utils`; rope_config.ts reads and writes them, and
 * rope_frequencies.ts computes with them.
 */

/** The types by their name in `rope_type`. `default` (no scaling) is null. */
export type RopeScaling =
  | LinearScaling
  | DynamicScaling
  | YarnScaling
  | LongRopeScaling
  | Llama3Scaling
  | ProportionalScaling;

/** All frequencies are divided by the factor. */
export interface LinearScaling {
  readonly type: "linear";
  readonly factor: number;
}

/** The base grows with the length of the text, beyond the model's length ("dynamic NTK"). */
export interface DynamicScaling {
  readonly type: "dynamic";
  readonly factor: number;
  /** `max_position_embeddings` of the file: the base grows from here. */
  readonly originalMaxPositions: number;
}

/** Low frequencies are divided, high ones are kept, and cos and sin get a factor. */
export interface YarnScaling {
  readonly type: "yarn";
  readonly factor: number;
  readonly originalMaxPositions: number;
  /** Factor of cos and sin; null = from the others. */
  readonly attentionFactor: number | null;
  /** Both are needed to have an effect. */
  readonly mscale: number | null;
  readonly mscaleAllDim: number | null;
  /** Turns within the original length from which a frequency is kept, and up to which divided. */
  readonly betaFast: number;
  readonly betaSlow: number;
  /** Whether the limits between kept and divided frequencies are rounded to whole pairs. */
  readonly truncate: boolean;
}

/** A divisor for each frequency: one list up to the original length, another for longer texts. */
export interface LongRopeScaling {
  readonly type: "longrope";
  readonly factor: number;
  readonly originalMaxPositions: number;
  /** Factor of cos and sin; null = from the others. */
  readonly attentionFactor: number | null;
  readonly shortFactors: readonly number[]; // [headDim/2]
  readonly longFactors: readonly number[]; // [headDim/2]
}

/** Low frequencies are divided, high ones are kept, and those between are blended. */
export interface Llama3Scaling {
  readonly type: "llama3";
  readonly factor: number;
  readonly lowFreqFactor: number;
  readonly highFreqFactor: number;
  readonly originalMaxPositions: number;
}

/** Only this share of a head's elements is rotated, those of the highest frequencies. */
export interface ProportionalScaling {
  readonly type: "proportional";
  readonly factor: number;
  readonly rotaryShare: number;
}

/**
 * The longest text of a model whose file says `max_position_embeddings` = `stated`. vLLM derives
 * the same: linear and dynamic scaling multiply it, and yarn multiplies the original length.
 */
export function contextLength(stated: number, scaling: RopeScaling | null): number {
  switch (scaling?.type) {
    case "linear":
    case "dynamic":
      return Math.floor(stated * scaling.factor);
    case "yarn":
      return Math.max(stated, Math.floor(scaling.originalMaxPositions * scaling.factor));
    default:
      return stated;
  }
}

/** The longest text of a model and its scaling, in words; null without scaling. */
export function contextText(
  { maxPositions, ropeScaling: scaling }: { maxPositions: number; ropeScaling: RopeScaling | null },
): string | null {
  if (scaling === null) return null;
  const from = "originalMaxPositions" in scaling ? ` from ${scaling.originalMaxPositions}` : "";
  return `${maxPositions} positions, RoPE scaling ${scaling.type} × ${
    Number(scaling.factor.toPrecision(4))
  }${from}`;
}

/** Factor of cos and sin. */
export function attentionFactor(scaling: RopeScaling | null): number {
  if (scaling?.type === "yarn") {
    const { attentionFactor, factor, mscale, mscaleAllDim } = scaling;
    if (attentionFactor !== null) return attentionFactor;
    return mscale && mscaleAllDim
      ? yarnMagnitude(factor, mscale) / yarnMagnitude(factor, mscaleAllDim)
      : yarnMagnitude(factor);
  }
  if (scaling?.type === "longrope") {
    const { attentionFactor, factor, originalMaxPositions } = scaling;
    if (attentionFactor !== null) return attentionFactor;
    return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalMaxPositions));
  }
  return 1;
}

/** YaRN's factor of cos and sin for a stretch by `factor`, as its paper suggests. */
export function yarnMagnitude(factor: number, mscale = 1): number {
  return factor <= 1 ? 1 : 0.1 * mscale * Math.log(factor) + 1;
}

/** What is impossible about a scaling that was read (rope_config.ts), as a list of clauses. */
export function ropeScalingProblems(
  scaling: RopeScaling,
  { headDim, ropeTheta }: { headDim: number; ropeTheta: number },
): string[] {
  const problems: string[] = [], { type } = scaling, attention = attentionFactor(scaling);
  if (type === "llama3") {
    const { lowFreqFactor: low, highFreqFactor: high } = scaling;
    if (!(low > 0 && high > low)) {
      problems.push(
        `llama3 rope scaling needs 0 < low_freq_factor < high_freq_factor, found ${low} and ${high}`,
      );
    }
  }
  if (type === "yarn" && ropeTheta <= 1) {
    problems.push(`yarn rope scaling needs a rope_theta above 1`);
  }
  if (type === "dynamic" && headDim <= 2) {
    problems.push("dynamic rope scaling needs heads that are wider than 2");
  }
  if (type === "proportional" && scaling.rotaryShare > 1) {
    problems.push(`partial_rotary_factor is ${scaling.rotaryShare}, expected at most 1`);
  }
  if (!(attention > 0 && Number.isFinite(attention))) {
    problems.push(`${type} rope scaling: the attention factor is ${attention}`);
  }
  return problems;
}
