/** The rewards of the task's answer. */
import { RgxError } from "../core/errors.ts";
import { extractAnswer } from "../data/extract.ts";
import { scoreCompletion } from "../data/score_completion.ts";
import { bool } from "../tasks/define.ts";
import "../tasks/registry.ts"; // the tasks whose rules score
import type { Reward, RewardSample, SampleReward } from "./types.ts";

const FULL = 1 - 1e-9;

const correctness: SampleReward = {
  name: "correctness",
  description: "The task's score of the answer in the last <answer> tags, 0 to 1; where a file's " +
    "prompts do not ask for the tags, of the answer that the completion states.",
  needs: ["answer"],
  params: { binary: bool(false, "count every score below 1 as 0") },
  compute(input, { binary }) {
    const score = taskScore(input);
    return binary && score < FULL ? 0 : score;
  },
};

const formatAnswer: SampleReward = {
  name: "format_answer",
  description: "1 when the completion has an <answer>…</answer>, else 0.",
  params: {},
  compute: ({ completion }) => extractAnswer(completion) === null ? 0 : 1,
};

const brevity: SampleReward = {
  name: "brevity",
  description: "1 − tokens / max_completion_length; 0 when truncated or without an answer.",
  needs: ["completionIds"],
  params: {},
  compute({ completion, completionIds, truncated, maxCompletionLength }) {
    if (truncated || extractAnswer(completion) === null) return 0;
    return 1 - Math.min(completionIds.length / maxCompletionLength, 1);
  },
};

const environment: SampleReward = {
  name: "environment",
  description: "What the environment of a dialogue gave in all; it is there without being listed.",
  params: {},
  compute: ({ environmentReward }) => environmentReward ?? null,
};

/** The task's score, in [0, 1]. @throws RgxError when the answer could not be scored */
export function taskScore({ completion, entry, prompt }: RewardSample): number {
  const { score, error } = scoreCompletion(completion, entry, null, prompt);
  if (error !== null) throw new RgxError(error);
  return score;
}

export const TASK_ANSWER_REWARDS: readonly Reward[] = [
  correctness,
  formatAnswer,
  brevity,
  environment,
];
