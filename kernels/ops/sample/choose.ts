/**
 * How sampling works on a GPU: the search for the limits of top-k, top-p and min-p, and how the
 * invocations of a workgroup exchange what they found. The rules by the vocabulary, and the
 * candidates that the tuner (kernels/tuning/) measures on a card. No result depends on a choice.
 */
import { unknownKernel } from "../common/unknown_kernel.ts";
import type { ChoicePoint, Results, WebgpuTraits } from "../common/webgpu_op.ts";
import type { Exchange } from "../common/wgsl/subgroups.ts";
import { COUNTER_WORDS, type SampleArgs } from "./spec.ts";

/** Invocations of a workgroup, the bits of each round of the search, and loads at once. */
export interface SearchShape {
  invocations: number;
  digits: number[];
  loads: number;
  /** The loads are one vector of four logits. */
  vectors: boolean;
  exchange: Exchange;
  /** Whether a round comes first in which few logits have the same digit. */
  spread?: true;
}

type Rounds = Pick<SearchShape, "digits" | "spread">;

/** Rounds of a search over a large vocabulary, by name. */
const ROUNDS: Readonly<Record<string, Rounds>> = {
  // Mostly three rounds. In the first one a subgroup's logits have digits of their own.
  "spread": { digits: [7, 7, 9, 9], spread: true },
  "": { digits: [10, 8, 7, 7] },
  // Fewer bins are cleared and searched, in more rounds over the row.
  "few bins": { digits: [8, 8, 8, 8] },
};
const INVOCATIONS = [1024, 256] as const;

/** The name of a search: "1024 spread x4 subgroups". */
function searchName(
  invocations: number,
  rounds: string,
  vectors: boolean,
  exchange: Exchange,
): string {
  const parts = [invocations, rounds, vectors ? "x4" : "", exchange === "memory" ? "" : exchange];
  return parts.filter((part) => part !== "").join(" ");
}

const WIDE = new Map(
  INVOCATIONS.flatMap((invocations) =>
    Object.entries(ROUNDS).flatMap(([name, rounds]) =>
      [true, false].flatMap((vectors) =>
        (["memory", "subgroups"] as const).map((exchange) => {
          const shape: SearchShape = { invocations, ...rounds, loads: 4, vectors, exchange };
          return [searchName(invocations, name, vectors, exchange), shape] as const;
        })
      )
    )
  ),
);

/** Workgroup memory that 1024 invocations need. */
const LARGE_BYTES = 24_576;

const isLarge = ({ limits }: Pick<WebgpuTraits, "limits">) =>
  limits.invocations >= 1024 && limits.workgroupBytes >= LARGE_BYTES;

/** Whether a row of logits can be loaded four at a time. */
const inVectors = (vocab: number) => vocab % 4 === 0;

const ruleOf = (vocab: number, traits: Pick<WebgpuTraits, "limits">) =>
  searchName(isLarge(traits) ? 1024 : 256, "spread", inVectors(vocab), "memory");

/** @throws RgxError for an unknown name */
export function searchShape(
  vocab: number,
  traits: Pick<WebgpuTraits, "limits">,
  chosen: string | null = null,
): SearchShape {
  if (chosen !== null) {
    const found = WIDE.get(chosen);
    if (found === undefined) throw unknownKernel(`search "${chosen}"`);
    return found;
  }
  const few = { loads: 1, vectors: false, exchange: "memory" as const };
  if (vocab <= 128) return { invocations: 32, digits: [6, 6, 5, 5, 5, 5], ...few };
  if (vocab <= 1024) return { invocations: 64, digits: [8, 8, 8, 8], ...few };
  return WIDE.get(ruleOf(vocab, traits))!;
}

/**
 * How a row is divided into chunks, and read. The bits of sums depend on it, so only the vocabulary
 * decides it.
 */
export interface ChunkShape {
  invocations: number;
  /** Number of tokens of a chunk, and number of chunks. */
  size: number;
  chunks: number;
  vectors: boolean;
}

/**
 * Min number of tokens of a chunk for each invocation; more, if there were more chunks than those.
 */
const MIN_SPAN = 16;

export function chunkShape(vocab: number): ChunkShape {
  const invocations = vocab <= 128 ? 32 : vocab <= 1024 ? 64 : 256, vectors = inVectors(vocab);
  const span = 4 * Math.ceil(Math.max(MIN_SPAN, vocab / invocations / invocations) / 4);
  const size = span * invocations;
  return { invocations, size, chunks: Math.ceil(vocab / size), vectors };
}

