/** A request while a generation works on it, its branches, and the checks before it is taken. */
import { RgxError, UsageError } from "../../core/errors.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { checkGroup } from "../network/packing.ts";
import type { CachedPrompt } from "./cache/cached_prompt.ts";
import type { Decoder } from "./decoder.ts";
import type { SamplingParams } from "./sampling/sampling_params.ts";
import type { DecodeRow } from "./step_table.ts";
import type { AnswerSpan, Completion, GenerateRequest } from "./types.ts";

/** Branches of one prompt must stay below this: their number is 12 bits of the random counter. */
const MAX_BRANCHES = 4096;

export interface Job {
  request: GenerateRequest;
  /** Runs the device for the request's model. */
  decoder: Decoder;
  params: SamplingParams;
  /** What the keys of its prompt depend on ({@link cacheKeys}). */
  keys: readonly number[];
  /** Maximum number of tokens of a completion. */
  limit: number;
  completions: Completion[];
  /** Number of branches that have not ended. */
  left: number;
  resolve: (completions: Completion[]) => void;
  reject: (reason: unknown) => void;
}

export interface Branch extends DecodeRow {
  prompt: CachedPrompt;
  job: Job;
  completion: Completion;
  done: boolean;
}

/** Another pass of the model that waits for its turn between steps. */
export interface Pass {
  work: () => Promise<void>;
  reject: (reason: unknown) => void;
}

/**
 * For each token of a prompt its id, or ~id where decoding makes its keys: those of earlier answers
 * but for their last tokens, which no step has fed. Prompts with a common beginning of these share
 * its keys.
 */
export function cacheKeys(
  { promptIds, answers = [] }: Pick<GenerateRequest, "promptIds" | "answers">,
  { keepsAnswers }: Pick<Decoder, "keepsAnswers">,
): readonly number[] {
  if (!keepsAnswers || answers.length === 0) return promptIds;
  const keys = [...promptIds];
  for (const { begin, end } of answers) {
    for (let i = begin; i < end - 1; i++) keys[i] = ~promptIds[i]!;
  }
  return keys;
}

/** Branch `number` of a job, before it has a token or a slot. */
export function newBranch(
  job: Job,
  prompt: CachedPrompt,
  completion: Completion,
  number: number,
): Branch {
  const { request: { promptId, firstBranch = 0, firstPosition = 0 }, params } = job;
  return {
    promptId,
    branch: firstBranch + number,
    position: 0,
    firstPosition,
    newest: 0,
    slot: -1,
    cached: null,
    kept: null,
    prompt,
    params,
    job,
    completion,
    done: false,
    form: params.constraint?.begin([...params.ends]) ?? null,
  };
}

/** What is wrong with the places of a prompt's earlier answers; null = nothing. */
export function wrongAnswer(answers: readonly AnswerSpan[], length: number): string | null {
  let from = 1;
  for (const { begin, end } of answers) {
    if (!(begin >= from && end > begin && end <= length)) {
      return `answers: found [${begin}, ${end}], expected [begin, end] from ${from} to ${length}, ` +
        "behind the prompt's first token, one after the other";
    }
    from = end;
  }
  return null;
}

/** @throws UsageError for a request that no generation of this model can serve */
export function checkRequest(
  { promptIds, n, firstBranch = 0, answers = [] }: GenerateRequest,
  config: ModelConfig,
  number = 0,
): void {
  const { maxPositions } = config;
  if (!(Number.isInteger(n) && n >= 0 && firstBranch >= 0 && firstBranch + n <= MAX_BRANCHES)) {
    throw new UsageError(
      `generate: request ${number} asks for branches ${firstBranch} … ${firstBranch + n - 1}; ` +
        `a prompt can have branches 0 … ${MAX_BRANCHES - 1}`,
    );
  }
  if (promptIds.length >= maxPositions) {
    throw new UsageError(
      `generate: the prompt of request ${number} has ${promptIds.length} tokens and leaves no ` +
        `room for an answer; the model has ${maxPositions} positions`,
      { advice: "shorten the prompt" },
    );
  }
  const wrong = wrongAnswer(answers, promptIds.length);
  if (wrong !== null) throw new UsageError(`generate: request ${number}: ${wrong}`);
  checkGroup({ promptIds, branches: [] }, number, config);
}

export function decoderOf(work: Job | Branch): Decoder {
  return "job" in work ? work.job.decoder : work.decoder;
}

export function wantsLogits({ job: { request } }: Branch): boolean {
  return request.onLogits !== undefined;
}

/** The rows of each model, in order. */
export function byDecoder(rows: readonly Branch[]): Map<Decoder, readonly Branch[]> {
  const first = rows[0]?.job.decoder;
  if (first === undefined) return new Map();
  if (rows.every(({ job }) => job.decoder === first)) return new Map([[first, rows]]);
  return Map.groupBy(rows, ({ job }) => job.decoder);
}

/** @throws RgxError for a request that is larger than its generation */
export function checkFits(
  { promptIds: { length } }: GenerateRequest,
  params: SamplingParams,
  room: { promptRows: number; maxNewTokens: number },
  { maxPositions }: ModelConfig,
): void {
  if (length > room.promptRows) {
    throw tooSmall(`the prompt has ${length} tokens, this generation room for ${room.promptRows}`);
  }
  const wanted = Math.min(params.maxNewTokens, maxPositions - length);
  if (wanted > room.maxNewTokens) {
    throw tooSmall(
      `maxNewTokens is ${wanted}, this generation has room for ${room.maxNewTokens}`,
    );
  }
}

export function tooSmall(what: string): RgxError {
  return new RgxError(`generate: ${what}`, { advice: "give the generation more room" });
}
