/**
 * How much a generation holds at once: as many branches as wait, or as fit the memory that it may take. The
 * prompts' cache then holds about twice the prompts that the slots hold branches of, so that neither stragglers nor
 * gaps between runs of rows often keep a prompt waiting.
 */
import { promptAlignment } from "./cached_prompt.ts";
import {
  type GenerationSizes,
  planGenerationBytes,
  planLargestBuffer,
} from "./generation_memory.ts";
import type { ModelSizes } from "../network/weights/model_sizes.ts";
import type { GenerateRequest } from "./types.ts";

/** Rows of prompts that are run at once, enough for the products' full speed: on a CPU, and on a GPU. */
export const PREFILL_ROWS = 1024, PREFILL_ROWS_GPU = 16384;

/** Of a request, what its memory depends on. */
type RequestSize = Pick<GenerateRequest, "n"> & { promptIds: { readonly length: number } };

/** What a generation must keep to. */
export interface SlotLimits {
  /** Of all its buffers, and of each. */
  bytes: number;
  largestBuffer: number;
  /** Branches at once, if memory allows. */
  maxSlots: number;
  /** Rows of prompts that are run at once, unless one alone has more. */
  prefillRows: number;
}

/** The largest of the sizes that keep to the limits (at least one branch). */
export function planSlots(
  sizes: ModelSizes,
  requests: readonly RequestSize[],
  { maxNewTokens, adjusted }: Pick<GenerationSizes, "maxNewTokens" | "adjusted">,
  { bytes, largestBuffer, maxSlots, prefillRows }: SlotLimits,
): GenerationSizes {
  const align = promptAlignment(sizes.config);
  const sized = requests.filter(({ n }) => n > 0).map(({ n, promptIds: { length } }) => ({
    ...{ n, length },
    rows: Math.ceil(length / align) * align,
  }));
  // A pass has a row a token; only in the cache there are gaps.
  const longest = sized.reduce((maxSlots, { length }) => Math.max(maxSlots, length), prefillRows);
  const passRows = Math.min(longest, sized.reduce((sum, { length }) => sum + length, 0));
  const total = requests.reduce((sum, { n }) => sum + n, 0);
  const shape = (branches: number): GenerationSizes => ({
    ...{ promptRows: promptRowsFor(sized, branches), passRows, branches, maxNewTokens },
    adjusted: adjusted ?? false,
  });
  let low = 1, high = Math.max(1, Math.min(total, maxSlots));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2), tried = shape(middle);
    const fits = planGenerationBytes(sizes, tried) <= bytes &&
      planLargestBuffer(sizes, tried) <= largestBuffer;
    if (fits) low = middle;
    else high = middle - 1;
  }
  return shape(low);
}

/**
 * Rows for the prompts of any neighbours with `branches` branches, of groups that have lost half of theirs: branches
 * of a group end at different times, and the last one keeps the prompt. Three of the longest more: one to come, one
 * that others name (cached_prompt.ts), and gaps.
 */
function promptRowsFor(
  requests: readonly { n: number; rows: number }[],
  branches: number,
): number {
  let first = 0, held = 0, count = 0, maxSlots = 0, longest = 0, all = 0;
  for (const { n, rows } of requests) {
    all += rows;
    held += rows;
    count += Math.ceil(n / 2);
    for (;;) {
      const oldest = requests[first]!, left = count - Math.ceil(oldest.n / 2);
      if (left < branches) break;
      count = left;
      held -= oldest.rows;
      first++;
    }
    maxSlots = Math.max(maxSlots, held);
    longest = Math.max(longest, rows);
  }
  return Math.min(all, maxSlots + 3 * longest);
}

/**
 * What `planSlots` gives without limits of memory for `prompts` requests of `each` completions whose prompts have
 * `length` tokens. In one step: there may be millions.
 */
export function planEqualRequests(
  sizes: ModelSizes,
  { prompts, each, length }: { prompts: number; each: number; length: number },
  { maxSlots, prefillRows }: Pick<SlotLimits, "maxSlots" | "prefillRows">,
): Required<Pick<GenerationSizes, "promptRows" | "passRows" | "branches">> {
  const align = promptAlignment(sizes.config), rows = Math.ceil(length / align) * align;
  const branches = Math.max(1, Math.min(prompts * each, maxSlots));
  const held = Math.ceil(branches / Math.ceil(each / 2)) + 3;
  return {
    promptRows: rows * Math.min(prompts, held),
    passRows: Math.min(Math.max(prefillRows, length), prompts * length),
    branches,
  };
}