/** Whether tokens are filtered before the draw, and by what. */
export function filtersOf({ temperature, topK, topP, minP, vocab }: SampleArgs) {
  const byCount = topK > 0 && topK < vocab;
  return { topK: byCount, filtered: temperature !== 0 && (byCount || topP < 1 || minP > 0) };
}

/** Largest difference of two log-probabilities of a token. */
const LOGP_ERROR = 2e-5;

/**
 * Where a driver computes a sum in another way, a number near the boundary of two tokens may draw
 * the other one: at most a quarter of the rows. Equal tokens have equal log-probabilities.
 */
function compareDraws(found: Results, expected: Results): string | null {
  const of = (results: Results) =>
    ["tokens", "logp"].map((name) => results.get(name)!.flatMap((part) => [...part]));
  const [tokens, logp] = of(found) as [number[], number[]];
  const [rightTokens, rightLogp] = of(expected) as [number[], number[]];
  let others = 0;
  for (const [row, token] of tokens.entries()) {
    if (token !== rightTokens[row]) others++;
    // Not ">", which is false for NaN.
    else if (!(Math.abs(logp[row]! - rightLogp[row]!) <= LOGP_ERROR)) {
      return `logp: row ${row} is ${logp[row]}, expected ${rightLogp[row]} ± ${LOGP_ERROR}`;
    }
  }
  return others <= Math.max(1, tokens.length / 4)
    ? null
    : `tokens: ${others} of ${tokens.length} rows have another one`;
}

/** Eight rows, each with another number, of as many tokens as the search needs. */
function smallDraw({ vocab: whole, scored }: SampleArgs) {
  const rows = 8, vocab = whole <= 1500 ? whole : 1500 + whole % 4;
  const counters = new Uint32Array(rows * COUNTER_WORDS);
  for (let row = 0; row < rows; row++) counters.set([row, 1, 2, 3, 4], row * COUNTER_WORDS);
  return {
    rows,
    vocab,
    logits: rows * vocab,
    counters,
    tokens: rows,
    logp: rows,
    ...(scored === undefined ? {} : { scored: rows * vocab }),
  };
}

const sizeClass = (rows: number) => 2 ** Math.ceil(Math.log2(rows));

export const searchChoice: ChoicePoint<SampleArgs> = {
  name: "sample",
  op: "sample",
  outputs: ["tokens", "logp"],
  classOf(args) {
    const { rows, vocab, topP } = args, { topK, filtered } = filtersOf(args);
    if (rows === 0 || !filtered || vocab <= 1024) return null;
    return `sample r${sizeClass(rows)} v${vocab}${topK ? " top-k" : ""}${topP < 1 ? " top-p" : ""}`;
  },
  candidates({ vocab }, traits) {
    const rule = ruleOf(vocab, traits), large = isLarge(traits);
    const others = [...WIDE].filter(([name, { invocations, vectors, exchange }]) =>
      name !== rule && (large || invocations <= 256) && (!vectors || inVectors(vocab)) &&
      (exchange === "memory" || traits.subgroups === true)
    );
    return [rule, ...others.map(([name]) => name)];
  },
  // Every search finds the same limits.
  tolerance: () => ({ absolute: 0, relative: 0 }),
  compare: compareDraws,
  small: smallDraw,
  timed: ["sample.limits"],
};

/** Fewer invocations than a subgroup may have would leave a part of it empty. */
const MIN_INVOCATIONS = 64;

/** How the weights of the chunks, and the draw, are summed. */
export const drawChoice: ChoicePoint<SampleArgs> = {
  ...searchChoice,
  name: "sample.draw",
  classOf(args) {
    const { rows, vocab, temperature } = args;
    if (rows === 0 || chunkShape(vocab).invocations < MIN_INVOCATIONS) return null;
    const kind = temperature === 0 ? " greedy" : filtersOf(args).filtered ? " filtered" : "";
    return `sample.draw r${sizeClass(rows)} v${vocab}${kind}`;
  },
  candidates: (_, { subgroups }) => subgroups ? ["memory", "subgroups"] : ["memory"],
  timed: ["sample.weigh", "sample.draw"],
};
