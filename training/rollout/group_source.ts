/** The prompts of a run as groups, by their numbers in the run: each step takes the next ones. */
import type { PromptEncoder } from "../../evaluation/prompt_encoder.ts";
import type { Entry } from "../../tasks/types.ts";
import type { RolloutGroup } from "./rollout.ts";
import { type ComingBatch, groupRequests } from "./sampler.ts";

export interface GroupSourceOptions {
  /** The problem of prompt n of the run. */
  entryAt: (n: number) => Entry;
  prompts: PromptEncoder;
  /** Completions of each prompt. */
  generations: number;
  /** Prompts of a full batch. */
  perBatch: number;
  totalSteps: number;
}

export class GroupSource {
  constructor(private readonly options: GroupSourceOptions) {}

  /** The prompts from number `first` on. */
  at(first: number, count: number): RolloutGroup[] {
    const { entryAt, prompts } = this.options;
    return Array.from({ length: count }, (_, i) => {
      const entry = entryAt(first + i);
      return { entry, prompt: prompts.prompt(entry), promptId: first + i };
    });
  }

  /** The batches that may be sampled after `step` steps, by a policy up to `stale` steps old. */
  coming(first: number, step: number, stale: number): ComingBatch[] {
    const { generations, perBatch, totalSteps } = this.options;
    if (stale === 0) return [];
    const ahead = Math.min(stale, totalSteps - 1 - step);
    return Array.from({ length: ahead + 1 }, (_, i) => {
      const firstPrompt = first + i * perBatch;
      const requests = () => groupRequests(this.at(firstPrompt, perBatch), generations);
      return { firstPrompt, requests };
    });
  }
}
