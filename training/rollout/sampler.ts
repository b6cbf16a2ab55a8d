/**
 * What samples the completions of a run: the trainer's own process (here), or servers
 * (`servers/remote_sampler.ts`).
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import { playDialogues } from "../../bench/dialogue/play_dialogues.ts";
import { rolloutOptions } from "../../bench/evaluation/sampling.ts";
import type {
  Ask,
  Completion,
  DialogueRoom,
  GenerateOptions,
  GenerateRequest,
} from "../../models/generation/types.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { ActivationStore } from "../../models/network/activation_store.ts";
import type { RolloutGroup, RolloutOptions, SampledRow } from "./rollout.ts";
import type { Entry } from "../../tasks/types.ts";

export interface Sampled {
  completions: readonly (readonly Completion[])[];
  /**
   * Whether another engine or an older policy sampled any of them, so that log-probabilities differ
   * from those of the policy by more than rounding.
   */
  other: boolean;
}

/** What a sampler is asked for the prompts of a training batch. */
export function groupRequests(
  groups: readonly RolloutGroup[],
  n: number,
  sampling?: GenerateRequest["sampling"],
): GenerateRequest[] {
  const how = sampling === undefined ? {} : { sampling };
  return groups.map(({ prompt, promptId }) => ({ promptId, promptIds: prompt.ids, n, ...how }));
}

export interface SampledRows {
  rows: readonly SampledRow[];
  /** The likeliest completion of each group's prompt, which ReMax compares the others with. */
  greedy: readonly SampledRow[];
  /** @see Sampled.other */
  other: boolean;
}

/** @param step optimizer steps that the policy has done @throws Interrupted after a stop request */
export async function sampleRows(
  groups: readonly RolloutGroup[],
  step: number,
  sampler: Sampler,
  options: RolloutOptions,
): Promise<SampledRows> {
  const sampled = await sampleBranches(groups, step, sampler, options, false);
  const hasGreedy = options.training.advantage_estimator === "remax";
  const greedy = hasGreedy ? await sampleBranches(groups, step, sampler, options, true) : null;
  return { ...sampled, greedy: greedy?.rows ?? [] };
}

async function sampleBranches(
  groups: readonly RolloutGroup[],
  step: number,
  sampler: Sampler,
  { prompts, ranks, clock, training, dialogues, shouldStop }: RolloutOptions,
  greedy: boolean,
): Promise<{ rows: SampledRow[]; other: boolean }> {
  type Piece = { rows: SampledRow[]; other: boolean };
  const share = async (begin: number, end: number): Promise<Piece[]> => {
    if (begin === end) return [];
    if (dialogues !== null) {
      const starts = groups.slice(begin, end).map(({ entry, promptId }) => ({
        entry,
        promptId,
        branches: greedy ? 1 : training.num_generations,
      }));
      let other = false;
      const played = await playDialogues(starts, {
        ...dialogues,
        prompts,
        maxTokens: training.max_completion_length,
        seed: training.seed,
        scene: greedy ? `${step}, greedy` : `${step}`,
        async generate(room, play) {
          const talk = await sampler.converse(room, { step, greedy }, shouldStop, play);
          other = talk.other;
          return talk.played;
        },
      });
      return played.map((branches, i) => ({
        other,
        rows: branches.map(({ messages, reward, about, ...dialogue }, branch) => ({
          ...dialogue,
          group: begin + i,
          branch,
          dialogue: { messages, reward, about },
        })),
      }));
    }
    const own = groups.slice(begin, end);
    const requests = greedy
      ? groupRequests(own, 1, { temperature: 0 })
      : groupRequests(own, training.num_generations);
    const { completions, other } = await sampler.sample(requests, step, shouldStop);
    return completions.map((branches, i) => ({
      other,
      rows: branches.map(({ ids, logprobs, finishReason }, branch) => ({
        group: begin + i,
        branch,
        segments: [{ from: "model" as const, ids, logprobs }],
        text: prompts.text(ids),
        truncated: prompts.truncated(ids, finishReason === "stop"),
      })),
    }));
  };
  const sampled = await clock.time("generate", () => ranks.share(groups.length, share));
  return {
    rows: sampled.flatMap(({ rows }) => rows),
    other: sampled.some(({ other }) => other),
  };
}

export interface ComingBatch {
  /** Number of its first prompt in the run. */
  firstPrompt: number;
  requests: () => readonly GenerateRequest[];
}

