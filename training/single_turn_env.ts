/**
 * An environment of single-turn problems: a data set, and rewards for the answers. The same object
 * trains a model (`train`) and evaluates one. Left out: several turns, tools.
 */
import { UsageError } from "../core/errors.ts";
import { mean } from "../core/statistics.ts";
import { publishedFormat } from "../data/published_formats.ts";
import { FILE_SOURCE } from "../data/score_completion.ts";
import { DEFAULT_PROMPT_SETTINGS } from "../bench/evaluation/prompt_settings.ts";
import { promptText } from "../bench/evaluation/prompt_text.ts";
import type { LoadedModel } from "../models/load_model.ts";
import { generate, type TextOptions } from "../models/generate_text.ts";
import {
  type BuiltInReward,
  getReward,
  registerReward,
  unregisterReward,
} from "../rewards/registry.ts";
import { rewardSample } from "./rollout/score.ts";
import { createRubric, type RewardError } from "../rewards/rubric.ts";
import type { Reward, RewardSample, SampleReward } from "../rewards/types.ts";
import { hasTask } from "../tasks/registry.ts";
import type { Entry } from "../tasks/types.ts";

/** A reward, `({ completion, answer, … }) => number`, whose name is that of the function. */
export type RewardFunction = SampleReward["compute"];

/** The name of a registered reward, a function, or a reward object; alone or with a weight. */
export type EnvReward =
  | string
  | RewardFunction
  | Reward
  | { reward: string | RewardFunction | Reward; weight: number };

/** A problem; rewards get `metadata` as `info`. */
export interface EnvEntry extends Pick<Entry, "messages" | "templateVariables"> {
  /** The text of the problem. */
  question: string;
  /** The expected answer; null or absent where the rewards need none. */
  answer?: string | null;
  /** Anything that rewards read; default: empty. */
  metadata?: Record<string, unknown>;
}

/** Options of an environment. */
export interface SingleTurnEnvOptions {
  /** Name of the data set; default "env". */
  name?: string;
  /** Entries of a task's data set can be used as they are. */
  dataset: Iterable<EnvEntry>;
  /** What judges completions, summed with the weights. */
  rewards: readonly EnvReward[];
  /** The name of one of rgx's system prompts, or a text; default: none. */
  systemPrompt?: string | null;
  /** Put rgx's instruction about the answer format before the question; default false. */
  addInstructions?: boolean;
}

/** The result of an evaluation, with every completion. */
export interface EnvEvaluation {
  /** Each completion with its problem, in the order of the entries. */
  completions: {
    question: string;
    answer: string | null;
    completion: string;
    /** By name, unweighted; null = does not apply. */
    rewards: Record<string, number | null>;
    /** Weighted sum of the rewards. */
    reward: number;
  }[];
  /** Mean of each reward, by its name. */
  rewards: Record<string, number>;
  /** Mean of the weighted sums. */
  reward: number;
  /** The failures of rewards; a failed reward counts 0. */
  errors: RewardError[];
}

/** Sampling options of an evaluation; the default temperature is 0. */
export interface EnvEvaluationOptions extends TextOptions {
  /** Use only the first `numExamples` entries. */
  numExamples?: number;
}

/** Problems and the rewards for their answers. */
export class SingleTurnEnv {
  /** Name of the environment, in files and messages. */
  readonly name: string;
  /** The problems, with what was left out filled in: no answer, empty metadata. */
  readonly dataset: readonly Entry[];
  /** Text or name of the system message; null = none. */
  readonly systemPrompt: string | null;
  /** Whether rgx's instruction about the answer's form goes before each question. */
  readonly addInstructions: boolean;
  readonly #rewards: readonly { reward: BuiltInReward; weight: number; isUnregistered: boolean }[];
  #users = 0;

  /**
   * Takes problems and rewards together.
   * @throws UsageError when there are no entries or no rewards, or for an unknown name
   */
  constructor(options: SingleTurnEnvOptions) {
    const { name = "env", dataset, rewards, systemPrompt = null, addInstructions = false } =
      options;
    this.name = name;
    this.dataset = Array.from(dataset, (entry, i) => entryOf(entry, i, name));
    this.systemPrompt = systemPrompt;
    this.addInstructions = addInstructions;
    this.#rewards = rewards.map(rewardOf);
    if (this.dataset.length === 0) throw new UsageError(`${name}: the data set has no entries`);
    if (rewards.length === 0) throw new UsageError(`${name}: at least one reward is needed`);
  }

  /** As in a rubric's configuration. */
  get rewards(): readonly { name: string; weight: number }[] {
    return this.#rewards.map(({ reward, weight }) => ({ name: reward.name, weight }));
  }

