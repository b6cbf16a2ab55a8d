/**
 * A prompt in the KV cache. It stays there as long as branches read it. Prompts with a common
 * prefix all read the prefix from one of them. A decode step then reads these rows in one place,
 * and the CPU's caches hold them once for all these prompts.
 */
import { PANEL } from "../../../kernels/ops/matmul/spec.ts";
import { VIEW_ALIGNMENT } from "../../../kernels/tensor.ts";
import { hasPart } from "../../architectures/mod.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import type { KvCacheDtype } from "../../network/types.ts";

export interface PromptRows extends RowRange {
  /** Another prompt whose first `rows` rows are the same. */
  sharedPrefix: { prompt: RowRange; rows: number } | null;
  /** The number of the state at its end, in models with delta rules. */
  state?: number | undefined;
}

/** Where the beginning of a later prompt is in the cache. */
export interface PromptSource extends RowRange {
  /** The number of the state at its end, in models with delta rules. */
  state?: number | undefined;
  /** Rows of the branch cache that go on with it. */
  answer?: RowRange | null;
}

export interface CachedPrompt extends PromptRows {
  /** End of the rows that were allocated for it. */
  allocatedEnd: number;
  /** Number of branches that read it and of prompts that reuse its rows. */
  references: number;
  sharedPrefix: { prompt: CachedPrompt; rows: number } | null;
}

/**
 * The earlier prompt whose cache rows a prompt reuses, and how many of them.
 * @param before the previous prompt. Normally the result is the prompt that this one reuses; if
 *   that covers less than half of the shared rows, it is the previous prompt itself
 * @param shared number of rows that both have in common
 */
export function sharedPrefixOf(
  before: CachedPrompt | null,
  shared: number,
): CachedPrompt["sharedPrefix"] {
  const inPrompt = Math.min(shared, before === null ? 0 : before.end - before.begin);
  const rows = Math.floor(inPrompt / PANEL) * PANEL;
  if (before === null || rows === 0) return null;
  const inherited = before.sharedPrefix, common = Math.min(inherited?.rows ?? 0, rows);
  const sharedPrefix = inherited !== null && 2 * common >= rows
    ? { prompt: inherited.prompt, rows: common }
    : { prompt: before, rows };
  sharedPrefix.prompt.references++;
  return sharedPrefix;
}

/** Removes one reference. Without references the rows are released. */
export function releasePrompt(prompt: CachedPrompt, cache: RowAllocator): void {
  if (--prompt.references > 0) return;
  cache.release({ begin: prompt.begin, end: prompt.allocatedEnd });
  const { state } = prompt;
  if (state !== undefined) cache.states?.release({ begin: state, end: state + 1 });
  if (prompt.sharedPrefix !== null) releasePrompt(prompt.sharedPrefix.prompt, cache);
}

/**
 * Prompts begin at multiples of this number of rows in the cache, so that tensor views and panels
 * of packed keys can begin there.
 */
export function promptAlignment(config: ModelConfig, kvCacheDtype?: KvCacheDtype): number {
  const { numKvHeads, headDim, hiddenSize, fullHeadDim = headDim } = config;
  const widths = [headDim, fullHeadDim].map((width) => numKvHeads * width);
  if (hasPart(config, "convIn")) widths.push(hiddenSize);
  // Words of two halves each.
  const aligned = kvCacheDtype === "bfloat16" ? 2 * VIEW_ALIGNMENT : VIEW_ALIGNMENT;
  let rows = aligned;
  const fits = (n: number) => widths.every((width) => (n * width) % aligned === 0);
  while (rows % 2 === 0 && fits(rows / 2)) rows /= 2;
  return Math.max(rows, PANEL);
}

// Runs of neighbouring rows of a KV cache. Runs are released in any order. A run comes from the
// first hole that is long enough. Neighbouring holes are joined, so an empty cache is one hole
// again and has room for any run that can fit. Left out: moving rows to close gaps.

/** Rows [begin, end). */
export interface RowRange {
  begin: number;
  end: number;
}

export class RowAllocator {
  /** Ascending; none is empty, and no two touch. */
  #holes: RowRange[];

  /**
   * @param align runs begin at multiples of it
   * @param states the states that prompts have beside their rows; null = they have none
   */
  constructor(
    readonly rows: number,
    readonly align: number,
    readonly states: RowAllocator | null = null,
  ) {
    this.#holes = rows > 0 ? [{ begin: 0, end: rows }] : [];
  }

  get freeRows(): number {
    return this.#holes.reduce((sum, { begin, end }) => sum + end - begin, 0);
  }

  /**
   * Allocates a run of `wanted` rows. If no hole is that long, the run takes what fits in the
   * longest hole; the result is null when that is less than `minRows`.
   */
  allocate(minRows: number, wanted: number): RowRange | null {
    let best = -1, longest = minRows - 1;
    for (const [i, hole] of this.#holes.entries()) {
      const room = hole.end - this.#aligned(hole);
      if (room <= longest) continue;
      best = i;
      longest = room;
      if (room >= wanted) break;
    }
    if (best < 0) return null;
    const hole = this.#holes[best]!, begin = this.#aligned(hole);
    const run = { begin, end: begin + Math.min(longest, wanted) };
    const rest = [{ begin: hole.begin, end: begin }, { begin: run.end, end: hole.end }];
    this.#holes.splice(best, 1, ...rest.filter(({ begin, end }) => begin < end));
    return run;
  }

  release({ begin, end }: RowRange): void {
    if (begin >= end) return;
    const holes = this.#holes;
    let at = holes.findIndex((hole) => hole.begin >= begin);
    if (at < 0) at = holes.length;
    const joinsBefore = at > 0 && holes[at - 1]!.end === begin;
    const joinsAfter = at < holes.length && holes[at]!.begin === end;
    const from = joinsBefore ? at - 1 : at, count = Number(joinsBefore) + Number(joinsAfter);
    holes.splice(from, count, {
      begin: joinsBefore ? holes[at - 1]!.begin : begin,
      end: joinsAfter ? holes[at]!.end : end,
    });
  }

  #aligned({ begin }: RowRange): number {
    return Math.ceil(begin / this.align) * this.align;
  }
}
