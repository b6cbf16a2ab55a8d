/**
 * Prompts that stay in the KV cache after their branches have ended, so that a later prompt with
 * the same beginning need not compute it again; with the answer that a dialogue goes on with. They
 * give their rows back when a new prompt needs them, the longest unused first.
 */
import type { RopeScaling } from "../../architectures/rope_scaling.ts";
import {
  type CachedPrompt,
  type PromptSource,
  releasePrompt,
  type RowAllocator,
  type RowRange,
} from "./cached_prompt.ts";
import { sharedPrefixLength } from "./prefill_batch.ts";

/** @template Owner the network that has computed the keys; others have other keys */
export interface KeptPrompt<Owner> {
  owner: Owner;
  /** Of the prompt and the answer (`cacheKeys` of generation_job.ts). */
  keys: readonly number[];
  prompt: CachedPrompt;
  /** Rows of the branch cache, and the number of the state at its end; null = no answer. */
  answer: { rows: RowRange; state: number | undefined } | null;
}

/** A kept prompt whose first `shared` rows another one can copy. */
export interface SharedPrompt<Owner> {
  kept: KeptPrompt<Owner>;
  shared: number;
}

export function sourceOf<Owner>({ prompt, answer }: KeptPrompt<Owner>): PromptSource {
  const { begin, end } = prompt, { rows = null, state = prompt.state } = answer ?? {};
  return { begin, end, state, answer: rows };
}

export class PromptCache<Owner> {
  /** The longest unused first. */
  #entries: KeptPrompt<Owner>[] = [];

  /**
   * @param rows of prompts, and of answers
   * @param limit maximum number of prompts that are kept
   */
  constructor(
    private readonly rows: { prompts: RowAllocator; answers: RowAllocator },
    private readonly limit: number,
  ) {}

  get size(): number {
    return this.#entries.length;
  }

  /**
   * The kept prompt with the longest beginning in common with `keys`; null when none has any.
   * @param whole whether only prompts count that `keys` goes on with, since they have a state
   */
  best(
    owner: Owner,
    keys: readonly number[],
    scaling: RopeScaling | null,
    whole = false,
  ): SharedPrompt<Owner> | null {
    let best: SharedPrompt<Owner> | null = null;
    for (const kept of this.#entries) {
      if (kept.owner !== owner) continue;
      const shared = sharedPrefixLength(kept.keys, keys, scaling);
      if (whole && shared < kept.keys.length) continue;
      if (shared > 0 && shared >= (best?.shared ?? 0)) best = { kept, shared };
    }
    return best;
  }

  /** Keeps a prompt in place of those that it begins with. */
  keep(kept: KeptPrompt<Owner>): void {
    const { owner, keys } = kept;
    kept.prompt.references++;
    this.#releaseWhere((entry) =>
      entry.owner === owner && entry.keys.length <= keys.length &&
      entry.keys.every((key, i) => key === keys[i])
    );
    this.#entries.push(kept);
    while (this.#entries.length > this.limit) this.releaseOldest();
  }

  /** Marks a prompt as just used. */
  touch(kept: KeptPrompt<Owner>): void {
    const at = this.#entries.indexOf(kept);
    if (at >= 0) this.#entries.push(...this.#entries.splice(at, 1));
  }

  /** @returns false when none is kept; with `withAnswer`, none that has one */
  releaseOldest(withAnswer = false): boolean {
    const oldest = this.#entries.find(({ answer }) => answer !== null || !withAnswer);
    if (oldest !== undefined) this.#releaseWhere((entry) => entry === oldest);
    return oldest !== undefined;
  }

  releaseOf(owner: Owner): void {
    this.#releaseWhere((entry) => entry.owner === owner);
  }

  releaseAll(): void {
    this.#releaseWhere(() => true);
  }

  #releaseWhere(isOut: (entry: KeptPrompt<Owner>) => boolean): void {
    const out = this.#entries.filter(isOut);
    if (out.length === 0) return;
    this.#entries = this.#entries.filter((entry) => !out.includes(entry));
    for (const entry of out) this.#release(entry);
  }

  #release({ prompt, answer }: KeptPrompt<Owner>): void {
    const { prompts, answers } = this.rows;
    releasePrompt(prompt, prompts);
    if (answer === null) return;
    answers.release(answer.rows);
    const { state } = answer;
    if (state !== undefined) prompts.states?.release({ begin: state, end: state + 1 });
  }
}
