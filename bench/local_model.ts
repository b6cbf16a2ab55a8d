/**
 * A model on this machine that answers the questions of many tasks together: prompts of all tasks share the
 * batches of one loaded model. What is sampled depends on the seed, the problem's index and the sample's number
 * only, as in a run's own evaluation (data/held_out.ts), so neither batches nor a resume change an answer.
 */
import { RgxError } from "../core/errors.ts";
import { EVAL_PROMPT_ID } from "../data/held_out.ts";
import { type LoadedModel, loadModel } from "../models/load_model.ts";
import { stopStrings } from "../models/stop_strings.ts";
import type { Completion, GenerateRequest } from "../models/types.ts";
import { promptIds } from "./prompt.ts";
import type { Answerer, ModelRequest, ModelSettings, OnAnswer, Question } from "./types.ts";
import { createUntrained } from "./untrained.ts";

/** Anything that a model can be loaded onto. */
export type ModelDevice = Parameters<typeof loadModel>[1];

/**
 * Completions at once; the model itself cuts what does not fit its memory. A processor's caches hold the state of
 * few, a graphics card is busy with many only.
 */
const FIRST_BATCH = 32, LARGEST_BATCH = 64, LARGEST_BATCH_GPU = 1024;
/** Seconds between two reports that the batch size aims at. */
const FASTER = 1, SLOWER = 10;

export class LocalModel implements Answerer {
  /** "wasm, 2 threads" */
  readonly device: string;
  /** Seconds in the model; the rest is the harness. */
  modelSeconds = 0;
  readonly #settings: ModelSettings;

  private constructor(
    readonly loaded: Pick<LoadedModel, "model" | "tokenizer" | "eosIds">,
    settings: ModelSettings,
  ) {
    const { name, threads, adapter } = loaded.model.device;
    this.device = adapter === undefined
      ? `${name}, ${threads} thread${threads === 1 ? "" : "s"}`
      : `${name}, ${adapter.name}`;
    this.#settings = settings;
  }

  /** @throws UsageError when there is no such model, RgxError when a file is damaged */
  static async open(
    { name, where, settings }: Pick<ModelRequest, "name" | "where" | "settings">,
    device: ModelDevice,
  ): Promise<LocalModel> {
    if (where.kind === "remote") throw new TypeError(`${name} is not on this machine`);
    const loaded = where.kind === "untrained"
      ? await createUntrained(where.made, device)
      : await loadModel(where.path, device);
    return new LocalModel(loaded, settings);
  }

  async answer(
    questions: readonly Question[],
    onAnswer: OnAnswer,
    shouldStop: () => boolean,
  ): Promise<void> {
    const pending = questions.flatMap((question) =>
      runsOf(question.samples).map((samples) => ({ question, samples }))
    );
    const onCpu = this.loaded.model.device.adapter === undefined;
    const largest = onCpu ? LARGEST_BATCH : LARGEST_BATCH_GPU;
    let size = FIRST_BATCH;
    for (let at = 0; at < pending.length;) {
      const batch: { question: Question; samples: number[]; request: GenerateRequest }[] = [];
      for (let branches = 0; at < pending.length && branches < size; at++) {
        const { question, samples } = pending[at]!;
        const request = this.#request(question, samples);
        if (request === null) this.#refuse(question, samples, onAnswer);
        else batch.push({ question, samples, request });
        branches += samples.length;
      }
      const start = performance.now();
      const completions = await this.#generate(batch.map(({ request }) => request), shouldStop);
      const seconds = (performance.now() - start) / 1000;
      this.modelSeconds += seconds;
      if (seconds < FASTER) size = Math.min(largest, size * 2);
      if (seconds > SLOWER) size = Math.max(1, size / 2);
      batch.forEach(({ question, samples, request }, i) =>
        samples.forEach((sample, branch) =>
          onAnswer(question, sample, this.#read(completions[i]![branch]!, request))
        )
      );
    }
  }

  close(): void {
    this.loaded.model.dispose();
  }

  #request({ set, index }: Question, samples: readonly number[]): GenerateRequest | null {
    const ids = this.#ids(set, index);
    if (ids.length >= this.loaded.model.config.maxPositions) return null;
    return {
      promptId: EVAL_PROMPT_ID + index,
      promptIds: ids,
      n: samples.length,
      firstBranch: samples[0]!,
    };
  }

  #ids(set: Question["set"], index: number): number[] {
    const { prompt, keepPromptTokens } = this.#settings;
    const ids = promptIds(set.entries[index]!, set.shots, prompt, this.loaded.tokenizer);
    return keepPromptTokens === null ? ids : ids.slice(-keepPromptTokens);
  }

  /** A prompt that leaves no room for an answer is no reason to lose the others. */
  #refuse({ set, index }: Question, samples: readonly number[], onAnswer: OnAnswer): void {
    const count = this.#ids(set, index).length, { maxPositions } = this.loaded.model.config;
    for (const sample of samples) {
      onAnswer({ set, index, samples }, sample, {
        completion: "",
        truncated: true,
        completion_tokens: 0,
        prompt_tokens: count,
        device: this.device,
        error: `the prompt has ${count} tokens, the model ${maxPositions} positions`,
        too_long: true,
      });
    }
  }

  #generate(
    requests: readonly GenerateRequest[],
    shouldStop: () => boolean,
  ): Promise<Completion[][]> {
    const { sampling, seed } = this.#settings, { tokenizer, eosIds, model } = this.loaded;
    const stopWhen = stopStrings(tokenizer, sampling.stop ?? []);
    return model.generate(requests, {
      maxNewTokens: sampling.max_new_tokens,
      temperature: sampling.temperature,
      topK: sampling.top_k,
      topP: sampling.top_p,
      minP: sampling.min_p,
      repetitionPenalty: sampling.repetition_penalty,
      minNewTokens: sampling.min_new_tokens ?? 0,
      seed,
      eosIds,
      shouldStop,
      ...(stopWhen === null ? {} : { stopWhen }),
    });
  }

  #read({ ids, finishReason }: Completion, { promptIds }: GenerateRequest) {
    const { tokenizer } = this.loaded;
    const ended = finishReason === "stop" || (ids.length > 0 && ids.at(-1) === tokenizer.padId);
    return {
      completion: tokenizer.decode(ids, { skipSpecialTokens: true }),
      truncated: !ended,
      completion_tokens: ids.length,
      prompt_tokens: promptIds.length,
      device: this.device,
    };
  }
}

/** Ascending numbers as runs without gaps: what a request can ask for at once. */
export function runsOf(numbers: readonly number[]): number[][] {
  const runs: number[][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last !== undefined && last.at(-1) === number - 1) last.push(number);
    else if (last !== undefined && last.at(-1)! >= number) {
      throw new RgxError(`samples must ascend, found ${numbers.join(", ")}`);
    } else runs.push([number]);
  }
  return runs;
}
