/**
 * Samples on servers (`generation.backend: openai`). Before a batch, the adapter of the present
 * policy goes to each server that is asked. The first completions of a server are compared with the
 * trainer's own log-probabilities, so one with another model or tokenizer is found before a step
 * is trained on it.
 *
 * With `max_staleness` k, the batch of step s + k begins when step s does, so servers sample while
 * the trainer trains. It then always trains on samples of the policy of exactly k steps ago (fewer
 * in the first steps), never on whatever is ready: a run has the same results each time. A
 * checkpoint holds the older policies (`stalePolicies`), and a resumed run samples again what it
 * had begun.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { Interrupted, RgxError } from "../../core/errors.ts";
import { HttpClient } from "../../core/remote/http.ts";
import { stoppable } from "../../core/remote/retry.ts";
import { runSampling, runSamplingSeed } from "../../bench/evaluation/sampling.ts";
import type {
  Ask,
  Completion,
  DialogueRoom,
  GenerateRequest,
} from "../../models/generation/types.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { ModelWriter } from "../checkpoint/checkpoint_files.ts";
import {
  type ComingBatch,
  type Conversation,
  type ConverseOptions,
  OwnSampler,
  type Sampled,
  type Sampler,
} from "../rollout/sampler.ts";
import { policyLogp } from "../step/gradient_accumulation.ts";
import { RolloutServer } from "./rollout_server.ts";
import { bytesOf, ServedAdapter } from "./served_adapter.ts";
import { type Answered, NoServer, ServerPool } from "./server_pool.ts";
import type { WireOptions } from "./wire.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { TrainerOptions } from "../run/trainer_options.ts";

export interface RemoteSamplerOptions {
  config: RunConfig;
  model: CausalLM;
  modelWriter: ModelWriter;
  eosIds: readonly number[];
  device: string;
  onNote: (message: string) => void;
  /** Older policies of a checkpoint, by the number of their steps. */
  stale?: ReadonlyMap<number, Uint8Array>;
  /** Milliseconds before a server that is down is asked again, doubled up to 5 s. */
  firstDelay?: number;
}

/**
 * Mean difference of log-probabilities at which the first completions of a server are taken for
 * those of another model; with samples of an older policy, the same.
 */
const WRONG_MODEL = 0.05, WRONG_MODEL_STALE = 0.5;
/** Differences up to this are rounding: an rgx of the same version needs no correction then. */
const ROUNDING = 0.01;
/** After a batch has begun, its requests need some turns of the event loop to be sent. */
const SEND_MS = 10;

const ADAPTER_CONFIG = "adapter_config.json";

interface Begun {
  adapter: ServedAdapter;
  answers: Promise<Answered[]>;
  /** Steps that were done when the batch was taken. A step that is interrupted needs it again. */
  takenAt: number | null;
}

export class RemoteSampler implements Sampler {
  readonly maxStaleness: number;
  readonly kept = null;
  readonly #pool: ServerPool;
  readonly #client = new HttpClient();
  readonly #wire: WireOptions;
  readonly #begun = new Map<number, Begun>();
  readonly #adapters = new Map<number, ServedAdapter>();
  readonly #control = new AbortController();
  #opened: Promise<void> | null = null;

