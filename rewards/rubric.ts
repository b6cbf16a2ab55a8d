/**
 * Several rewards with weights. Values are handed out unweighted, as they are logged; whoever computes
 * advantages applies the weights. A reward that throws, takes too long or returns something that is no
 * finite number counts 0 for that completion and is reported.
 */
import { RgxError, UsageError } from "../core/errors.ts";
import { getReward, resolveRewardParams } from "./registry.ts";
import type { Reward, RewardInput, RewardValue } from "./types.ts";

export interface RubricSection {
  name: string;
  weight: number;
  params: Readonly<Record<string, unknown>>;
}

export interface RewardError {
  /** The reward's name. */
  name: string;
  message: string;
  completion: string;
}

export interface RubricScores {
  /** [completions, rewards], unweighted; null = not applicable. */
  values: RewardValue[][];
  errors: RewardError[];
}

export interface Rubric {
  readonly names: readonly string[];
  readonly weights: readonly number[];
  /** All rewards of all completions, in their order. */
  score(inputs: readonly RewardInput[]): Promise<RubricScores>;
}

export interface RubricOptions {
  /** Seconds after which a reward that answers later (a promise) counts 0. */
  rewardTimeout?: number;
}

/** Throws UsageError for no rewards, unknown ones, one named twice, bad weights or parameters. */
export function createRubric(
  sections: readonly RubricSection[],
  { rewardTimeout = 5 }: RubricOptions = {},
): Rubric {
  if (sections.length === 0) {
    throw new UsageError("rewards: at least one reward is needed, found none");
  }
  const rewards = sections.map(({ name, weight, params }) => {
    if (!Number.isFinite(weight)) {
      throw new UsageError(`reward ${name}: weight: must be a finite number, found ${weight}`);
    }
    return { reward: getReward(name), weight, params: resolveRewardParams(name, params) };
  });
  const names = rewards.map(({ reward }) => reward.name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new UsageError(`rewards: ${twice} is listed twice`);
  return {
    names,
    weights: rewards.map(({ weight }) => weight),
    async score(inputs) {
      const errors: RewardError[] = [];
      const one = async (reward: Reward, params: Record<string, unknown>, input: RewardInput) => {
        try {
          return await compute(reward, params, input, rewardTimeout);
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          errors.push({ name: reward.name, message, completion: input.completion });
          return 0;
        }
      };
      const values = await Promise.all(
        inputs.map((input) =>
          Promise.all(rewards.map(({ reward, params }) => one(reward, params, input)))
        ),
      );
      return { values, errors };
    },
  };
}

async function compute(
  reward: Reward,
  params: Record<string, unknown>,
  input: RewardInput,
  timeout: number,
): Promise<RewardValue> {
  const result = reward.compute(input, params);
  const value = result instanceof Promise ? await withTimeout(result, timeout) : result;
  if (value !== null && !Number.isFinite(value)) {
    throw new RgxError(`returned ${value}, a finite number or null is expected`);
  }
  return value;
}

async function withTimeout<T>(promise: Promise<T>, seconds: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new RgxError(`gave no value within ${seconds} s`)),
      seconds * 1000,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
