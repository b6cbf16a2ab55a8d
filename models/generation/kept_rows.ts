/**
 * Which rows of an activation store a generation writes. A prefix that prompts share has one copy.
 */
import type { ActivationStore } from "../network/activation_store.ts";
import type { SaveLayer } from "../network/forward_pass.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { Workspace } from "../network/workspace.ts";
import type { PrefillBatch, PrefillPrompt } from "./cache/prefill_batch.ts";
import type { PrefillGroups } from "./cache/prefill_groups.ts";
import type { RowRange } from "./cache/row_allocator.ts";

export class KeptRows {
  /** Store row of each row of the prompt cache. */
  readonly #ofCache: Uint32Array;
  /** Store row of the first row of the last prefill. */
  #first = 0;

  constructor(
    readonly store: ActivationStore,
    private readonly workspace: Workspace,
    promptRows: number,
  ) {
    this.#ofCache = new Uint32Array(promptRows);
  }

  /** Takes store rows for a prefill of `rows` rows. */
  saver(rows: number): SaveLayer {
    const first = this.#first = this.store.reserve(rows);
    const index = Uint32Array.from({ length: rows }, (_, row) => first + row);
    return this.store.saver(this.workspace.upload("kept.rows", index), rows);
  }

  /** Notes where the prompts of the last prefill are, some of which share a prefix. */
  addBatch({ cacheRow, copies }: PrefillBatch, prompts: readonly PrefillPrompt[]): void {
    const { store } = this, of = this.#ofCache;
    cacheRow.forEach((cached, row) => of[cached] = this.#first + row);
    copies.to.forEach((to, i) => of[to] = of[copies.from[i]!]!);
    for (const { promptId, cached: { begin, end } } of prompts) {
      store.addPrompt(promptId, this.#ofCache.slice(begin, end));
    }
  }

  /** The same for prompts that were packed as branches of the prefix that they share. */
  addGroups({ rowOfToken }: PrefillGroups, prompts: readonly PrefillPrompt[]): void {
    let token = 0;
    for (const { promptId, ids } of prompts) {
      const rows = ids.map(() => {
        const row = rowOfToken?.[token] ?? token;
        token++;
        return this.#first + row;
      });
      this.store.addPrompt(promptId, Uint32Array.from(rows));
    }
  }

  /** Keeps the last layer's output of the rows `row` of the last prefill. */
  saveOutput(output: Tensor, row: Uint32Array): void {
    const index = this.workspace.upload("kept.rows", row.map((row) => this.#first + row));
    this.store.saveOutput(output, index, row.length);
  }

  /** Rows for a branch. The last one takes tokens that are fed after its end. */
  addBranch(promptId: number, branch: number, limit: number): RowRange {
    const begin = this.store.addBranch(promptId, branch, limit);
    return { begin, end: begin + limit };
  }
}
