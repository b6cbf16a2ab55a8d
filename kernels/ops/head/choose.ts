/** The sizes of the head's chunks on a GPU, and how a workgroup goes through a row of logits. */
import { storedAlignment } from "../common/webgpu_parts.ts";
import type { WebgpuTraits } from "../common/webgpu_op.ts";
import { VIEW_ALIGNMENT } from "../../tensor.ts";
import type { HeadArgs } from "./spec.ts";

/**
 * Max number of rows and of logits in a chunk. On a card a chunk has up to 64 MiB: enough
 * workgroups for each of its products, while writing and reading it takes a few percent of the
 * products' time.
 */
const MAX_CHUNK = {
  card: { rows: 4096, logits: 2 ** 24 },
  software: { rows: 256, logits: 2 ** 18 },
};

type Sizes = Pick<HeadArgs, "rows" | "vocab" | "d" | "r" | "weightType">;

/** Rows and tokens of a chunk. */
export interface ChunkSize {
  rows: number;
  width: number;
}

/**
 * Sizes of the chunks: multiples of the alignment of views (of the weight's views, for tokens), or
 * all.
 */
export function chunkSizes(
  { rows, vocab, d, r = 0, weightType }: Sizes,
  { limits: { bindingElements }, software }: Pick<WebgpuTraits, "limits" | "software">,
): ChunkSize {
  const max = software ? MAX_CHUNK.software : MAX_CHUNK.card;
  const unit = storedAlignment(weightType ?? "f32");
  const aligned = (n: number, unit: number) => Math.max(1, Math.floor(n / unit)) * unit;
  const narrowest = Math.min(vocab, unit);
  const fittingRows = aligned(bindingElements / Math.max(d, r, narrowest), VIEW_ALIGNMENT);
  const count = Math.min(rows, max.rows, fittingRows);
  const fitting = aligned(Math.min(max.logits, bindingElements) / Math.max(1, count), unit);
  const even = vocab / Math.ceil(vocab / fitting);
  return { rows: count, width: Math.min(vocab, Math.ceil(even / unit) * unit) };
}

/** Invocations that share a row of so many numbers. */
export const rowInvocations = (width: number): number => width <= 512 ? 64 : 256;
