/**
 * The frequencies of rotary position embedding: θ_j = base^(−2j/headDim), with the scalings of
 * transformers' `modeling_rope_utils`.
 */
import type { RopeScaling } from "./rope_scaling.ts";

export interface RopeConfig {
  /** Elements of a head that are rotated. */
  readonly headDim: number;
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling | null;
}

export function dependsOnLength(scaling: RopeScaling | null): boolean {
  return scaling?.type === "dynamic" || scaling?.type === "longrope";
}

/**
 * A length whose frequencies are those of a text of `length` tokens; 0 up to the original length.
 * Two texts have the same frequencies if and only if these numbers are equal.
 */
export function frequencyLength(scaling: RopeScaling | null, length: number): number {
  if (scaling?.type !== "dynamic" && scaling?.type !== "longrope") return 0;
  const original = scaling.originalMaxPositions;
  return length <= original ? 0 : scaling.type === "dynamic" ? length : original + 1;
}

/** Angle per position of each pair of a head's elements: [headDim/2]. @param length of the text */
export function ropeFrequencies(config: RopeConfig, length = 0): Float64Array {
  const { headDim, ropeTheta: base, ropeScaling: scaling } = config, half = headDim / 2;
  const plain = (base: number) =>
    Float64Array.from({ length: half }, (_, j) => base ** (-2 * j / headDim));
  switch (scaling?.type) {
    case undefined:
      return plain(base);
    case "linear":
      return plain(base).map((theta) => theta / scaling.factor);
    case "dynamic": {
      const { factor, originalMaxPositions: original } = scaling;
      const growth = factor * Math.max(length, original) / original - (factor - 1);
      return plain(base * growth ** (headDim / (headDim - 2)));
    }
    case "yarn": {
      const { factor } = scaling, isDivided = yarnRamp(scaling, headDim, base);
      return plain(base).map((theta, j) =>
        theta / factor * isDivided(j) + theta * (1 - isDivided(j))
      );
    }
    case "longrope": {
      const { shortFactors, longFactors, originalMaxPositions: original } = scaling;
      const divisors = length > original ? longFactors : shortFactors;
      return plain(base).map((theta, j) => theta / divisors[j]!);
    }
    case "llama3": {
      const { factor, lowFreqFactor: low, highFreqFactor: high, originalMaxPositions } = scaling;
      return plain(base).map((theta) => {
        const wavelength = 2 * Math.PI / theta;
        if (wavelength < originalMaxPositions / high) return theta;
        if (wavelength > originalMaxPositions / low) return theta / factor;
        const t = (originalMaxPositions / wavelength - low) / (high - low);
        return (1 - t) * theta / factor + t * theta;
      });
    }
    case "proportional": {
      const rotated = Math.floor(scaling.rotaryShare * headDim / 2);
      return plain(base).map((theta, j) => j < rotated ? theta / scaling.factor : 0);
    }
  }
}

/** For each pair: 0 where YaRN keeps the frequency, 1 where it divides it, and a ramp between. */
function yarnRamp(
  { originalMaxPositions, betaFast, betaSlow, truncate }: Extract<RopeScaling, { type: "yarn" }>,
  headDim: number,
  base: number,
): (pair: number) => number {
  // The pair that makes this many turns within the original length.
  const pairOf = (turns: number) =>
    headDim * Math.log(originalMaxPositions / (turns * 2 * Math.PI)) / (2 * Math.log(base));
  const round = (x: number, to: (x: number) => number) => truncate ? to(x) : x;
  const low = Math.max(0, round(pairOf(betaFast), Math.floor));
  let high = Math.min(headDim - 1, round(pairOf(betaSlow), Math.ceil));
  if (low === high) high += 0.001;
  return (pair) => Math.min(1, Math.max(0, (pair - low) / (high - low)));
}
