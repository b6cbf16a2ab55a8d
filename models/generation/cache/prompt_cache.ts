/**
 * Prompts that stay in the KV cache after their branches have ended, so that a later prompt with
 * the same beginning need not compute it again. They give their rows back when a new prompt needs
 * them, the longest unused first. Completions are not kept: a decode step adds its sums in another
 * order than a prefill, so their keys would have other bits.
 */
import type { RopeScaling } from "../../architectures/rope_scaling.ts";
import { type CachedPrompt, releasePrompt, type RowAllocator } from "./cached_prompt.ts";
import { sharedPrefixLength } from "./prefill_batch.ts";

/** @template Owner the network that has computed the keys; others have other keys */
interface Entry<Owner> {
  owner: Owner;
  ids: readonly number[];
  prompt: CachedPrompt;
}

/** A prompt whose first `shared` rows another one can copy. */
export interface SharedPrompt {
  prompt: CachedPrompt;
  shared: number;
}

export class PromptCache<Owner> {
  /** The longest unused first. */
  #entries: Entry<Owner>[] = [];

  /** @param limit maximum number of prompts that are kept */
  constructor(private readonly rows: RowAllocator, private readonly limit: number) {}

  get size(): number {
    return this.#entries.length;
  }

  /**
   * The kept prompt with the longest beginning in common with `ids`; null when none has any.
   * @param whole whether only prompts count that `ids` goes on with, since they have a state
   */
  best(
    owner: Owner,
    ids: readonly number[],
    scaling: RopeScaling | null,
    whole = false,
  ): SharedPrompt | null {
    let best: SharedPrompt | null = null;
    for (const { owner: other, ids: before, prompt } of this.#entries) {
      if (other !== owner) continue;
      const shared = sharedPrefixLength(before, ids, scaling);
      if (whole && shared < before.length) continue;
      if (shared > 0 && shared >= (best?.shared ?? 0)) best = { prompt, shared };
    }
    return best;
  }

  /** Keeps a prompt in place of those that it begins with. */
  keep(owner: Owner, ids: readonly number[], prompt: CachedPrompt): void {
    prompt.references++;
    const isCovered = (entry: Entry<Owner>) =>
      entry.owner === owner && entry.ids.length <= ids.length &&
      entry.ids.every((id, i) => id === ids[i]);
    this.#releaseWhere(isCovered);
    this.#entries.push({ owner, ids, prompt });
    while (this.#entries.length > this.limit) this.releaseOldest();
  }

  /** Marks a prompt as just used. */
  touch(prompt: CachedPrompt): void {
    const at = this.#entries.findIndex((entry) => entry.prompt === prompt);
    if (at >= 0) this.#entries.push(...this.#entries.splice(at, 1));
  }

  /** @returns false when none is kept */
  releaseOldest(): boolean {
    const oldest = this.#entries.shift();
    if (oldest !== undefined) releasePrompt(oldest.prompt, this.rows);
    return oldest !== undefined;
  }

  releaseOf(owner: Owner): void {
    this.#releaseWhere((entry) => entry.owner === owner);
  }

  releaseAll(): void {
    this.#releaseWhere(() => true);
  }

  #releaseWhere(isOut: (entry: Entry<Owner>) => boolean): void {
    const out = this.#entries.filter(isOut);
    if (out.length === 0) return;
    this.#entries = this.#entries.filter((entry) => !out.includes(entry));
    for (const { prompt } of out) releasePrompt(prompt, this.rows);
  }
}