  /** Does work while the rewards that are functions or objects are registered under their names. */
  async withRewards<T>(work: () => Promise<T>): Promise<T> {
    const unregistered = this.#rewards.flatMap(({ reward, isUnregistered }) =>
      isUnregistered ? [reward] : []
    );
    try {
      // Several callers may use the environment at once: parallel trainings, an evaluation during
      // one.
      if (this.#users++ === 0) unregistered.forEach((reward) => registerReward(reward));
      return await work();
    } finally {
      if (--this.#users === 0) unregistered.forEach(unregisterReward);
    }
  }

  /** Generates completions, greedily by default, and scores them. */
  evaluate(loaded: LoadedModel, options: EnvEvaluationOptions = {}): Promise<EnvEvaluation> {
    const { numExamples = this.dataset.length, n = 1, ...sampling } = options;
    const entries = this.dataset.slice(0, numExamples);
    return this.withRewards(async () => {
      const prompts = entries.map((entry) => this.prompt(entry, loaded));
      const answers = await generate(loaded, prompts, { temperature: 0, ...sampling, n });
      const samples = entries.flatMap((entry, i) =>
        answers[i]!.map(({ text, ids, finishReason }) =>
          rewardSample(
            { entry, prompt: { text: prompts[i]! } },
            { text, ids, truncated: finishReason === "length" },
            { step: 0, maxCompletionLength: options.maxNewTokens ?? 256 },
          )
        )
      );
      return await this.#score(samples);
    });
  }

  /** The prompt of an entry. */
  prompt(entry: Entry, { tokenizer }: Pick<LoadedModel, "tokenizer">): string {
    const settings = {
      ...DEFAULT_PROMPT_SETTINGS,
      system_prompt: this.systemPrompt,
      add_instructions: this.addInstructions,
    };
    return promptText(
      entry,
      [],
      settings,
      (messages) => tokenizer.applyChatTemplate(messages, entry.templateVariables),
    );
  }

  async #score(samples: readonly RewardSample[]): Promise<EnvEvaluation> {
    const rubric = createRubric(this.rewards.map((section) => ({ ...section, params: {} })));
    const { values, errors } = await rubric.score(samples);
    await rubric.close();
    const completions = samples.map(({ entry, answer, completion }, i) => ({
      question: (entry as Entry).question,
      answer,
      completion,
      rewards: Object.fromEntries(rubric.names.map((name, k) => [name, values[i]![k]!])),
      reward: values[i]!.reduce<number>((sum, v, k) => sum + (v ?? 0) * rubric.weights[k]!, 0),
    }));
    const meanOf = (name: string) =>
      mean(completions.flatMap(({ rewards }) => rewards[name] ?? []));
    return {
      completions,
      rewards: Object.fromEntries(rubric.names.map((name) => [name, meanOf(name)])),
      reward: mean(completions.map(({ reward }) => reward)),
      errors,
    };
  }
}

/**
 * An entry with defaults. Entries of tasks and published data sets keep the name of their source,
 * which decides how they are scored.
 */
function entryOf(entry: EnvEntry, index: number, name: string): Entry {
  // Rows that were read from a file may have any shape, whatever the types say.
  if (typeof entry?.question !== "string") {
    const found = Object.keys(entry ?? {}).join(", ") || "none";
    throw new UsageError(
      `${name}: entry ${index} has no question that is text (fields: ${found})`,
      {
        advice: "An entry is { question, answer, metadata }; the last two may be left out.",
      },
    );
  }
  const { question, answer = null, metadata = {}, messages, templateVariables } = entry;
  if (typeof answer !== "string" && answer !== null) {
    throw new UsageError(
      `${name}: entry ${index}: the answer is ${JSON.stringify(answer)}, expected text or null`,
    );
  }
  const source = metadata["source_dataset"];
  const known = typeof source === "string" && (hasTask(source) || publishedFormat(source) !== null);
  return {
    question,
    answer,
    metadata: {
      source_index: index,
      difficulty: {},
      ...metadata,
      source_dataset: known ? source : FILE_SOURCE,
    },
    ...(messages !== undefined && { messages }),
    ...(templateVariables !== undefined && { templateVariables }),
  };
}

function rewardOf(
  given: EnvReward,
): { reward: BuiltInReward; weight: number; isUnregistered: boolean } {
  const { reward, weight } = typeof given === "object" && "reward" in given
    ? given
    : { reward: given, weight: 1 };
  if (typeof reward === "string") {
    return { reward: getReward(reward), weight, isUnregistered: false };
  }
  if (typeof reward !== "function") return { reward, weight, isUnregistered: true };
  if (reward.name === "") {
    throw new UsageError(
      "a reward that is a function needs a name: function politeness({ … }) { … }",
    );
  }
  const described = { name: reward.name, description: `the function ${reward.name}`, params: {} };
  return { reward: { ...described, compute: reward }, weight, isUnregistered: true };
}
