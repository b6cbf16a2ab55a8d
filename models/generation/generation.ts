/**
 * Continuous batching. Requests wait in a queue and can come at any time. Their prompts are
 * prefilled in batches when there is room, and every branch decodes in a slot that goes to the next
 * branch as soon as it ends. A prompt is computed and kept in the KV cache once for all its
 * branches; its rows of the cache are released when the last of them ends.
 *
 * What a branch samples depends only on (seed, promptId, branch, position), its sampling
 * parameters and its logits, not on the other branches, its slot, or how often the host reads
 * tokens. Tokens after a branch's end are dropped. The prefix that a prompt shares with one in the
 * cache is not computed again (cache/prompt_cache.ts). Models with other adapters on the same base
 * can join; the rows of each make steps of their own. This file schedules; decoder.ts runs them.
 */
import { Interrupted, RgxError } from "../../core/errors.ts";
import type { Network } from "../network/weights/model_weights.ts";
import type { Workspace } from "../network/workspace.ts";
import type { PrefillPrompt } from "./cache/prefill_batch.ts";
import { promptAlignment, releasePrompt, RowAllocator } from "./cache/cached_prompt.ts";
import { PromptCache } from "./cache/prompt_cache.ts";
import { Decoder, type DecoderShape, rowsFor } from "./decoder.ts";
import { DecodeRounds } from "./decode_rounds.ts";
import {
  type Branch,
  byDecoder,
  cacheKeys,
  checkFits,
  checkRequest,
  decoderOf,
  type Job,
  newBranch,
  type Pass,
  tooSmall,
} from "./generation_job.ts";
import { lostAnswer, nextPrompts, type PlacedPrompt } from "./next_prompts.ts";
import type { SharedWeights } from "./packed_weights.ts";
import { balanceRows, rowThreads } from "./row_threads.ts";
import { adjustsLogits, type SamplingParams, samplingParams } from "./sampling/sampling_params.ts";
import type {
  Completion,
  GenerateOptions,
  GenerateRequest,
  GenerationTiming,
  JoinedModel,
  SamplingOptions,
} from "./types.ts";

/** While more branches wait than fit, prompts are prefilled when this share of slots is free. */
const REFILL_SHARE = 1 / 8;

/**
 * Generation on one model and those that have joined it. No other pass of the model may run while
 * it works, except through `pass`.
 */
export class Generation {
  readonly #decoder: Decoder;
  readonly #joined = new Map<JoinedModel, Decoder>();
  readonly #promptRows: RowAllocator;
  readonly #branchRows: RowAllocator;
  readonly #freeSlots: number[];
  /** Requests whose prompts have not been prefilled. */
  readonly #queue: Job[] = [];
  /** Requests under way that have a signal. Thousands may wait that have none. */
  readonly #abortable = new Set<Job>();
  /** Branches that have their first token and wait for a slot. */
  #prefilled: Branch[] = [];
  /** Branches in slots; those of one model, and of one prompt, are neighbours. */
  #active: readonly Branch[] = [];
  readonly #passes: Pass[] = [];
  readonly #rounds: DecodeRounds;
  readonly #prompts: PromptCache<Decoder>;
  #queuedBranches = 0;
  #work: Promise<void> | null = null;
  #lastPause = 0;
  #checkedDefaults: SamplingParams | null = null;
  /** Seconds and tokens of all its work so far. */
  readonly timing: GenerationTiming = {
    promptTokens: 0,
    sharedTokens: 0,
    newTokens: 0,
    prefillSeconds: 0,
    decodeSeconds: 0,
  };

