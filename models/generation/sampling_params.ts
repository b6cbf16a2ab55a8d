/**
 * A request's sampling options, checked and with their defaults, and which rows of a batch can be sampled by one
 * operation: those with the same rules. All others share the layers and the head, and are sampled lane by lane.
 */
import { RgxError } from "../../core/errors.ts";
import { seedWords } from "../../core/philox.ts";
import type { SamplingOptions } from "./types.ts";

/** Positions of a completion are 20 bits of a random counter. */
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
  /** End tokens that can be drawn at all. */
  ends: Uint32Array;
  /** Whether a completion ends by itself with its last token. */
  endsWith: (ids: readonly number[]) => boolean;
  /** On the host, before all other rules; null = nothing. */
  adjust: SamplingOptions["adjust"] | null;
  /** The same for rules that differ at most in when a completion ends. */
  samplerKey: string;
}

/** Rows of a step that are sampled together. */
export interface SamplingBatch {
  params: SamplingParams;
  /** Their end tokens are impossible in this step. */
  forbidsEnds: boolean;
  /** Their numbers in the step, ascending. */
  rows: readonly number[];
}

/** What decides a row's lane. */
interface BatchedRow {
  params: SamplingParams;
  /** Number of the token that is drawn, in its completion. */
  position: number;
}

/** @throws RgxError naming the option that is out of range */
export function samplingParams(options: SamplingOptions, vocabSize: number): SamplingParams {
  checkOptions(options);
  const { maxNewTokens, temperature, topK = 0, topP = 1, minP = 0, stopWhen, seed } = options;
  const { repetitionPenalty: penalty = 1, minNewTokens = 0, adjust = null } = options;
  const eos = new Set(options.eosIds);
  const drawn = temperature === 0 ? [] : [seed, topK, topP, minP];
  return {
    ...{ maxNewTokens, minNewTokens, temperature, topK, topP, minP, penalty },
    seed: seedWords(seed),
    ends: Uint32Array.from([...eos].filter((id) => id < vocabSize)),
    endsWith: (ids) =>
      eos.has(ids.at(-1)!) ||
      (stopWhen !== undefined && ids.length > minNewTokens && stopWhen(ids)),
    adjust,
    samplerKey: [temperature, penalty, numberOf(adjust), ...drawn].join(),
  };
}

const numbers = new WeakMap<object, number>();
let functions = 0;

/** Another one for every function; 0 = none. */
function numberOf(adjust: SamplingParams["adjust"]): number {
  if (!adjust) return 0;
  const number = numbers.get(adjust) ?? ++functions;
  numbers.set(adjust, number);
  return number;
}

/** What a draw from logits as they are depends on. */
export function drawKey({ temperature, topK, topP, minP, seed }: SamplingParams): number[] {
  return [temperature, topK, topP, minP, ...seed];
}

/** Whether the rules change logits before a token is drawn. */
export function adjustsLogits({ penalty, minNewTokens, adjust }: SamplingParams): boolean {
  return penalty !== 1 || minNewTokens > 0 || adjust !== null;
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

/** Steps for which rows that are one lane stay one and need nothing of the host. */
export function stepsAsOneBatch(rows: readonly BatchedRow[]): number {
  let steps = Infinity;
  for (const { params, position } of rows) {
    if (params.adjust !== null) return 1;
    const left = params.minNewTokens - position;
    if (left > 0 && params.ends.length > 0) steps = Math.min(steps, left);
  }
  return steps;
}

function checkOptions(options: SamplingOptions): void {
  const { maxNewTokens, temperature, topK, topP, minP } = options;
  const { repetitionPenalty: penalty = 1, minNewTokens = 0, seed } = options;
  const refuse = (name: string, found: unknown, expected: string): never => {
    throw new RgxError(`generate: ${name} is ${found}, expected ${expected}`);
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
  if (!(Number.isSafeInteger(seed) && seed >= 0)) {
    refuse("seed", seed, "a non-negative safe integer");
  }
}
