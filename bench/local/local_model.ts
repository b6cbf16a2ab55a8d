/**
 * A model on this machine. It answers the questions of many tasks together: one generation takes
 * all prompts, and as soon as a completion has ended its slot goes to the next one. The completions
 * are those of a run's own evaluation (`drawArguments`), so neither batches nor a resume change an
 * answer.
 */
import { counted } from "../../core/counted.ts";
import { RgxError } from "../../core/errors.ts";
import { type Dialogue, type DialogueSetup, endTokens } from "../dialogue/dialogue.ts";
import { evaluateDialogues } from "../dialogue/evaluate_dialogues.ts";
import { sampledTokens } from "../dialogue/segments.ts";
import { drawArguments } from "../evaluation/sampling.ts";
import { EVAL_PROMPT_ID } from "../../data/held_out.ts";
import { PromptEncoder } from "../evaluation/prompt_encoder.ts";
import type {
  Completion,
  GenerateRequest,
  GenerationTiming,
} from "../../models/generation/types.ts";
import { type LoadedModel, loadModel } from "../../models/load_model.ts";
import {
  type OpenEnvironments,
  openEnvironments,
} from "../../rewards/environments/open_environments.ts";
import type { Answerer, Answerers, OnAnswer, Question, RawAnswer } from "../answerer.ts";
import { type ModelRequest, type ModelSettings, sharedWeights } from "../plan/model_request.ts";
import { createUntrained } from "../plan/starting_model.ts";

/** Anything that a model can be loaded onto. */
export type ModelDevice = Parameters<typeof loadModel>[1];

/**
 * Default maximum batch on devices where a larger batch is always faster. An interrupted benchmark
 * loses at most a batch of completions.
 */
const MAX_SLOTS = 64, MAX_SLOTS_GPU = 1024;

const NO_ANSWER = { completion: "", truncated: true, completion_tokens: 0 };

class LocalModel implements Answerer {
  /** "wasm, 2 threads" */
  readonly device: string;
  modelSeconds = 0;
  readonly #settings: ModelSettings;
  readonly #prompts: PromptEncoder;
  /** null: an answer is one turn. */
  readonly #dialogues: DialogueSetup | null;

  private constructor(
    readonly loaded: Loaded,
    settings: ModelSettings,
    environments: OpenEnvironments | null,
  ) {
    const { name, threads, adapter } = loaded.model.device;
    this.device = adapter === undefined
      ? `${name}, ${counted(threads, "thread")}`
      : `${name}, ${adapter.name}`;
    this.#settings = settings;
    const { prompt, keepPromptTokens, dialogues } = settings;
    const encoder = (eosIds: readonly number[]) =>
      new PromptEncoder(loaded.tokenizer, prompt, eosIds, keepPromptTokens);
    const limits = dialogues?.limits, plain = encoder(loaded.eosIds);
    this.#prompts = limits === undefined
      ? plain
      : encoder(endTokens(plain, environments, limits.format));
    const { maxPositions } = loaded.model.config;
    this.#dialogues = environments && { environments, limits: limits!, maxPositions };
  }

  /**
   * @param sharing another model; its weights are shared where they are the ones asked for
   * @param onLoad called with the share of the weights that is loaded, after each tensor
   * @throws UsageError when there is no such model, RgxError when a file is damaged
   */
  static async open(
    { name, where, settings }: Pick<ModelRequest, "name" | "where" | "settings">,
    device: ModelDevice,
    sharing?: LocalModel,
    onLoad: (share: number) => void = () => {},
  ): Promise<LocalModel> {
    if (where.kind === "remote") throw new TypeError(`${name} is not on this machine`);
    const shared = sharing?.loaded, { activations, compute_dtype } = settings.sampling;
    device.computeDtype = compute_dtype ?? "float32";
    const loaded = where.kind === "untrained"
      ? await createUntrained(where.made, device)
      : await loadModel(where.path, device, {
        ...(shared !== undefined && isFromFiles(shared) && { sharing: shared }),
        ...(activations === undefined ? {} : { activations }),
        ...(where.storage === undefined ? {} : { weights: where.storage }),
        ...(where.tokenizer === undefined ? {} : { tokenizer: where.tokenizer }),
        onLoad: (done, total) => {
          if (done > 0) onLoad(done / total);
        },
      });
    const environments = settings.dialogues && await openEnvironments(settings.dialogues);
    return new LocalModel(loaded, settings, environments ?? null);
  }

