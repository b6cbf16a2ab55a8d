/**
 * Completions of evaluation problems by a model on this machine. The random draws depend only on
 * the seed, the problem's index and the sample's number: neither the batches nor an interruption
 * change a completion, and a benchmark with a run's problems, seed and sampling gives the
 * completions of the run's own evaluation.
 */
import { EVAL_PROMPT_ID } from "../../data/held_out.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type {
  Completion,
  GenerateOptions,
  GenerateRequest,
} from "../../models/generation/types.ts";
import type { PromptEncoder } from "./prompt_encoder.ts";
import { generateOptions, type SamplingSettings } from "./sampling.ts";

/** A problem, and which samples of it are wanted. */
export interface AskedProblem {
  /** Place among the problems of the evaluation; keys the draws. */
  index: number;
  promptIds: readonly number[];
  /** Number of the first sample. */
  firstSample: number;
  /** How many samples; their numbers are consecutive. */
  samples: number;
}

/** How the completions of an evaluation are drawn, beside its sampling. */
export interface DrawOptions {
  /** Seed of the draws. */
  seed: number;
  /**
   * Maximum number of completions that are decoded together; fewer where the device is faster with
   * fewer, or where memory is short. Default: no limit.
   */
  slots?: number;
  /** Take `slots` as given, even where the device is faster with fewer. */
  slotsAreFixed?: boolean;
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
}

export interface CompleteOptions<Problem extends AskedProblem> extends DrawOptions {
  /** Called when all samples of a problem have ended; must not throw. */
  onEnd?: (problem: Problem, completions: readonly Completion[]) => void;
}

/** What `generate` gets after the requests of an evaluation. */
export function drawArguments(
  sampling: SamplingSettings,
  prompts: Pick<PromptEncoder, "tokenizer" | "eosIds">,
  { seed, slots, slotsAreFixed = false, shouldStop }: DrawOptions,
): [options: GenerateOptions, limits: { slots?: number }] {
  const limits = slots === undefined ? {} : { slots };
  return [
    { ...generateOptions(sampling, prompts, seed, shouldStop), ...limits },
    slotsAreFixed ? limits : {},
  ];
}

/**
 * @returns the completions of each problem, in the order of the problems
 * @throws Interrupted when `shouldStop` returned true
 */
export function complete<Problem extends AskedProblem>(
  model: Pick<CausalLM, "generate">,
  prompts: Pick<PromptEncoder, "tokenizer" | "eosIds">,
  problems: readonly Problem[],
  sampling: SamplingSettings,
  options: CompleteOptions<Problem>,
): Promise<Completion[][]> {
  const { onEnd } = options;
  const problemOf = new Map<GenerateRequest, Problem>();
  const requests = problems.map((problem) => {
    const request: GenerateRequest = {
      promptId: EVAL_PROMPT_ID + problem.index,
      promptIds: problem.promptIds,
      n: problem.samples,
      firstBranch: problem.firstSample,
    };
    problemOf.set(request, problem);
    return request;
  });
  const [draws, limits] = drawArguments(sampling, prompts, options);
  return model.generate(
    requests,
    {
      ...draws,
      ...(onEnd === undefined ? {} : {
        onEnd: (request: GenerateRequest, completions: readonly Completion[]) =>
          onEnd(problemOf.get(request)!, completions),
      }),
    },
    limits,
  );
}
