/**
 * How sampling works on a GPU: the search for the limits of top-k, top-p and min-p, and how a row
 * is divided. Rules by the vocabulary; no result depends on the search.
 */
import type { WebgpuTraits } from "../common/webgpu_op.ts";
import type { SampleArgs } from "./spec.ts";

/** Invocations of a workgroup, the bits of each round of the search, and loads at once. */
export interface SearchShape {
  invocations: number;
  digits: number[];
  loads: number;
  /** The loads are one vector of four logits. */
  vectors: boolean;
}

/** Workgroup memory that 1024 invocations need. */
const LARGE_BYTES = 24_576;

/** Whether a row of logits can be loaded four at a time. */
const inVectors = (vocab: number) => vocab % 4 === 0;

export function searchShape(
  vocab: number,
  { limits }: Pick<WebgpuTraits, "limits">,
): SearchShape {
  const few = { loads: 1, vectors: false };
  if (vocab <= 128) return { invocations: 32, digits: [6, 6, 5, 5, 5, 5], ...few };
  if (vocab <= 1024) return { invocations: 64, digits: [8, 8, 8, 8], ...few };
  const isLarge = limits.invocations >= 1024 && limits.workgroupBytes >= LARGE_BYTES;
  return {
    invocations: isLarge ? 1024 : 256,
    digits: [10, 10, 6, 6],
    loads: 4,
    vectors: inVectors(vocab),
  };
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
