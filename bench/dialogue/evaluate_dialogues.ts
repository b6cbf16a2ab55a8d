/** Plays the dialogues of an evaluation: of a run's own ones, and of a benchmark. */
import { EVAL_PROMPT_ID } from "../../data/held_out.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import { drawArguments, type DrawOptions } from "../evaluation/complete.ts";
import type { PromptEncoder } from "../evaluation/prompt_encoder.ts";
import type { SamplingSettings } from "../evaluation/sampling.ts";
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

/**
 * Dialogues about each problem of an evaluation. The draws are those of `complete`; their seed also
 * gives the environments' starts.
 */
export async function evaluateDialogues(
  model: Pick<CausalLM, "generateDialogues">,
  prompts: PromptEncoder,
  problems: readonly PlayedProblem[],
  sampling: SamplingSettings,
  { setup, mayFail = false, scene = "", ...draws }: DrawOptions & {
    setup: DialogueSetup;
    /** @see PlayOptions.scene */
    scene?: string;
    /** @see PlayOptions.mayFail */
    mayFail?: boolean;
  },
): Promise<Dialogue[][]> {
  const [options, limits] = drawArguments(sampling, prompts, draws);
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
      seed: draws.seed,
      generate: (room, play) => model.generateDialogues(room, options, play, limits),
    },
  );
}