  /**
   * `CausalLM.openGeneration` makes one.
   * @param defaults options for whatever a request's `sampling` does not set
   * @param prepare called before the model is used, whenever requests come after a pause
   * @param shared the weights that joined models may use
   */
  constructor(
    private readonly network: Network,
    private readonly workspace: Workspace,
    /** @internal */
    readonly shape: GenerationShape,
    private readonly defaults: GenerateOptions,
    private readonly prepare: () => void,
    /** @internal */
    readonly shared: SharedWeights,
  ) {
    this.#decoder = new Decoder(network, workspace, shape, defaults.keep);
    const { promptRows, promptStates, kvCacheDtype } = shape;
    const align = promptAlignment(network.config, kvCacheDtype);
    const states = network.config.delta === undefined ? null : new RowAllocator(promptStates, 1);
    this.#promptRows = new RowAllocator(promptRows, align, states);
    const { slots, maxNewTokens, branchRows } = shape;
    this.#branchRows = new RowAllocator(branchRows ?? slots * rowsFor(maxNewTokens), 1);
    this.#freeSlots = Array.from({ length: shape.slots }, (_, i) => shape.slots - 1 - i);
    const rows = { prompts: this.#promptRows, answers: this.#branchRows };
    this.#prompts = new PromptCache(rows, shape.keptPrompts);
    this.#rounds = new DecodeRounds(
      network,
      shape.stepsPerRead,
      (branch, token, logprob, logits) => this.#append(branch, token, logprob, logits),
    );
  }

