/**
 * The answers of a model to held-out problems, or its dialogues about them, as both evaluations of
 * a run draw and score them.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import { scoreCompletion, type ScoredCompletion } from "../../data/score_completion.ts";
import type { Dialogue, DialogueSetup } from "../../bench/dialogue/dialogue.ts";
import { evaluateDialogues } from "../../bench/dialogue/evaluate_dialogues.ts";
import { type DialogueRow, idsOf, type Segmented } from "../../bench/dialogue/segments.ts";
import type { EncodedPrompt, PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import {
  drawArguments,
  runSamplingSeed,
  type SamplingSettings,
} from "../../bench/evaluation/sampling.ts";
import { EVAL_PROMPT_ID } from "../../data/held_out.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { RewardSample } from "../../rewards/types.ts";
import type { Entry } from "../../tasks/types.ts";
import { rewardSample } from "../rollout/score.ts";

/** What evaluations take of a run. */
export interface AnswerOptions {
  model: Pick<CausalLM, "generate" | "generateDialogues">;
  prompts: PromptEncoder;
  /** Environments and tools; default: an answer is one turn. */
  dialogues?: DialogueSetup | null;
  training: RunConfig["training"];
  /** Optimizer steps done, for rewards that depend on it. Default 0. */
  step?: number;
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
  /** Called with the number of answers or problems that are done, and of all. */
  onProgress?: (done: number, total: number) => void;
  /** The ranks of the run, which share the work. Default: this process alone. */
  ranks?: Ranks;
}

/** An answer to a problem, or the dialogue about it. */
export interface Answer extends Segmented {
  prompt: EncodedPrompt;
  /** @see Dialogue.rows */
  rows?: readonly DialogueRow[];
  text: string;
  truncated: boolean;
  dialogue?: Pick<Dialogue, "messages" | "reward">;
}

interface Draws {
  sampling: SamplingSettings;
  samples: number;
  /** @see PlayOptions.scene */
  scene: string;
  /** Maximum number of answers that are decoded together. */
  slots?: number;
  /** Called when a problem is answered. */
  onEnd?: () => void;
}

/** @param first number of the first problem among all @throws Interrupted after a stop request */
export async function answersTo(
  entries: readonly Entry[],
  first: number,
  { model, prompts, dialogues = null, training, shouldStop }: AnswerOptions,
  { sampling, samples, scene, onEnd = () => {}, ...limits }: Draws,
): Promise<Answer[][]> {
  const draws = { seed: runSamplingSeed(training), shouldStop, ...limits };
  const numberOf = (i: number) => EVAL_PROMPT_ID + first + i;
  if (entries.length === 0) return [];
  if (dialogues !== null) {
    const starts = entries.map((entry, i) => ({
      entry,
      promptId: numberOf(i),
      branches: samples,
    }));
    const setup = { ...draws, setup: dialogues, scene };
    const played = await evaluateDialogues(model, prompts, starts, sampling, setup);
    entries.forEach(() => onEnd());
    return played.map((all) => all.map((dialogue) => ({ ...dialogue, dialogue })));
  }
  const encoded = entries.map((entry) => prompts.prompt(entry));
  const requests = encoded.map(({ ids: promptIds }, i) => ({
    promptId: numberOf(i),
    promptIds,
    n: samples,
  }));
  const [options, most] = drawArguments(sampling, prompts, draws);
  const found = await model.generate(requests, { ...options, onEnd }, most);
  return found.map((completions, i) =>
    completions.map((completion) => ({
      prompt: encoded[i]!,
      segments: [{ from: "model", ids: completion.ids, logprobs: completion.logprobs }],
      ...prompts.read(completion),
    }))
  );
}

export function sampleOf(
  entry: Entry,
  answer: Answer,
  { step = 0, training }: AnswerOptions,
): RewardSample {
  const { prompt, ...completion } = answer, { max_completion_length } = training;
  const about = { step, maxCompletionLength: max_completion_length };
  return rewardSample({ entry, prompt }, { ...completion, ids: idsOf(answer) }, about);
}

export function scoreOf(
  entry: Entry,
  { text, prompt }: Answer,
  { settings }: PromptEncoder,
): ScoredCompletion {
  return scoreCompletion(text, entry, settings.system_prompt, prompt.text);
}