export interface ConverseOptions {
  step: number;
  greedy: boolean;
}

export interface Conversation<T> extends Pick<Sampled, "other"> {
  played: T;
}

export interface Sampler {
  /** @throws Interrupted after a stop request, or when no server answers for too long */
  open?(shouldStop: () => boolean): Promise<void>;
  /** How many steps old the policy may be that samples (`generation.max_staleness`). */
  readonly maxStaleness: number;
  /** What the last batch's sampling has kept for the training pass; null = nothing is kept. */
  readonly kept: ActivationStore | null;
  /** Samples batches that have not begun. @param step optimizer steps that the policy has done */
  begin?(step: number, batches: readonly ComingBatch[]): Promise<void>;
  /** @param step as of `begin` @throws Interrupted after a stop request */
  sample(
    requests: readonly GenerateRequest[],
    step: number,
    shouldStop: () => boolean,
  ): Promise<Sampled>;
  /** Samples while `play` asks. @throws Interrupted after a stop request */
  converse<T>(
    room: DialogueRoom,
    options: ConverseOptions,
    shouldStop: () => boolean,
    play: (ask: Ask) => Promise<T>,
  ): Promise<Conversation<T>>;
  /**
   * The older policies that sample batches which have begun: the files of their weights, by the
   * optimizer steps that they have done.
   * @param step those of the present policy
   */
  stalePolicies?(step: number): ReadonlyMap<number, Uint8Array>;
  close(): Promise<void>;
}

/** Samples in this process, with the model that is trained. */
export class OwnSampler implements Sampler {
  readonly maxStaleness = 0;
  readonly kept: ActivationStore | null;

  constructor(
    private readonly model: CausalLM,
    private readonly training: RunConfig["training"],
    private readonly prompts: PromptEncoder,
    private readonly generation: Pick<RunConfig["generation"], "activations" | "kv_cache_dtype">,
  ) {
    this.kept = training.use_rollout_activations ? model.activationStore() : null;
  }

  async sample(
    requests: readonly GenerateRequest[],
    _step: number,
    shouldStop: () => boolean,
  ): Promise<Sampled> {
    const options = this.#options(shouldStop), { kept } = this;
    if (kept !== null) {
      kept.clear(requests.reduce(
        (rows, { promptIds, n }) => rows + promptIds.length + n * options.maxNewTokens,
        0,
      ));
    }
    const completions = await this.model.generate(requests, {
      ...options,
      keep: kept ?? undefined,
    });
    return { completions, other: this.#other };
  }

  async converse<T>(
    room: DialogueRoom,
    { greedy }: ConverseOptions,
    shouldStop: () => boolean,
    play: (ask: Ask) => Promise<T>,
  ): Promise<Conversation<T>> {
    const options = this.#options(shouldStop);
    const how = greedy ? { ...options, temperature: 0 } : options;
    return { played: await this.model.generateDialogues(room, how, play), other: this.#other };
  }

  #options(shouldStop: () => boolean): GenerateOptions {
    const { activations, kv_cache_dtype: kvCacheDtype } = this.generation;
    const options = rolloutOptions(this.training, this.prompts, shouldStop);
    return { ...options, activations, kvCacheDtype };
  }

  /** Rounded activations, keys and values sample from a policy that is a little different. */
  get #other(): boolean {
    const { activations, kv_cache_dtype } = this.generation;
    return activations !== "float32" || kv_cache_dtype !== "float32";
  }

  close(): Promise<void> {
    this.kept?.dispose();
    return Promise.resolve();
  }
}

/** The prompts of a run as groups, by their numbers in the run: each step takes the next ones. */
export class GroupSource {
  /** @param entryAt the problem of prompt n of the run */
  constructor(
    private readonly options: RolloutOptions,
    private readonly entryAt: (n: number) => Entry,
    private readonly totalSteps: number,
    private readonly teacher: RunConfig["teacher"],
  ) {}

  at(first: number, count: number): RolloutGroup[] {
    return Array.from({ length: count }, (_, i) => {
      const entry = this.entryAt(first + i), { options: { prompts }, teacher } = this;
      const hinted = teacher && prompts.teacherPrompt(entry, teacher.teacher_prompt_template);
      return {
        entry,
        prompt: prompts.prompt(entry),
        ...(hinted === null ? {} : { teacherPrompt: hinted }),
        promptId: first + i,
      };
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
