/**
 * How RoPE frequencies are stretched for texts beyond the length of the first training. The types
 * are those of transformers' `modeling_rope_utils`; rope_config.ts reads and writes them, and
 * rope_frequencies.ts computes with them.
 */

/** A value of a scaling, as rope_config.ts reads and writes it. */
export interface ScalingField {
  /** Its name in {@link RopeScaling}. */
  readonly name: string;
  readonly key: string;
  /** `factor`: at least 1; `list`: a positive number for each frequency. */
  readonly form: "factor" | "positive" | "number" | "flag" | "list";
  /** What an absent key and null stand for; that is not written either. */
  readonly usual?: number | boolean | null;
  /** The same, but it is written. `quotient`: of the lengths. */
  readonly absent?: number | "quotient";
  /** Whether the key must be there, though it may be null. */
  readonly required?: boolean;
}

const FACTOR = { name: "factor", key: "factor", form: "factor" } as const;
/** Factor of cos and sin; null = from the others. */
const ATTENTION = {
  name: "attentionFactor",
  key: "attention_factor",
  form: "positive",
  usual: null,
} as const;

/** The types by their name in `rope_type`, with their values. */
export const ROPE_TYPES = {
  /** No scaling: null. */
  default: [],
  /** All frequencies are divided by the factor. */
  linear: [FACTOR],
  /** The base grows with the length of the text, beyond the model's length ("dynamic NTK"). */
  dynamic: [FACTOR],
  /**
   * Low frequencies are divided, high ones are kept, and cos and sin get a factor. Both mscales are
   * needed to have an effect; the betas are the turns within the original length from which a
   * frequency is kept, and up to which divided, rounded to whole pairs with `truncate`.
   */
  yarn: [
    { ...FACTOR, absent: "quotient", required: true },
    ATTENTION,
    { name: "mscale", key: "mscale", form: "number", usual: null },
    { name: "mscaleAllDim", key: "mscale_all_dim", form: "number", usual: null },
    { name: "betaFast", key: "beta_fast", form: "positive", usual: 32 },
    { name: "betaSlow", key: "beta_slow", form: "positive", usual: 1 },
    { name: "truncate", key: "truncate", form: "flag", usual: true },
  ],
  /** A divisor for each frequency: one list up to the original length, another for longer texts. */
  longrope: [
    { ...FACTOR, absent: "quotient" },
    ATTENTION,
    { name: "shortFactors", key: "short_factor", form: "list" },
    { name: "longFactors", key: "long_factor", form: "list" },
  ],
  /** Low frequencies are divided, high ones are kept, and those between are blended. */
  llama3: [
    FACTOR,
    { name: "lowFreqFactor", key: "low_freq_factor", form: "number" },
    { name: "highFreqFactor", key: "high_freq_factor", form: "number" },
  ],
  /** Only this share of a head's elements is rotated, those of the highest frequencies. */
  proportional: [
    { ...FACTOR, absent: 1 },
    { name: "rotaryShare", key: "partial_rotary_factor", form: "positive", absent: 1 },
  ],
} as const satisfies Record<string, readonly ScalingField[]>;

export type RopeType = keyof typeof ROPE_TYPES;
/** Types that depend on the length of the first training; of `dynamic` it is the model's. */
type WithLength = "dynamic" | "yarn" | "longrope" | "llama3";

type FieldOf<Type extends RopeType> = typeof ROPE_TYPES[Type][number];
type Value<Field> = Field extends { form: "list" } ? readonly number[]
  : Field extends { form: "flag" } ? boolean
  : Field extends { usual: null } ? number | null
  : number;
type Scaling<Type extends RopeType> =
  & { readonly type: Type }
  & { readonly [Field in FieldOf<Type> as Field["name"]]: Value<Field> }
  & (Type extends WithLength ? { readonly originalMaxPositions: number } : unknown);

/** How frequencies are stretched; `default` (no scaling) is null. */
export type RopeScaling = {
  [Type in Exclude<RopeType, "default">]: Scaling<Type>;
}[Exclude<RopeType, "default">];

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
