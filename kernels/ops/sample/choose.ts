/**
 * The search for the limits of top-k, top-p and min-p on a GPU: the rule by the vocabulary, and the
 * candidates that the tuner (kernels/tuning/) measures on a card. No result depends on the choice.
 */
import { unknownKernel } from "../common/unknown_kernel.ts";
import type { ChoicePoint, WebgpuTraits } from "../common/webgpu_op.ts";
import type { SampleArgs } from "./spec.ts";

/** Invocations of a workgroup, the bits of each round of the search, and loads at once. */
export interface SearchShape {
  invocations: number;
  digits: number[];
  loads: number;
  /** Whether a round comes first in which few logits have the same digit. */
  spread?: true;
}

/** The two that end in "spread" are the rule. */
const WIDE: Readonly<Record<string, SearchShape>> = {
  "256": { invocations: 256, digits: [10, 8, 7, 7], loads: 4 },
  "1024": { invocations: 1024, digits: [10, 8, 7, 7], loads: 4 },
  // Fewer bins are cleared and searched, in more rounds over the row.
  "256 few bins": { invocations: 256, digits: [8, 8, 8, 8], loads: 4 },
  "1024 few bins": { invocations: 1024, digits: [8, 8, 8, 8], loads: 4 },
  // Mostly three rounds. In the first one a subgroup's logits have digits of their own.
  "256 spread": { invocations: 256, digits: [7, 7, 9, 9], loads: 4, spread: true },
  "1024 spread": { invocations: 1024, digits: [7, 7, 9, 9], loads: 4, spread: true },
};
/** Workgroup memory that 1024 invocations need. */
const LARGE_BYTES = 24_576;

const isLarge = ({ limits }: Pick<WebgpuTraits, "limits">) =>
  limits.invocations >= 1024 && limits.workgroupBytes >= LARGE_BYTES;

const ruleOf = (traits: Pick<WebgpuTraits, "limits">) =>
  isLarge(traits) ? "1024 spread" : "256 spread";

/** @throws RgxError for an unknown name */
export function searchShape(
  vocab: number,
  traits: Pick<WebgpuTraits, "limits">,
  chosen: string | null = null,
): SearchShape {
  if (chosen !== null) {
    const found = WIDE[chosen];
    if (found === undefined) throw unknownKernel(`search "${chosen}"`);
    return found;
  }
  if (vocab <= 128) return { invocations: 32, digits: [6, 6, 5, 5, 5, 5], loads: 1 };
  if (vocab <= 1024) return { invocations: 64, digits: [8, 8, 8, 8], loads: 1 };
  return WIDE[ruleOf(traits)]!;
}

/** Whether tokens are filtered before the draw, and by what. */
export function filtersOf({ temperature, topK, topP, minP, vocab }: SampleArgs) {
  const byCount = topK > 0 && topK < vocab;
  return { topK: byCount, filtered: temperature !== 0 && (byCount || topP < 1 || minP > 0) };
}

export const searchChoice: ChoicePoint<SampleArgs> = {
  name: "sample",
  op: "sample",
  outputs: ["tokens", "logp"],
  classOf(args) {
    const { rows, vocab, topP } = args, { topK, filtered } = filtersOf(args);
    if (rows === 0 || !filtered || vocab <= 1024) return null;
    const size = 2 ** Math.ceil(Math.log2(rows));
    return `sample r${size} v${vocab}${topK ? " top-k" : ""}${topP < 1 ? " top-p" : ""}`;
  },
  candidates(_, traits) {
    const large = isLarge(traits);
    const names = Object.keys(WIDE).filter((name) => large || WIDE[name]!.invocations <= 256);
    const rule = ruleOf(traits);
    return [rule, ...names.filter((name) => name !== rule)];
  },
  // Every search finds the same limits.
  tolerance: () => ({ absolute: 0, relative: 0 }),
};