  async answer(
    questions: readonly Question[],
    onAnswer: OnAnswer,
    shouldStop: () => boolean,
  ): Promise<void> {
    if (this.#dialogues !== null) {
      return await this.#play(this.#dialogues, questions, onAnswer, shouldStop);
    }
    const start = performance.now();
    /** Milliseconds spent outside the model. */
    let harness = 0;
    const asked = this.#ask(questions, onAnswer);
    harness += performance.now() - start;
    if (asked.size > 0) {
      let failure: { error: unknown } | null = null;
      const onEnd = (request: GenerateRequest, completions: readonly Completion[]) => {
        const began = performance.now();
        const { firstBranch = 0, promptIds } = request, question = asked.get(request)!;
        try {
          completions.forEach((completion, i) => {
            onAnswer(question, firstBranch + i, this.#read(completion, promptIds.length));
            // The generation keeps all completions until its end: a benchmark may have millions.
            completion.ids = [];
            completion.logprobs = [];
          });
        } catch (error) {
          failure ??= { error };
        }
        harness += performance.now() - began;
      };
      const [options, limits] = drawArguments(this.#settings.sampling, this.#prompts, {
        ...this.#draws,
        shouldStop: () => failure !== null || shouldStop(),
      });
      const end = await this.loaded.model.generate([...asked.keys()], { ...options, onEnd }, limits)
        .then(() => null, (error: unknown) => ({ error }));
      const thrown = failure ?? end;
      if (thrown !== null) throw (thrown as { error: unknown }).error;
    }
    this.modelSeconds += (performance.now() - start - harness) / 1000;
  }

  close(): void {
    this.loaded.model.dispose();
  }

