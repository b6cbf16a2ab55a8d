/** Scores with a registered reward, in the thread of the program: it is trusted not to hang. */
import { messageOf } from "../core/errors.ts";
import { checkBatch, checkValue, type Outcome, type RewardNotes, type Scorer } from "./scorer.ts";
import { inTime } from "./time_limit.ts";
import type { BatchReward, Reward, RewardInput, RewardSample, SampleReward } from "./types.ts";

/**
 * @param name name in metrics and tables
 * @param timeout time limit in seconds for a promise; of a batch, for each sample
 */
export function inProcessScorer(
  name: string,
  reward: Reward,
  params: Record<string, unknown>,
  timeout: number,
): Scorer {
  return {
    name,
    wholeBatch: "computeBatch" in reward,
    needs: reward.needs ?? [],
    score(samples, notes) {
      const items = samples.map((sample, row) => withNotes(name, sample, row, notes));
      return "computeBatch" in reward
        ? scoreBatch(reward, items, params, timeout)
        : Promise.all(items.map((item) => scoreOne(reward, item, params, timeout)));
    },
  };
}

function withNotes(
  name: string,
  sample: RewardSample,
  row: number,
  notes: RewardNotes,
): RewardInput {
  return {
    ...sample,
    log: (name, value) => notes.log(name, value),
    logExtra: (column, value) => notes.logExtra(row, column, value),
    addCost: (amount) => notes.addCost(name, amount),
  };
}

async function scoreOne(
  reward: SampleReward,
  input: RewardInput,
  params: Record<string, unknown>,
  timeout: number,
): Promise<Outcome> {
  try {
    return { value: checkValue(await inTime(reward.compute(input, params), timeout)) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

async function scoreBatch(
  reward: BatchReward,
  items: readonly RewardInput[],
  params: Record<string, unknown>,
  timeout: number,
): Promise<Outcome[]> {
  try {
    const result = await inTime(reward.computeBatch(items, params), timeout * items.length);
    return checkBatch(result, items.length).map((value): Outcome => {
      try {
        return { value: checkValue(value) };
      } catch (error) {
        return { error: messageOf(error) };
      }
    });
  } catch (error) {
    return items.map(() => ({ error: messageOf(error) }));
  }
}
