/** Samples for the tests of rewards. */
import { withFolder } from "../core/testing.ts";
import { createDataset } from "../tasks/dataset.ts";
import { getReward, resolveRewardParams } from "./registry.ts";
import { createRubric, type Rubric, type RubricScores, type RubricSection } from "./rubric.ts";
import type { RewardInput, RewardSample, RewardValue } from "./types.ts";

export const entry = createDataset("mini_sudoku", { seed: 4 }).entry(0);

export function input(completion: string, more: Partial<RewardSample> = {}): RewardInput {
  return {
    prompt: entry.question,
    messages: null,
    completion,
    answer: entry.answer,
    info: entry.metadata,
    entry,
    completionIds: [1, 2, 3, 4, 5],
    truncated: false,
    step: 1,
    maxCompletionLength: 20,
    ...more,
    log() {},
    logExtra() {},
    addCost() {},
  };
}

/** The value of a registered reward, without a rubric. */
export function valueOf(
  name: string,
  sample: RewardInput,
  params: Record<string, unknown> = {},
): RewardValue | Promise<RewardValue> {
  const reward = getReward(name);
  if (!("compute" in reward)) throw new TypeError(`${name} wants a batch`);
  return reward.compute(sample, resolveRewardParams(name, params));
}

export interface FileOptions extends Partial<Omit<RubricSection, "file">> {
  file?: Partial<RubricSection["file"]>;
  extension?: string;
}

/** Calls `work` with a rubric of one reward `mine`, whose file has this source. */
export async function withReward(
  source: string,
  work: (rubric: Rubric, path: string) => Promise<void>,
  { file = {}, extension = ".ts", ...section }: FileOptions = {},
): Promise<void> {
  await withFolder(async (folder) => {
    const path = `${folder}/mine${extension}`;
    await Deno.writeTextFile(path, source);
    await using rubric = createRubric([
      { name: "mine", weight: 1, params: {}, timeout: 5, ...section, file: { ...file, path } },
    ]);
    await work(rubric, path);
  });
}

/** The scores of some completions. Leaves nothing open. */
export async function scoresOf(
  source: string,
  completions: readonly string[],
  options?: FileOptions,
): Promise<RubricScores> {
  let scores: RubricScores | undefined;
  await withReward(source, async (rubric) => {
    scores = await rubric.score(completions.map((completion) => input(completion)));
  }, options);
  return scores!;
}

export const messagesOf = ({ errors }: RubricScores): string[] =>
  errors.map(({ message }) => message);

/** Calls `work` with a cache folder of the user that is in this folder. */
export async function withCacheIn(folder: string, work: () => Promise<void>): Promise<void> {
  const before = Deno.env.get("RGX_CACHE");
  Deno.env.set("RGX_CACHE", folder);
  try {
    await work();
  } finally {
    if (before === undefined) Deno.env.delete("RGX_CACHE");
    else Deno.env.set("RGX_CACHE", before);
  }
}
