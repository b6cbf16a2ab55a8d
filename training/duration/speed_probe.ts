/**
 * Measures how fast a model works on its device before a run, with the model itself: forward and
 * backward passes, and some tokens of completions. It takes a few seconds, or a few rows if the
 * model needs many seconds for them. It does not change the run: random numbers are functions of
 * counters, and gradients are zeroed.
 */
import { Interrupted } from "../../core/errors.ts";
import { DROPOUT_PASS } from "../../core/philox.ts";
import type { GenerateOptions } from "../../models/generation/types.ts";
import type { CausalLM } from "../../models/causal_lm.ts";

/** Seconds for one token (a row of the passes), in batches of the size that the run has. */
export interface ModelSpeed {
  /** A token that is generated. */
  newToken: number;
  /** A token in a forward and backward pass. */
  trainedRow: number;
  /** A token in a forward pass alone, such as the prefill. */
  forwardRow: number;
  /** Completion tokens that were sampled, and the number of completions that ended. */
  sampled: { tokens: number; ended: number };
}

export interface ProbeInput {
  model: CausalLM;
  promptIds: readonly number[];
  /** Completions that are decoded together, and completions of a training pass. */
  lanes: number;
  rows: number;
  answerTokens: number;
  /** Its limits end completions. */
  sampling: GenerateOptions;
  /** Otherwise only training is measured, to take no memory for generation. */
  generates: boolean;
}

/** Milliseconds of decoding, of one pass, and of repeated short passes. */
const DECODE_MS = 1500, PASS_MS = 500, REPEAT_MS = 250;
/** A pass of a busy machine may have waited: this many are made where they are short. */
const PASSES = 3;
/** Maximum repeated passes: more tell nothing new of a model that takes a millisecond. */
const MAX_PASSES = 20;
/** A forward and backward pass takes at least this many times as long as a forward pass. */
const FORWARD_PASSES = 2;
/** Tokens of the prompt and of its completion in the first pass. */
const FIRST_TOKENS = 16;
/** Tokens of a prompt (longer ones are cut), and completions (more are not faster). */
const MAX_PROMPT = 128, MAX_LANES = 256;
/** Tokens that are at most this number of milliseconds apart come from the same decoding step. */
const SAME_STEP_MS = 0.2;

export async function measureModel(input: ProbeInput): Promise<ModelSpeed> {
  const passes = await passSpeed(input);
  if (!input.generates) return { ...passes, newToken: 0, sampled: { tokens: 0, ended: 0 } };
  const affordable = Math.floor(PASS_MS / 1000 / passes.forwardRow);
  const tokens = Math.max(FIRST_TOKENS, Math.min(MAX_PROMPT, affordable));
  return { ...passes, ...await generationSpeed(input, input.promptIds.slice(-tokens)) };
}

async function passSpeed(
  { model, promptIds, lanes, rows, answerTokens, sampling, generates }: ProbeInput,
): Promise<Pick<ModelSpeed, "trainedRow" | "forwardRow">> {
  const dropout = { seed: sampling.seed, pass: DROPOUT_PASS.supervised };
  const rowsOf = (maxTokens: number, branches: number) =>
    Math.min(promptIds.length, maxTokens) + branches * Math.min(answerTokens, maxTokens);
  const pass = async (maxTokens: number, branches: number, train: boolean): Promise<number> => {
    const prompt = promptIds.slice(-maxTokens), length = Math.min(answerTokens, maxTokens);
    const answer = Array.from({ length }, (_, i) => prompt[i % prompt.length]!);
    const group = { promptId: 0, promptIds: prompt, branches: Array(branches).fill(answer) };
    const start = performance.now(), temperature = 1;
    const { logp } = await model.forward([group], { temperature, train, ...train && { dropout } });
    if (train) {
      model.backward(new Float64Array(logp.length).fill(1e-3));
      model.zeroGrad();
      // The device may still be working: this pass waits for it.
      const oneToken = { promptIds: prompt.slice(0, 1), branches: [prompt.slice(0, 1)] };
      await model.forward([oneToken], { temperature, train: false });
    }
    return (performance.now() - start) / rowsOf(maxTokens, branches);
  };
  // The first pass compiles kernels. Then passes grow until one is as large as the limits allow.
  await pass(FIRST_TOKENS, 1, true);
  let trained = await pass(FIRST_TOKENS, 1, true);
  const answer = Math.min(answerTokens, MAX_PROMPT),
    prompt = Math.min(promptIds.length, MAX_PROMPT);
  let maxTokens = FIRST_TOKENS, branches = 1;
  for (const largest = Math.min(rows, MAX_LANES); branches < largest;) {
    const affordable = Math.floor((PASS_MS / trained - prompt) / answer);
    const larger = Math.min(largest, affordable, 16 * branches);
    if (larger < 2 * branches) break;
    [maxTokens, branches] = [MAX_PROMPT, larger];
    trained = Math.min(trained, await pass(maxTokens, branches, true));
  }
  /** The minimum milliseconds of a row when a short pass is repeated. */
  const fastest = async (train: boolean, known: number, branches: number): Promise<number> => {
    const start = performance.now();
    let min = known, count = 0;
    const again = () => {
      const left = (count < PASSES ? 2 * PASS_MS : REPEAT_MS) + start - performance.now();
      return count < MAX_PASSES && rowsOf(maxTokens, branches) * min < left;
    };
    while (min === Infinity || again()) {
      min = Math.min(min, await pass(maxTokens, branches, train));
      count++;
    }
    return min;
  };
  trained = await fastest(true, trained, branches);
  if (!generates) return { trainedRow: trained / 1000, forwardRow: 0 };
  const forward = await fastest(false, Infinity, Math.min(branches, lanes));
  return {
    trainedRow: trained / 1000,
    forwardRow: Math.min(forward, trained / FORWARD_PASSES) / 1000,
  };
}

async function generationSpeed(
  { model, lanes, sampling }: ProbeInput,
  promptIds: readonly number[],
): Promise<Pick<ModelSpeed, "newToken" | "sampled">> {
  const n = Math.min(lanes, MAX_LANES), { maxNewTokens, eosIds } = sampling;
  const stop = sampling.shouldStop ?? (() => false);
  const sample = async (maxTokens: number, milliseconds: number) => {
    let first = 0, last = 0, tokens = 0, atOnce = 0, ended = 0;
    const onToken = (_branch: number, token: number) => {
      last = performance.now();
      if (tokens++ === 0) first = last;
      // The first tokens of all completions come from the prefill together.
      if (last - first < SAME_STEP_MS && tokens <= n) atOnce = tokens;
      if (eosIds.includes(token)) ended++;
    };
    const shouldStop = () => stop() || (tokens > 0 && performance.now() - first > milliseconds);
    try {
      await model.generate([{ promptId: 0, promptIds, n, onToken }], {
        ...sampling,
        maxNewTokens: maxTokens,
        minNewTokens: Math.min(sampling.minNewTokens ?? 0, maxTokens),
        shouldStop,
      });
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
    }
    const decoded = tokens - atOnce, seconds = (last - first) / 1000;
    return { newToken: decoded > 0 ? seconds / decoded : 0, sampled: { tokens, ended } };
  };
  // The first generation compiles kernels and packs weights.
  await sample(Math.min(2, maxNewTokens), 0);
  return await sample(maxNewTokens, DECODE_MS);
}
