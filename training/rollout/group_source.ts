/** The prompts of a run as groups, by their numbers in the run: each step takes the next ones. */
import type { Entry } from "../../tasks/types.ts";
import type { RolloutGroup, RolloutOptions } from "./rollout.ts";
import { type ComingBatch, groupRequests } from "./sampler.ts";

export class GroupSource {
  /** @param entryAt the problem of prompt n of the run */
  constructor(
    private readonly options: RolloutOptions,
    private readonly entryAt: (n: number) => Entry,
    private readonly totalSteps: number,
  ) {}

  /** The prompts from number `first` on. */
  at(first: number, count: number): RolloutGroup[] {
    return Array.from({ length: count }, (_, i) => {
      const entry = this.entryAt(first + i);
      return { entry, prompt: this.options.prompts.prompt(entry), promptId: first + i };
    });
  }

  /** The batches that may be sampled after `step` steps, by a policy up to `stale` steps old. */
  coming(first: number, step: number, stale: number): ComingBatch[] {
    const { training: { num_generations: n }, perBatch } = this.options;
    if (stale === 0) return [];
    const ahead = Math.min(stale, this.totalSteps - 1 - step);
    return Array.from({ length: ahead + 1 }, (_, i) => {
      const firstPrompt = first + i * perBatch;
      const requests = () => groupRequests(this.at(firstPrompt, perBatch), n);
      return { firstPrompt, requests };
    });
  }
}
