/** Plays the dialogues of an evaluation: of a run's own ones, and of a benchmark. */
import type { CausalLM } from "../../models/causal_lm.ts";
import type { PromptEncoder } from "../evaluation/prompt_encoder.ts";
import { drawArguments, type DrawOptions, type SamplingSettings } from "../evaluation/sampling.ts";
import type { Dialogue, DialogueSetup } from "./dialogue.ts";
import { type DialogueStart, playDialogues, type PlayOptions } from "./play_dialogues.ts";

interface EvaluationOptions extends DrawOptions, Pick<PlayOptions, "scene" | "mayFail"> {
  setup: DialogueSetup;
}

/** The seed of the draws also gives the environments' starts. */
export function evaluateDialogues(
  model: Pick<CausalLM, "generateDialogues">,
  prompts: PromptEncoder,
  starts: readonly DialogueStart[],
  sampling: SamplingSettings,
  { setup, mayFail = false, scene = "", ...draws }: EvaluationOptions,
): Promise<Dialogue[][]> {
  const [options, limits] = drawArguments(sampling, prompts, draws);
  return playDialogues(starts, {
    ...setup,
    mayFail,
    scene,
    prompts,
    maxTokens: sampling.max_new_tokens,
    seed: draws.seed,
    generate: (room, play) => model.generateDialogues(room, options, play, limits),
  });
}
