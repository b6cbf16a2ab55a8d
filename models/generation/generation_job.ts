/** A request while a generation works on it, its branches, and the checks before it is taken. */
import { RgxError } from "../../core/errors.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { checkGroup } from "../network/packing.ts";
import type { CachedPrompt } from "./cache/cached_prompt.ts";
import type { SamplingParams } from "./sampling/sampling_params.ts";
import type { DecodeRow } from "./step_table.ts";
import type { Completion, GenerateRequest } from "./types.ts";

/** Branches of one prompt must stay below this: their number is 12 bits of the random counter. */
const MAX_BRANCHES = 4096;

/** A request that has not ended. */
export interface Job {
  request: GenerateRequest;
  params: SamplingParams;
  /** Maximum number of tokens of a completion. */
  limit: number;
  completions: Completion[];
  /** Number of branches that have not ended. */
  left: number;
  resolve: (completions: Completion[]) => void;
  reject: (reason: unknown) => void;
}

/** One completion that is being generated. */
export interface Branch extends DecodeRow {
  prompt: CachedPrompt;
  job: Job;
  completion: Completion;
  done: boolean;
}

/** Branch `number` of a job, before it has a token or a slot. */
export function newBranch(
  job: Job,
  prompt: CachedPrompt,
  completion: Completion,
  number: number,
): Branch {
  const { request: { promptId, firstBranch = 0 }, params } = job;
  return {
    ...{ promptId, branch: firstBranch + number, position: 0, newest: 0, slot: -1 },
    ...{ prompt, params, job, completion, done: false },
  };
}

/**
 * @param number the request's number in error messages
 * @throws RgxError for a request that no generation of this model can serve
 */
export function checkRequest(
  { promptIds, n, firstBranch = 0 }: GenerateRequest,
  config: ModelConfig,
  number = 0,
): void {
  const { maxPositions } = config;
  if (!(Number.isInteger(n) && n >= 0 && firstBranch >= 0 && firstBranch + n <= MAX_BRANCHES)) {
    throw new RgxError(
      `generate: request ${number} asks for branches ${firstBranch} … ${firstBranch + n - 1}; ` +
        `a prompt can have branches 0 … ${MAX_BRANCHES - 1}`,
    );
  }
  if (promptIds.length >= maxPositions) {
    throw new RgxError(
      `generate: the prompt of request ${number} has ${promptIds.length} tokens and leaves no ` +
        `room for an answer; the model has ${maxPositions} positions`,
      { advice: "shorten the prompt" },
    );
  }
  checkGroup({ promptIds, branches: [] }, number, config);
}
