/**
 * How fast a model works on its device, measured with the model itself before a run: forward and
 * backward passes and some tokens of completions. It takes a few seconds; with a model that needs
 * many for a few rows, it takes those few rows. Nothing of the run depends on it: draws are
 * functions of counters, gradients are zeroed.
 */
import { Interrupted } from "../../core/errors.ts";
import { DROPOUT_PASS } from "../../core/philox.ts";
import type { GenerateOptions } from "../../models/generation/types.ts";
import type { LanguageModel } from "../../models/language_model.ts";

/** Seconds for one token or row, in batches as the run has them. */
export interface ModelSpeed {
  /** Generated. */
  newToken: number;
  /** Forward and backward. */
  trainedRow: number;
  /** Forward alone, as prompts are run before generation too. */
  forwardRow: number;
  /** Completion tokens that were sampled, and how many completions they ended. */
  sampled: { tokens: number; ended: number };
}

export interface ProbeInput {
  model: LanguageModel;
  promptIds: readonly number[];
  /** Completions that are generated at once, and those of a forward pass. */
  lanes: number;
  rows: number;
  /** Tokens of a completion that is trained on. */
  answerTokens: number;
  /** Whose limits end completions. */
  sampling: GenerateOptions;
  /** Otherwise only training is measured: a run must not take memory for what it does not do. */
  generates: boolean;
}

/** Milliseconds of decoding, of a pass, and of short ones together. */
const DECODE_MS = 1500, PASS_MS = 500, REPEAT_MS = 250;
/** Of a prompt and of its completion, in the first pass. */
const FIRST_TOKENS = 16;
/** Longer prompts are cut, and more lanes than these are no faster. */
const MAX_PROMPT = 128, MAX_LANES = 256;
/** Tokens that come within this many milliseconds come from one step. */
const SAME_STEP_MS = 0.2;

/** @throws what the device throws */
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
  const rowsOf = (most: number, branches: number) =>
    Math.min(promptIds.length, most) + branches * Math.min(answerTokens, most);
  /** Milliseconds a row. */
  const pass = async (most: number, branches: number, train: boolean): Promise<number> => {
    const prompt = promptIds.slice(-most), length = Math.min(answerTokens, most);
    const answer = Array.from({ length }, (_, i) => prompt[i % prompt.length]!);
    const group = { promptId: 0, promptIds: prompt, branches: Array(branches).fill(answer) };
    const start = performance.now(), temperature = 1;
    const { logp } = await model.forward([group], { temperature, train, ...train && { dropout } });
    if (train) {
      model.backward(new Float64Array(logp.length).fill(1e-3));
      model.zeroGrad();
      // A device may still be at work: what it is asked next waits for that.
      const least = { promptIds: prompt.slice(0, 1), branches: [prompt.slice(0, 1)] };
      await model.forward([least], { temperature, train: false });
    }
    return (performance.now() - start) / rowsOf(most, branches);
  };
  // The first time, kernels are made; then ever larger passes, until one of them is as large as it
  // may be.
  await pass(FIRST_TOKENS, 1, true);
  let trained = await pass(FIRST_TOKENS, 1, true);
  const answer = Math.min(answerTokens, MAX_PROMPT),
    prompt = Math.min(promptIds.length, MAX_PROMPT);
  let most = FIRST_TOKENS, branches = 1;
  for (const largest = Math.min(rows, MAX_LANES); branches < largest;) {
    const affordable = Math.floor((PASS_MS / trained - prompt) / answer);
    const larger = Math.min(largest, affordable, 16 * branches);
    if (larger < 2 * branches) break;
    [most, branches] = [MAX_PROMPT, larger];
    trained = Math.min(trained, await pass(most, branches, true));
  }
  /** What a row takes at least, when the pass is done again for as long as that is short. */
  const fastest = async (train: boolean, least: number, branches: number): Promise<number> => {
    const start = performance.now();
    const again = () => rowsOf(most, branches) * least + performance.now() - start < REPEAT_MS;
    while (least === Infinity || again()) {
      least = Math.min(least, await pass(most, branches, train));
    }
    return least;
  };
  return {
    trainedRow: await fastest(true, trained, branches) / 1000,
    forwardRow: generates ? await fastest(false, Infinity, Math.min(branches, lanes)) / 1000 : 0,
  };
}

async function generationSpeed(
  { model, lanes, sampling }: ProbeInput,
  promptIds: readonly number[],
): Promise<Pick<ModelSpeed, "newToken" | "sampled">> {
  const n = Math.min(lanes, MAX_LANES), { maxNewTokens, eosIds } = sampling;
  const stop = sampling.shouldStop ?? (() => false);
  const sample = async (most: number, milliseconds: number) => {
    let first = 0, last = 0, tokens = 0, atOnce = 0, ended = 0;
    const onToken = (_branch: number, token: number) => {
      last = performance.now();
      if (tokens++ === 0) first = last;
      // Those of the prompt's pass come together.
      if (last - first < SAME_STEP_MS && tokens <= n) atOnce = tokens;
      if (eosIds.includes(token)) ended++;
    };
    const shouldStop = () => stop() || (tokens > 0 && performance.now() - first > milliseconds);
    try {
      await model.generate([{ promptId: 0, promptIds, n, onToken }], {
        ...sampling,
        maxNewTokens: most,
        minNewTokens: Math.min(sampling.minNewTokens ?? 0, most),
        shouldStop,
      });
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
    }
    const decoded = tokens - atOnce, seconds = (last - first) / 1000;
    return { newToken: decoded > 0 ? seconds / decoded : 0, sampled: { tokens, ended } };
  };
  // The first time, kernels are made and weights are packed.
  await sample(Math.min(2, maxNewTokens), 0);
  return await sample(maxNewTokens, DECODE_MS);
}