  /** @throws UsageError for an address that is none */
  constructor(private readonly options: RemoteSamplerOptions) {
    const { config, model, eosIds, device, onNote, firstDelay } = options;
    const { generation, training } = config;
    this.maxStaleness = generation.max_staleness;
    this.#wire = { sampling: runSampling(training), seed: runSamplingSeed(training), eosIds };
    const servers = generation.base_url!.map((url) =>
      new RolloutServer(url, generation.api_key_env, {
        wire: this.#wire,
        vocabSize: model.vocabSize,
        device,
        computeDtype: training.compute_dtype,
        adapterFolder: `${training.output_dir}/rollout_adapters`,
        adaptersKept: this.maxStaleness + 1,
        client: this.#client,
      })
    );
    this.#pool = new ServerPool(servers, {
      timeout: generation.server_timeout,
      onNote,
      ...(firstDelay === undefined ? {} : { firstDelay }),
    });
  }

  /** Waits for a server. @throws NoServer; Interrupted; RgxError when all servers refuse */
  open(shouldStop: () => boolean): Promise<void> {
    return this.#opened ??= this.#stoppable(shouldStop, this.#pool.open(this.#control.signal));
  }

  async begin(step: number, batches: readonly ComingBatch[]): Promise<void> {
    const fresh = batches.filter(({ firstPrompt }) => !this.#begun.has(firstPrompt));
    for (const { firstPrompt, requests } of fresh) {
      // After a resume, the batches that had begun are sampled by the policies of that time.
      const ahead = batches.findIndex((batch) => batch.firstPrompt === firstPrompt);
      const version = Math.max(0, step - this.maxStaleness + ahead);
      const stale = this.options.stale?.has(version) === true ? version : step;
      this.#start(firstPrompt, requests(), await this.#adapter(stale, step));
    }
    if (fresh.length > 0) await new Promise((resolve) => setTimeout(resolve, SEND_MS));
  }

  async sample(
    requests: readonly GenerateRequest[],
    step: number,
    shouldStop: () => boolean,
  ): Promise<Sampled> {
    const first = requests[0];
    if (first === undefined) return { completions: [], other: false };
    await this.open(shouldStop);
    await this.#forget(step);
    const begun = this.#begun.get(first.promptId) ??
      this.#start(first.promptId, requests, await this.#adapter(step, step));
    const { adapter } = begun, isStale = adapter.step !== step;
    const answered = await this.#stoppable(shouldStop, begun.answers);
    for (let rows = [...requests.keys()]; rows.length > 0;) {
      for (const row of rows) await this.#verify(requests[row]!, answered[row]!, isStale);
      rows = rows.filter((row) => this.#pool.isLeftOut(answered[row]!.server));
      if (rows.length === 0) break;
      // Other servers sample what a wrong one has answered.
      const again = this.#pool.sample(
        rows.map((row) => requests[row]!),
        adapter,
        this.#control.signal,
      );
      for (const [i, answer] of (await this.#stoppable(shouldStop, again)).entries()) {
        answered[rows[i]!] = answer;
      }
    }
    this.#pool.hasSampled();
    begun.takenAt = step;
    return {
      completions: answered.map(({ completions }) => completions),
      other: this.maxStaleness > 0 || answered.some(({ server }) => server.sameEngine !== true),
    };
  }

  /** Each turn is a request of its own. A server that is rgx keeps what it has computed. */
  async converse<T>(
    _room: DialogueRoom,
    { step, greedy }: ConverseOptions,
    shouldStop: () => boolean,
    play: (ask: Ask) => Promise<T>,
  ): Promise<Conversation<T>> {
    await this.open(shouldStop);
    await this.#forget(step);
    const adapter = await this.#adapter(step, step);
    let other = false, verified = Promise.resolve();
    const ask = async (request: GenerateRequest): Promise<readonly Completion[]> => {
      const { sampling } = request, how = { ...sampling, ...(greedy ? { temperature: 0 } : {}) };
      const asked = { ...request, sampling: how };
      const [answer] = await this.#pool.sample([asked], adapter, this.#control.signal);
      const { server, completions } = answer!;
      await (verified = verified.then(() => this.#verify(request, answer!, false)));
      // Another server samples what a wrong one has answered.
      if (this.#pool.isLeftOut(server)) return await ask(request);
      this.#pool.hasSampled();
      other ||= server.sameEngine !== true;
      return completions;
    };
    return { played: await this.#stoppable(shouldStop, play(ask)), other };
  }

  stalePolicies(step: number): ReadonlyMap<number, Uint8Array> {
    const { weightsFile } = this.options.modelWriter;
    const adapters = [...this.#begun.values()]
      .filter(({ takenAt }) => takenAt === null || takenAt >= step).map(({ adapter }) => adapter);
    return new Map(
      adapters.filter((adapter) => adapter.step < step)
        .map((adapter) => [adapter.step, adapter.files.get(weightsFile)!]),
    );
  }

  async close(): Promise<void> {
    this.#control.abort(new Interrupted());
    await this.#pool.close();
    await Promise.allSettled([...this.#begun.values()].map(({ answers }) => answers));
    for (const adapter of this.#adapters.values()) await adapter.removeFolder();
    this.#client[Symbol.dispose]();
  }

  #start(key: number, requests: readonly GenerateRequest[], adapter: ServedAdapter): Begun {
    const answers = this.#pool.sample(requests, adapter, this.#control.signal);
    // An error is thrown when the batch is wanted.
    answers.catch(() => {});
    const begun = { adapter, answers, takenAt: null };
    this.#begun.set(key, begun);
    return begun;
  }

  /** The adapter after `version` steps; `step` are those of the model as it is now. */
  async #adapter(version: number, step: number): Promise<ServedAdapter> {
    const known = this.#adapters.get(version);
    if (known !== undefined) return known;
    const { modelWriter, stale } = this.options;
    const files = modelWriter.files(), old = version === step ? undefined : stale?.get(version);
    const adapter = new ServedAdapter(
      version,
      await bytesOf(
        new Map([
          [ADAPTER_CONFIG, files.get(ADAPTER_CONFIG)!],
          [modelWriter.weightsFile, old ?? files.get(modelWriter.weightsFile)!],
        ]),
      ),
    );
    this.#adapters.set(version, adapter);
    return adapter;
  }

  /** Drops batches of steps that are done, and adapters that no batch needs any more. */
  async #forget(step: number): Promise<void> {
    for (const [key, { takenAt }] of this.#begun) {
      if (takenAt !== null && takenAt < step) this.#begun.delete(key);
    }
    const used = new Set([...this.#begun.values()].map(({ adapter }) => adapter.step));
    for (const [version, adapter] of this.#adapters) {
      if (version === step || used.has(version)) continue;
      this.#adapters.delete(version);
      await adapter.removeFolder();
    }
  }

  /** Once after each of its starts. One of another model is left out. */
  async #verify(request: GenerateRequest, answer: Answered, isStale: boolean): Promise<void> {
    const { server, start, completions: [completion] } = answer, { model, config } = this.options;
    if (completion === undefined || server.verified.has(start) || this.#pool.isLeftOut(server)) {
      return;
    }
    const [own] = await policyLogp(model, [{
      group: 0,
      promptId: request.promptId,
      branch: 0,
      promptIds: request.promptIds,
      ids: completion.ids,
      advantage: 0,
      oldLogp: null,
    }], { microBatchSize: 1, temperature: config.training.temperature });
    const differences = completion.logprobs.map((value, t) => Math.abs(value - own![t]!))
      .filter((difference) => !Number.isNaN(difference));
    if (differences.length === 0) return;
    server.verified.add(start);
    const mean = differences.reduce((a, b) => a + b, 0) / differences.length;
    const { top_p, top_k, min_p, repetition_penalty } = this.#wire.sampling;
    const filtered = top_p < 1 || top_k > 0 || min_p > 0 || repetition_penalty !== 1;
    if (mean > (isStale ? WRONG_MODEL_STALE : WRONG_MODEL)) {
      const text = `${server.url}: its log-probabilities differ from the trainer's by ` +
        `${mean.toPrecision(2)} on average over ${differences.length} tokens`;
      // A server may renormalise over the tokens that the filters leave.
      if (filtered && !server.isRgx) return this.options.onNote(text);
      return this.#pool.leaveOut(
        server,
        new RgxError(text, {
          advice: "Does it serve the model of model_name_or_path, in the same precision? vLLM " +
            "needs --logprobs-mode processed_logprobs.",
        }),
      );
    }
    if (!isStale && server.sameEngine && Math.max(...differences) > ROUNDING) {
      server.sameEngine = false;
      this.options.onNote(
        `${server.url}: its log-probabilities differ from the trainer's (it may hold the ` +
          "weights in another type), so the loss is corrected",
      );
    }
  }

  async #stoppable<T>(shouldStop: () => boolean, work: Promise<T>): Promise<T> {
    const check = () => {
      if (shouldStop()) throw new Interrupted();
    };
    try {
      return await stoppable(check, work);
    } catch (error) {
      if (error instanceof NoServer) this.options.onNote(`${error.message} (${error.advice})`);
      throw error;
    }
  }
}

/** @param stale older policies of a checkpoint, by the number of their steps */
export function samplerOf(
  { config, model, modelWriter, device }: TrainerOptions,
  prompts: PromptEncoder,
  stale: ReadonlyMap<number, Uint8Array>,
  onNote: (message: string) => void,
): Sampler {
  if (config.generation.backend === "in_process") {
    return new OwnSampler(model, config.training, prompts, config.generation);
  }
  return new RemoteSampler({
    config,
    model,
    modelWriter,
    stale,
    eosIds: prompts.eosIds,
    device: device.name,
    onNote,
  });
}
