/**
 * The sampling options of a request, checked and with defaults. Rows of a decode step with the same
 * parameters are sampled by one operation, whatever their seeds; rows with other parameters share
 * the layers and the head with them and are sampled by an operation of their own.
 */
import { UsageError } from "../../../core/errors.ts";
import { seedWords } from "../../../core/philox.ts";
import type { TokenConstraint } from "../../grammar/token_constraint.ts";
import type { SamplingOptions } from "../types.ts";

/** The position in a completion is 20 bits of the random counter. */
const MAX_COMPLETION = 2 ** 20;

export interface SamplingParams {
  maxNewTokens: number;
  minNewTokens: number;
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  penalty: number;
  seed: [low: number, high: number];
  /** End tokens that are in the vocabulary. */
  ends: Uint32Array;
  /** Whether a completion ends with its last token (other than by length). */
  endsWith: (ids: readonly number[]) => boolean;
  /** Function on the host that changes logits before everything else; null = none. */
  adjust: SamplingOptions["adjust"] | null;
  /** What completions are held to; null = nothing. */
  constraint: TokenConstraint | null;
  /** Equal for parameters that sample in the same way; when a completion ends may differ. */
  samplerKey: string;
}

/** Rows of a step that are sampled by one operation. */
export interface SamplingBatch {
  params: SamplingParams;
  /** Whether their end tokens are impossible in this step. */
  forbidsEnds: boolean;
  /** Their indices in the step, ascending. */
  rows: readonly number[];
}

/** What decides which batch a row belongs to. */
interface BatchedRow {
  params: SamplingParams;
  /** Index of the sampled token in its completion. */
  position: number;
}

/** @throws UsageError naming the option that is out of range */
export function samplingParams(options: SamplingOptions, vocabSize: number): SamplingParams {
  checkOptions(options);
  const { maxNewTokens, temperature, topK = 0, topP = 1, minP = 0, stopWhen, seed } = options;
  const { repetitionPenalty: penalty = 1, minNewTokens = 0, adjust = null, constraint = null } =
    options;
  const eos = new Set(options.eosIds);
  const draws = temperature === 0 ? [] : [topK, topP, minP];
  return {
    maxNewTokens,
    minNewTokens,
    temperature,
    topK,
    topP,
    minP,
    penalty,
    seed: seedWords(seed),
    ends: Uint32Array.from([...eos].filter((id) => id < vocabSize)),
    endsWith: (ids) =>
      eos.has(ids.at(-1)!) ||
      (stopWhen !== undefined && ids.length > minNewTokens && stopWhen(ids)),
    adjust,
    constraint,
    samplerKey: [temperature, penalty, functionNumber(adjust), constraint !== null, ...draws]
      .join(),
  };
}

const functionNumbers = new WeakMap<object, number>();
let functionCount = 0;

/** A different number for every function; 0 = none. */
function functionNumber(adjust: SamplingParams["adjust"]): number {
  if (!adjust) return 0;
  const number = functionNumbers.get(adjust) ?? ++functionCount;
  functionNumbers.set(adjust, number);
  return number;
}

/** What sampling from unchanged logits depends on. */
export function plainSamplingKey(
  { temperature, topK, topP, minP }: SamplingParams,
): number[] {
  return [temperature, topK, topP, minP];
}

/** Whether logits change before a token is sampled. */
export function adjustsLogits(
  { penalty, minNewTokens, adjust, constraint }: SamplingParams,
): boolean {
  return penalty !== 1 || minNewTokens > 0 || adjust !== null || constraint !== null;
}

export function samplingBatches(rows: readonly BatchedRow[]): SamplingBatch[] {
  const first = rows[0];
  if (first === undefined) return [];
  if (rows.every(({ params }) => params === first.params) && first.params.minNewTokens === 0) {
    return [{ params: first.params, forbidsEnds: false, rows: rows.map((_, row) => row) }];
  }
  const batches = new Map<string, SamplingBatch & { rows: number[] }>();
  rows.forEach(({ params, position }, row) => {
    const forbidsEnds = position < params.minNewTokens && params.ends.length > 0;
    const key = forbidsEnds ? `${params.samplerKey} ${params.ends}` : params.samplerKey;
    const batch = batches.get(key);
    if (batch === undefined) batches.set(key, { params, forbidsEnds, rows: [row] });
    else batch.rows.push(row);
  });
  return [...batches.values()];
}

/**
 * Number of steps for which rows that are one sampling batch stay one and need nothing from the
 * host.
 */
export function stepsAsOneBatch(rows: readonly BatchedRow[]): number {
  let steps = Infinity;
  for (const { params, position } of rows) {
    if (params.adjust !== null || params.constraint !== null) return 1;
    const left = params.minNewTokens - position;
    if (left > 0 && params.ends.length > 0) steps = Math.min(steps, left);
  }
  return steps;
}

function checkOptions(options: SamplingOptions): void {
  const { maxNewTokens, temperature, topK, topP, minP } = options;
  const { repetitionPenalty: penalty = 1, minNewTokens = 0, seed } = options;
  const refuse = (name: string, found: unknown, expected: string): never => {
    throw new UsageError(`generate: ${name} is ${found}, expected ${expected}`);
  };
  if (!(Number.isInteger(maxNewTokens) && maxNewTokens >= 1 && maxNewTokens < MAX_COMPLETION)) {
    refuse("maxNewTokens", maxNewTokens, `an integer from 1 to ${MAX_COMPLETION - 1}`);
  }
  if (!(temperature >= 0 && Number.isFinite(temperature))) {
    refuse("temperature", temperature, "a number of at least 0");
  }
  if (topK !== undefined && !(Number.isInteger(topK) && topK >= 0)) {
    refuse("topK", topK, "an integer of at least 0");
  }
  if (topP !== undefined && !(topP > 0 && topP <= 1)) refuse("topP", topP, "0 < topP ≤ 1");
  if (minP !== undefined && !(minP >= 0 && minP <= 1)) refuse("minP", minP, "0 ≤ minP ≤ 1");
  if (!(penalty > 0 && Number.isFinite(penalty))) {
    refuse("repetitionPenalty", penalty, "a number above 0");
  }
  if (!(Number.isInteger(minNewTokens) && minNewTokens >= 0 && minNewTokens <= maxNewTokens)) {
    refuse("minNewTokens", minNewTokens, `an integer from 0 to maxNewTokens (${maxNewTokens})`);
  }
  if (options.constraint !== undefined && minNewTokens > 0) {
    refuse("minNewTokens", minNewTokens, "0 where completions are held to a form");
  }
  if (!(Number.isSafeInteger(seed) && seed >= 0)) {
    refuse("seed", seed, "a non-negative safe integer");
  }
}
