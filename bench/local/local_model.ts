/**
 * A model on this machine that answers the questions of many tasks together: one generation takes the prompts of
 * all tasks, and gives the place of an answer that has ended to the next question. What is sampled depends on the seed, the problem's index and the sample's number
 * only, as in a run's own evaluation (data/held_out.ts), so neither batches nor a resume change an answer.
 */
import { Interrupted, RgxError } from "../../core/errors.ts";
import { minOf } from "../../core/statistics.ts";
import { EVAL_PROMPT_ID } from "../../data/held_out.ts";
import { planSlots } from "../../models/generation/generation_plan.ts";
import { type LoadedModel, loadModel } from "../../models/load_model.ts";
import { stopStrings } from "../../models/generation/stop_strings.ts";
import type { Completion, GenerateRequest } from "../../models/generation/types.ts";
import { promptIds } from "./prompt.ts";
import type { Answerer, ModelRequest, ModelSettings, OnAnswer, Question } from "../types.ts";
import { createUntrained } from "../plan/untrained.ts";

/** Anything that a model can be loaded onto. */
export type ModelDevice = Parameters<typeof loadModel>[1];

/** Most completions at once where more are always better, unless a user says more; an interrupted benchmark loses as many. */
const MOST_SLOTS = 64, MOST_SLOTS_GPU = 1024;

/** Answers wait so long, milliseconds: what is done with many in a row is done faster. */
const TOLD_MS = 200;

/** A request and the samples of a question that it is for. */
interface Asked {
  question: Question;
  samples: readonly number[];
  request: GenerateRequest;
}

export class LocalModel implements Answerer {
  /** "wasm, 2 threads" */
  readonly device: string;
  /** Seconds in the model; the rest is the harness. */
  modelSeconds = 0;
  readonly #settings: ModelSettings;

  private constructor(
    readonly loaded: Loaded,
    settings: ModelSettings,
  ) {
    const { name, threads, adapter } = loaded.model.device;
    this.device = adapter === undefined
      ? `${name}, ${threads} thread${threads === 1 ? "" : "s"}`
      : `${name}, ${adapter.name}`;
    this.#settings = settings;
  }

  /**
   * @param sharing another model, whose weights are taken where they are the ones asked for
   * @param onLoad told which share of the weights is there, after each tensor that is read
   * @throws UsageError when there is no such model, RgxError when a file is damaged
   */
  static async open(
    { name, where, settings }: Pick<ModelRequest, "name" | "where" | "settings">,
    device: ModelDevice,
    sharing?: LocalModel,
    onLoad: (share: number) => void = () => {},
  ): Promise<LocalModel> {
    if (where.kind === "remote") throw new TypeError(`${name} is not on this machine`);
    const shared = sharing?.loaded, { activations } = settings.sampling;
    const loaded = where.kind === "untrained"
      ? await createUntrained(where.made, device)
      : await loadModel(where.path, device, {
        ...(shared !== undefined && isRead(shared) && { sharing: shared }),
        ...(activations === undefined ? {} : { activations }),
        ...(where.storage === undefined ? {} : { weights: where.storage }),
        ...(where.tokenizer === undefined ? {} : { tokenizer: where.tokenizer }),
        onLoad: (done, total) => {
          if (done > 0) onLoad(done / total);
        },
      });
    return new LocalModel(loaded, settings);
  }

