/**
 * Reference of sampling. The thresholds of top-k and top-p are found bit by bit over ordered 32-bit
 * keys, without sorting. This search is the definition: other devices must keep the same tokens.
 */
import { philox4x32, uniform23 } from "../../../core/philox.ts";
import { type FloatArray, floats, words } from "../common/reference_tensor.ts";
import { COUNTER_WORDS, type SampleArgs } from "./spec.ts";

const bits = new DataView(new ArrayBuffer(4));

/** The key of x: u32 numbers that have the same order as the f32 nearest to x. */
function orderedKey(x: number): number {
  bits.setFloat32(0, x === 0 ? 0 : x); // −0 and 0 are one value
  const word = bits.getUint32(0);
  return (word & 0x8000_0000 ? ~word : word | 0x8000_0000) >>> 0;
}

/**
 * The largest t with `enough(t)`. That must hold for 0, and for all numbers below a t that holds.
 */
function largestThreshold(enough: (t: number) => boolean): number {
  let t = 0;
  for (let bit = 31; bit >= 0; bit--) {
    const candidate = (t | (1 << bit)) >>> 0;
    if (enough(candidate)) t = candidate;
  }
  return t;
}

export function sample(args: SampleArgs): void {
  const { rows, vocab, temperature } = args;
  const logits = floats(args.logits), counters = words(args.counters);
  const tokens = words(args.tokens), logp = floats(args.logp);
  const scored = args.scored && floats(args.scored);
  const z = new Float64Array(vocab), random = new Uint32Array(4);
  for (let r = 0; r < rows; r++) {
    const greedy = temperature === 0;
    const best = scaleRow(z, logits, r * vocab, greedy ? 1 : temperature);
    let max = z[best]!;
    let token = best;
    if (!greedy) {
      const at = r * COUNTER_WORDS;
      const [c1, c2, c3, low, high] = counters.subarray(at, at + COUNTER_WORDS);
      philox4x32(random, 0, c1!, c2!, c3!, low!, high!);
      token = draw(keptWeights(z, max, args), uniform23(random[0]!));
    }
    if (scored) max = z[scaleRow(z, scored, r * vocab, greedy ? 1 : temperature)]!;
    let total = 0;
    for (let t = 0; t < vocab; t++) total += Math.exp(z[t]! - max);
    tokens[r] = token;
    logp[r] = z[token]! - max - Math.log(total);
  }
}

/** z = logits/temperature; returns the lowest index of the largest element. */
function scaleRow(z: Float64Array, logits: FloatArray, from: number, temperature: number): number {
  let best = 0;
  for (let t = 0; t < z.length; t++) {
    z[t] = logits[from + t]! / temperature;
    if (z[t]! > z[best]!) best = t;
  }
  return best;
}

/** e^(z − max) of the tokens that top-k, top-p and min-p keep, 0 for the others. */
export function keptWeights(
  z: Float64Array,
  max: number,
  { topK, topP, minP }: Pick<SampleArgs, "topK" | "topP" | "minP">,
): Float64Array {
  const vocab = z.length;
  const keys = Uint32Array.from(z, orderedKey), weights = z.map((x) => Math.exp(x - max));
  if (topK > 0 && topK < vocab) {
    const threshold = largestThreshold((t) => {
      let count = 0;
      for (let i = 0; i < vocab; i++) if (keys[i]! >= t) count++;
      return count >= topK;
    });
    for (let i = 0; i < vocab; i++) if (keys[i]! < threshold) weights[i] = 0;
  }
  if (topP < 1) {
    const massFrom = (t: number) => {
      let mass = 0;
      for (let i = 0; i < vocab; i++) if (keys[i]! >= t) mass += weights[i]!;
      return mass;
    };
    const wanted = topP * massFrom(0);
    const threshold = largestThreshold((t) => massFrom(t) >= wanted);
    for (let i = 0; i < vocab; i++) if (keys[i]! < threshold) weights[i] = 0;
  }
  if (minP > 0) {
    const lowest = max + Math.log(minP);
    for (let i = 0; i < vocab; i++) if (z[i]! < lowest) weights[i] = 0;
  }
  return weights;
}

/** Inverse transform in index order: the first token whose cumulative weight exceeds u·total. */
function draw(weights: Float64Array, u: number): number {
  let total = 0;
  for (const w of weights) total += w;
  const target = u * total;
  let cumulative = 0, last = 0;
  for (let t = 0; t < weights.length; t++) {
    if (weights[t]! === 0) continue;
    cumulative += weights[t]!;
    last = t;
    if (cumulative > target) return t;
  }
  return last;
}