  /**
   * Lets requests name another model, whose network has the same sizes and another adapter.
   * @param release frees what the network needs for itself
   * @internal
   */
  join(network: Network, release: () => void): JoinedModel {
    const decoder = new Decoder(network, this.workspace, this.shape);
    this.#forgetSteps(); // buffers that its adapter needs larger have been replaced
    const joined: JoinedModel = {
      leave: () => {
        if ([...this.#queue, ...this.#running()].some((work) => decoderOf(work) === decoder)) {
          throw new RgxError("generate: a model cannot leave while its requests are under way");
        }
        this.#joined.delete(joined);
        this.#prompts.releaseOf(decoder);
        decoder.forget();
        release();
      },
    };
    this.#joined.set(joined, decoder);
    return joined;
  }

  /** Does another pass of the model between two steps, when it may use the shared buffers. */
  pass<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#passes.push({ work: () => work().then(resolve, reject), reject });
      this.#work ??= this.#run();
    });
  }

  /**
   * Adds a request. Its completions come when all of its branches have ended. It fails with
   * `Interrupted` when `shouldStop` returns true, with the reason of its signal, or with the
   * device's error.
   * @throws RgxError at once for a request that is impossible
   */
  add(request: GenerateRequest): Promise<Completion[]> {
    const params = this.#params(request), { promptIds, n, signal, model } = request;
    const { config } = this.network, { maxPositions } = config;
    checkRequest(request, config);
    checkFits(request, params, this.shape, config);
    const decoder = model === undefined ? this.#decoder : this.#joined.get(model);
    if (decoder === undefined) throw new RgxError("generate: the request's model has left");
    const isOther = adjustsLogits(params) || params.samplerKey !== this.#defaultParams.samplerKey;
    if (isOther && !this.shape.adjusted) {
      throw tooSmall("it was made for requests that are all sampled in the same way");
    }
    void params.constraint?.begin([...params.ends]).allowed; // throws where no token can begin
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (n === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const completions = Array.from(
        { length: n },
        (): Completion => ({ ids: [], logprobs: [], finishReason: "length" }),
      );
      const limit = Math.min(params.maxNewTokens, maxPositions - promptIds.length);
      const keys = cacheKeys(request, decoder);
      const job = { request, decoder, params, keys, limit, completions, left: n, resolve, reject };
      // A dialogue that goes on comes before those that begin: few then have rows of the cache.
      if ((request.firstPosition ?? 0) > 0) this.#queue.unshift(job);
      else this.#queue.push(job);
      if (signal !== undefined) this.#abortable.add(job);
      this.#queuedBranches += n;
      this.#work ??= this.#run();
    });
  }

  /** Waits until no request is left and `timing` is complete; completions come slightly earlier. */
  async idle(): Promise<void> {
    await this.#work;
  }

  #forgetSteps(): void {
    for (const decoder of [this.#decoder, ...this.#joined.values()]) decoder.forget();
  }

  #params({ sampling = {} }: GenerateRequest): SamplingParams {
    // Most requests use the defaults: sharing one object makes comparing them cheap.
    if (Object.keys(sampling).length === 0) return this.#defaultParams;
    const options: SamplingOptions = { ...this.defaults, ...sampling };
    return samplingParams(options, this.network.config.vocabSize);
  }

  get #defaultParams(): SamplingParams {
    return this.#checkedDefaults ??= samplingParams(this.defaults, this.network.config.vocabSize);
  }

  async #run(): Promise<void> {
    // Requests that are added in the same turn of the event loop begin together.
    await Promise.resolve();
    this.#lastPause = performance.now();
    try {
      this.prepare();
      while (
        this.#queue.length > 0 || this.#prefilled.length > 0 || this.#active.length > 0 ||
        this.#passes.length > 0
      ) {
        if (this.defaults.shouldStop?.()) {
          throw new Interrupted("generation was stopped early on request");
        }
        this.#failAborted();
        await this.#runPass();
        const start = performance.now();
        while (this.#shouldPrefill() && await this.#prefill()) {
          await this.#pause();
          this.#failAborted();
        }
        await this.#assignSlots();
        const prefilled = performance.now();
        this.timing.prefillSeconds += (prefilled - start) / 1000;
        if (this.#active.length > 0) await this.#decode();
        this.timing.decodeSeconds += (performance.now() - prefilled) / 1000;
        await this.#pause();
      }
    } catch (error) {
      this.#failAll(error);
    } finally {
      // While there is no work, the model's weights may change.
      if (this.shape.keptPrompts <= 1) this.#prompts.releaseAll();
      this.#rounds.forget();
      this.#forgetSteps();
      this.#work = null;
    }
  }

  /** Gives the event loop a turn when the last one was a while ago. */
  async #pause(): Promise<void> {
    const { turnMs, turn } = this.shape;
    if (performance.now() - this.#lastPause < turnMs) return;
    await turn();
    this.#lastPause = performance.now();
  }

  /** Reads what a step has sampled ahead of the host, so that something else can have its turn. */
  async #catchUp(): Promise<void> {
    await this.#rounds.catchUp();
    this.#dropEnded();
  }

  async #runPass(): Promise<void> {
    const pass = this.#passes.shift();
    if (pass === undefined) return;
    await this.#catchUp();
    await pass.work();
    // It may have replaced buffers that steps use, too.
    this.#forgetSteps();
  }

  /** Whether prompts wait, and enough slots are free for their branches to make it worthwhile. */
  #shouldPrefill(): boolean {
    const { slots } = this.shape, waiting = this.#queuedBranches;
    const busy = this.#active.length + this.#prefilled.length, free = slots - busy;
    if (waiting === 0 || free <= 0) return false;
    return busy === 0 || waiting <= free || free >= slots * REFILL_SHARE;
  }

  /**
   * Prefills the next prompts that there is room for, and samples the first token of each branch.
   * @returns false when there is no room
   */
  async #prefill(): Promise<boolean> {
    await this.#catchUp();
    const { slots, prefillRows } = this.shape, { ropeScaling } = this.network.config;
    const busy = this.#active.length + this.#prefilled.length;
    const limits = { branches: slots - busy, rows: prefillRows };
    const placed = nextPrompts(this.#queue, this.#prompts, this.#promptRows, limits, ropeScaling);
    if (placed === null) {
      // The rows of kept prompts may be the ones that are missing: release some and try again.
      if (this.#prompts.releaseOldest()) return true;
      // An empty cache has room for every prompt that `add` accepts.
      if (busy > 0) return false;
      throw new RgxError("generate: a prompt does not fit an empty cache; this is a bug in rgx");
    }
    for (const { shared, ids } of placed) {
      this.timing.sharedTokens += shared;
      this.timing.promptTokens += ids.length;
    }
    await this.#compute(placed[0]!.job.decoder, placed);
    return true;
  }

  /** Prefills prompts that have rows, and samples the first token of each of their branches. */
  async #compute(decoder: Decoder, placed: readonly PlacedPrompt[]): Promise<void> {
    this.#queue.splice(0, placed.length);
    const started = placed.flatMap(({ job, cached }) =>
      job.completions.map((completion, b) => newBranch(job, cached, completion, b))
    );
    this.#queuedBranches -= started.length;
    // They are listed before the device works, so that a failure finds them.
    this.#prefilled.push(...started);
    // A batch that is larger than all before replaces buffers that all decoders use.
    if (this.#joined.size > 0) this.#forgetSteps();
    const prefills: PrefillPrompt[] = [];
    for (const prompt of placed) {
      const rest = await this.#decodeLost(prompt);
      if (rest === null) return this.#failAborted(); // no other prompt is with it
      prefills.push(rest);
    }
    const prefill = await decoder.prefill(prefills);
    if (decoder.sharesPrefixes) {
      for (const { job: { keys }, cached: prompt } of placed) {
        this.#prompts.keep({ owner: decoder, keys, prompt, answer: null });
      }
    }
    const index = new Map(placed.map(({ job }, index) => [job, index])), { slots } = this.shape;
    for (let from = 0; from < started.length; from += slots) {
      const rows = started.slice(from, from + slots);
      await decoder.sampleFirstTokens(
        prefill,
        rows,
        rows.map(({ job }) => ({ index: index.get(job)!, ids: job.request.promptIds })),
      );
      await this.#rounds.readFirst(decoder, rows);
    }
    this.#prefilled = this.#prefilled.filter(({ done }) => !done);
  }

  /**
   * Decodes answers of a prompt again whose keys are not in the cache.
   * @returns what is left to compute of it; null: its request was aborted meanwhile
   */
  async #decodeLost(prompt: PlacedPrompt): Promise<PrefillPrompt | null> {
    const { job: { request, decoder, keys, params }, cached, ids: all } = prompt;
    const { begin, state } = cached;
    let rest: PrefillPrompt = prompt;
    for (;;) {
      const lost = lostAnswer(keys, rest.shared);
      if (lost === null) return rest;
      const before = { begin, end: begin + lost.begin };
      await decoder.prefill([{ ...rest, ids: all.slice(0, lost.begin), cached: before }]);
      const ids = all.slice(lost.begin, lost.end);
      const behind = { ...before, sharedPrefix: null, state };
      for await (const _ of decoder.decodeAgain(ids, behind, params)) {
        await this.#pause();
        if (request.signal?.aborted) return null;
      }
      rest = { ...prompt, shared: lost.end, source: cached };
    }
  }

  async #assignSlots(): Promise<void> {
    if (this.#freeSlots.length === 0 || this.#prefilled.length === 0) return;
    await this.#catchUp();
    const { branchRows, maxNewTokens } = this.shape, active = [...this.#active];
    while (this.#freeSlots.length > 0 && this.#prefilled.length > 0) {
      const tokens = branchRows === null ? maxNewTokens : this.#prefilled[0]!.job.limit;
      const rows = this.#branchRows.allocate(rowsFor(tokens), rowsFor(tokens));
      // An empty cache has room for every branch that `add` accepts. Kept answers go first.
      if (rows === null && this.#prompts.releaseOldest(true)) continue;
      if (rows === null) break;
      const branch = this.#prefilled.shift()!;
      branch.cached = rows;
      branch.slot = this.#freeSlots.pop()!;
      branch.kept = branch.job.decoder.keepBranch(branch, branch.job.limit);
      if (branch.params.penalty !== 1) {
        branch.job.decoder.setSeenTokens(branch.slot, branch.job.request.promptIds);
      }
      active.push(branch);
    }
    if (active.length > this.#active.length) this.#arrange(active);
  }

  /** Makes branches the active ones: those of each model together, in an order that is fast. */
  #arrange(branches: readonly Branch[]): void {
    const threads = rowThreads(this.network);
    this.#active = this.#joined.size === 0
      ? balanceRows(branches, threads)
      : [...byDecoder(branches).values()].flatMap((rows) => balanceRows(rows, threads));
  }

  /** Runs decode steps of every model up to the next time that the host reads tokens. */
  async #decode(): Promise<void> {
    await this.#rounds.run(this.#active, this.#passes.length === 0);
    this.#dropEnded();
  }

  #dropEnded(): void {
    const { length } = this.#active, left = this.#active.filter(({ done }) => !done);
    if (left.length < length) this.#arrange(left);
  }

  #append(
    branch: Branch,
    token: number,
    logprob: number,
    logits: Float32Array | Float64Array | null,
  ): void {
    const { completion: { ids, logprobs }, job } = branch, { request } = job;
    ids.push(token);
    logprobs.push(logprob);
    branch.newest = token;
    branch.position = ids.length;
    this.timing.newTokens++;
    try {
      const number = branch.branch - (request.firstBranch ?? 0);
      if (logits !== null) request.onLogits?.(number, logits);
      request.onToken?.(number, token, logprob);
      const { form, params } = branch;
      form?.push(token);
      if (form?.isOver || params.endsWith(ids)) branch.completion.finishReason = "stop";
      else if (ids.length < job.limit) {
        // An error in finding what may follow concerns this request alone.
        return void form?.allowed;
      }
    } catch (error) {
      // The caller's function threw: only its own request fails.
      this.#failJobs([job], error);
      return;
    }
    this.#keepAnswer(branch);
    this.#endBranch(branch);
    request.onBranch?.(branch.branch - (request.firstBranch ?? 0), branch.completion);
    if (--job.left > 0) return;
    this.#abortable.delete(job);
    job.resolve(job.completions);
  }

  /** Keeps the keys of an answer for the next turn of its dialogue; its last token has none. */
  #keepAnswer(branch: Branch): void {
    const { cached, prompt, completion: { ids }, job: { decoder, request, keys } } = branch;
    const isKept = request.answers !== undefined && decoder.keepsAnswers && ids.length > 1;
    // With more steps for a read, some tokens behind the end have been fed.
    if (!isKept || cached === null || this.shape.stepsPerRead > 1) return;
    const { states } = this.#promptRows;
    while (states?.freeRows === 0 && this.#prompts.releaseOldest());
    const state = states?.allocate(1, 1)?.begin;
    if (states !== null && state === undefined) return;
    if (state !== undefined) decoder.keepState(branch, ids.length - 1, state);
    const rows = { begin: cached.begin, end: cached.begin + ids.length - 1 };
    this.#branchRows.release({ begin: rows.end, end: cached.end });
    branch.cached = null;
    const known = [...keys, ...ids.slice(0, -1).map((id) => ~id)];
    this.#prompts.keep({ owner: decoder, keys: known, prompt, answer: { rows, state } });
  }

  #endBranch(branch: Branch): void {
    branch.done = true;
    if (branch.slot >= 0) this.#freeSlots.push(branch.slot);
    if (branch.cached !== null) this.#branchRows.release(branch.cached);
    releasePrompt(branch.prompt, this.#promptRows);
  }

  #failAborted(): void {
    for (const job of this.#abortable) {
      const { signal } = job.request;
      if (signal!.aborted) this.#failJobs([job], signal!.reason);
    }
    this.#active = this.#active.filter(({ done }) => !done);
    this.#prefilled = this.#prefilled.filter(({ done }) => !done);
  }

  /** Rejects requests and ends their branches, which leave the lists later. */
  #failJobs(jobs: Iterable<Job>, reason: unknown): void {
    const failed = new Set(jobs);
    for (const branch of this.#running()) {
      if (failed.has(branch.job)) this.#endBranch(branch);
    }
    for (const job of failed) {
      this.#abortable.delete(job);
      const at = this.#queue.indexOf(job);
      if (at >= 0) {
        this.#queue.splice(at, 1);
        this.#queuedBranches -= job.left;
      }
      job.reject(reason);
    }
  }

  /** Rejects all requests. What is added later begins with empty caches. */
  #failAll(reason: unknown): void {
    this.#failJobs([...this.#queue, ...this.#running().map(({ job }) => job)], reason);
    for (const { reject } of this.#passes.splice(0)) reject(reason);
    this.#active = [];
    this.#prefilled = [];
    this.#rounds.forget();
    this.#prompts.releaseAll();
  }

  #running(): Branch[] {
    return [...this.#active, ...this.#prefilled].filter(({ done }) => !done);
  }
}

// The sizes of a generation, and how it divides its time.

export interface GenerationShape extends DecoderShape {
  /** Whether requests may change logits before sampling, or differ in how they sample. */
  adjusted: boolean;
  /** Maximum number of prompt rows in one prefill; a longer prompt runs alone. */
  prefillRows: number;
  /** Milliseconds after which the event loop gets a turn: signals arrive while a CPU computes. */
  turnMs: number;
  turn: () => Promise<void>;
  /**
   * Number of prompts that stay in the cache after they have ended, while there is room. With more
   * than one they also stay while there is no work; weights must not change then.
   */
  keptPrompts: number;
}