  /** How completions and dialogues are drawn. */
  get #draws() {
    const { seed, batchSize } = this.#settings;
    const isCard = this.loaded.model.device.adapter !== undefined;
    const slots = batchSize ?? (isCard ? MAX_SLOTS_GPU : MAX_SLOTS);
    return { seed, slots, slotsAreFixed: batchSize !== undefined };
  }

  /** Plays dialogues in batches, one after the other. Those of a batch go on together. */
  async #play(
    setup: DialogueSetup,
    questions: readonly Question[],
    onAnswer: OnAnswer,
    shouldStop: () => boolean,
  ): Promise<void> {
    const { sampling } = this.#settings, draws = this.#draws, { slots } = draws;
    const model: Pick<LoadedModel["model"], "generateDialogues"> = {
      generateDialogues: (room, options, ...more) => {
        const onTiming = ({ prefillSeconds, decodeSeconds }: GenerationTiming) => {
          this.modelSeconds += prefillSeconds + decodeSeconds;
        };
        return this.loaded.model.generateDialogues(room, { ...options, onTiming }, ...more);
      },
    };
    const asked = questions.flatMap((question) =>
      runsOf(question.samples).map((samples) => {
        const { index, set: { entries, shots, isOwn: isOwnData } } = question;
        const promptId = EVAL_PROMPT_ID + index, entry = entries[index]!;
        const branches = { firstBranch: samples[0]!, branches: samples.length };
        return { question, promptId, entry, shots, isOwnData, ...branches };
      })
    );
    const options = { setup, ...draws, shouldStop, mayFail: true };
    try {
      for (let at = 0; at < asked.length;) {
        const batch = [asked[at++]!];
        for (let size = batch[0]!.branches; at < asked.length; batch.push(asked[at++]!)) {
          size += asked[at]!.branches;
          if (size > slots) break;
        }
        const played = await evaluateDialogues(model, this.#prompts, batch, sampling, options);
        for (const [i, { question, firstBranch }] of batch.entries()) {
          played[i]!.forEach((dialogue, k) =>
            onAnswer(question, firstBranch + k, this.#readDialogue(dialogue))
          );
        }
      }
    } finally {
      await setup.environments.close();
    }
  }

  /**
   * The requests for questions. A question whose prompt leaves no room for an answer is answered at
   * once, with an error.
   */
  #ask(questions: readonly Question[], onAnswer: OnAnswer): Map<GenerateRequest, Question> {
    const { maxPositions } = this.loaded.model.config;
    const requests = new Map<GenerateRequest, Question>();
    for (const question of questions) {
      const { set, index } = question, promptId = EVAL_PROMPT_ID + index;
      const { ids: promptIds } = this.#prompts.prompt(set.entries[index]!, set.shots, set.isOwn);
      const isTooLong = promptIds.length >= maxPositions;
      for (const samples of runsOf(question.samples)) {
        const request = { promptId, promptIds, n: samples.length, firstBranch: samples[0]! };
        if (!isTooLong) requests.set(request, question);
        else {
          const answer = { ...NO_ANSWER, ...this.#tooLong(promptIds.length) };
          samples.forEach((sample) => onAnswer(question, sample, answer));
        }
      }
    }
    return requests;
  }

  /** A prompt that leaves no room for an answer must not stop the other questions. */
  #tooLong(promptTokens: number) {
    const { maxPositions } = this.loaded.model.config;
    return {
      prompt_tokens: promptTokens,
      device: this.device,
      error: `the prompt has ${promptTokens} tokens, the model ${maxPositions} positions`,
      too_long: true as const,
    };
  }

  #readDialogue(
    { prompt, segments, messages, text, truncated, reward, about }: Dialogue,
  ): RawAnswer {
    const { stop, turns, error } = about;
    return {
      completion: text,
      truncated,
      completion_tokens: sampledTokens({ segments }),
      prompt_tokens: prompt.ids.length,
      device: this.device,
      dialogue: { messages, reward, ...about },
      ...(stop === "error" && { error: `the environment failed: ${error}` }),
      ...(stop === "context_overflow" && turns === 0 && this.#tooLong(prompt.ids.length)),
    };
  }

  #read(completion: Completion, promptTokens: number): RawAnswer {
    const { text, truncated } = this.#prompts.read(completion);
    return {
      completion: text,
      truncated,
      completion_tokens: completion.ids.length,
      prompt_tokens: promptTokens,
      device: this.device,
    };
  }
}

type Loaded = Pick<LoadedModel, "model" | "tokenizer" | "eosIds"> & Partial<LoadedModel>;

/** Whether the model was read from files, not made from a seed. */
const isFromFiles = (loaded: Loaded): loaded is LoadedModel => loaded.base !== undefined;

/** Splits ascending numbers into runs of consecutive ones: a request asks for one run. */
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

// The models on this machine, which a benchmark asks one after the other. Models with the same
// weights (adapters of one base, or the base itself; run_jobs.ts puts them in a row) share them.

export class LocalModels implements Answerers {
  #last: { model: LocalModel; weights: string | null } | null = null;

  constructor(readonly device: ModelDevice) {}

  /** @throws UsageError when there is no such model, RgxError when a file is damaged */
  async open(request: ModelRequest, onLoad?: (share: number) => void): Promise<Answerer> {
    const weights = sharedWeights(request);
    if (weights === null || this.#last?.weights !== weights) this.close();
    const model = await LocalModel.open(request, this.device, this.#last?.model, onLoad);
    this.close();
    this.#last = { model, weights };
    return model;
  }

  close(): void {
    this.#last?.model.close();
    this.#last = null;
  }
}