  async answer(
    questions: readonly Question[],
    onAnswer: OnAnswer,
    shouldStop: () => boolean,
  ): Promise<void> {
    const start = performance.now();
    /** Milliseconds of it that are not the model's. */
    let own = 0;
    const asked = this.#requests(questions, onAnswer);
    own += performance.now() - start;
    if (asked.length > 0) {
      let failure: { error: unknown } | null = null;
      const ended: { asked: Asked; completions: readonly Completion[] }[] = [];
      const tell = async () => {
        const began = performance.now();
        try {
          for (const { asked: { question, samples, request }, completions } of ended) {
            samples.forEach((sample, i) =>
              onAnswer(question, sample, this.#read(completions[i]!, request))
            );
          }
        } catch (error) {
          failure ??= { error };
        }
        ended.length = 0;
        // Whoever was told does the rest in this turn.
        await Promise.resolve();
        own += performance.now() - began;
      };
      const generation = this.#open(asked, () => failure !== null || shouldStop());
      const timer = setInterval(tell, TOLD_MS);
      const answers = asked.map(async (one) => {
        ended.push({ asked: one, completions: await generation.add(one.request) });
      });
      // The model is free when all have ended, whatever became of them.
      const results = await Promise.allSettled(answers);
      clearInterval(timer);
      await tell();
      if (failure !== null) throw (failure as { error: unknown }).error;
      const reasons = results.flatMap((end) => end.status === "rejected" ? [end.reason] : []);
      if (reasons.length > 0) {
        throw reasons.find((reason) => !(reason instanceof Interrupted)) ?? reasons[0];
      }
    }
    this.modelSeconds += (performance.now() - start - own) / 1000;
  }

  close(): void {
    this.loaded.model.dispose();
  }

  /** Of questions whose prompts leave room for an answer; the others are answered with that. */
  #requests(questions: readonly Question[], onAnswer: OnAnswer): Asked[] {
    const { maxPositions } = this.loaded.model.config;
    return questions.flatMap((question) => {
      const { set, index } = question, promptIds = this.#ids(set, index);
      if (promptIds.length >= maxPositions) {
        this.#refuse(question, promptIds.length, onAnswer);
        return [];
      }
      return runsOf(question.samples).map((samples) => ({
        question,
        samples,
        request: {
          promptId: EVAL_PROMPT_ID + index,
          promptIds,
          n: samples.length,
          firstBranch: samples[0]!,
        },
      }));
    });
  }

  #ids(set: Question["set"], index: number): number[] {
    const { prompt, keepPromptTokens } = this.#settings;
    const ids = promptIds(set.entries[index]!, set.shots, prompt, this.loaded.tokenizer);
    return keepPromptTokens === null ? ids : ids.slice(-keepPromptTokens);
  }

  /** A prompt that leaves no room for an answer is no reason to lose the others. */
  #refuse(question: Question, promptTokens: number, onAnswer: OnAnswer): void {
    const { maxPositions } = this.loaded.model.config;
    for (const sample of question.samples) {
      onAnswer(question, sample, {
        completion: "",
        truncated: true,
        completion_tokens: 0,
        prompt_tokens: promptTokens,
        device: this.device,
        error: `the prompt has ${promptTokens} tokens, the model ${maxPositions} positions`,
        too_long: true,
      });
    }
  }

  /** A generation with room for as many of these as memory and slots allow. */
  #open(asked: readonly Asked[], shouldStop: () => boolean) {
    const { sampling, seed, batchSize } = this.#settings,
      { tokenizer, eosIds, model } = this.loaded;
    const stopWhen = stopStrings(tokenizer, sampling.stop ?? []);
    const requests = asked.map(({ request }) => request);
    const shortest = minOf(requests.map(({ promptIds }) => promptIds.length));
    const maxNewTokens = Math.min(sampling.max_new_tokens, model.config.maxPositions - shortest);
    const minNewTokens = Math.min(sampling.min_new_tokens ?? 0, maxNewTokens);
    const adjusted = sampling.repetition_penalty !== 1 || minNewTokens > 0;
    const common = model.device.adapter === undefined ? MOST_SLOTS : MOST_SLOTS_GPU;
    const room = planSlots(model.sizes, requests, { maxNewTokens, adjusted }, {
      ...model.generationLimits,
      maxSlots: batchSize ?? Math.min(common, model.bestSlots),
    });
    return model.openGeneration(room, {
      maxNewTokens,
      temperature: sampling.temperature,
      topK: sampling.top_k,
      topP: sampling.top_p,
      minP: sampling.min_p,
      repetitionPenalty: sampling.repetition_penalty,
      minNewTokens,
      seed,
      eosIds,
      shouldStop,
      ...(sampling.activations === undefined ? {} : { activations: sampling.activations }),
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

type Loaded = Pick<LoadedModel, "model" | "tokenizer" | "eosIds"> & Partial<LoadedModel>;

/** Not made from a seed. */
const isRead = (loaded: Loaded): loaded is LoadedModel => loaded.base !== undefined;

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
