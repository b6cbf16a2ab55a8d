/** Plays the dialogues of an evaluation: of a run's own ones, and of a benchmark. */
import { EVAL_PROMPT_ID } from "../../data/held_out.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { PromptEncoder } from "../evaluation/prompt_encoder.ts";
import { generateOptions, type SamplingSettings } from "../evaluation/sampling.ts";
import type { Dialogue, DialogueSetup } from "./dialogue.ts";
import { type DialogueStart, playDialogues } from "./play_dialogues.ts";

/** A problem of an evaluation, and which samples of it are wanted. */
export interface PlayedProblem extends Pick<DialogueStart, "entry" | "shots" | "isOwnData"> {
  /** Place among the problems of the evaluation; keys the draws. */
  index: number;
  /** Number of the first sample; default 0. */
  firstSample?: number;
  samples: number;
}

/** Dialogues about each problem of an evaluation; the draws are those of `complete`. */
export async function evaluateDialogues(
  model: Pick<CausalLM, "generate">,
  prompts: PromptEncoder,
  problems: readonly PlayedProblem[],
  sampling: SamplingSettings,
  { setup, seed, shouldStop, slots, mayFail = false, scene = "" }: {
    setup: DialogueSetup;
    /** @see PlayOptions.scene */
    scene?: string;
    /** @see PlayOptions.mayFail */
    mayFail?: boolean;
    /** Seed of the draws and of the environments' starts. */
    seed: number;
    /** @see GenerateOptions.shouldStop */
    shouldStop: () => boolean;
    /** @see CompleteOptions.slots */
    slots?: number;
  },
): Promise<Dialogue[][]> {
  const options = generateOptions(sampling, prompts, seed, shouldStop);
  return await playDialogues(
    problems.map(({ index, firstSample = 0, samples, ...about }) => ({
      ...about,
      promptId: EVAL_PROMPT_ID + index,
      firstBranch: firstSample,
      branches: samples,
    })),
    {
      ...setup,
      mayFail,
      scene,
      prompts,
      maxTokens: sampling.max_new_tokens,
      seed,
      generate: (asked) =>
        model.generate(asked, slots === undefined ? options : { ...options, slots }),
    },
  );
}
