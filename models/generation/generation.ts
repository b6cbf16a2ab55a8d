/**
 * Continuous batching. Requests wait in a queue. Their prompts are prefilled in batches when there
 * is room, and every branch decodes in a slot that goes to the next branch as soon as it ends. A
 * prompt is computed and kept in the KV cache once for all its branches; its rows of the cache are
 * released when the last of them ends. Requests can be added at any time while others run.
 *
 * What a branch samples depends only on (seed, promptId, branch, position), its sampling
 * parameters and its logits. It does not depend on the other branches, on its slot, or on how often
 * the host reads tokens. Tokens that were generated after a branch had ended, before the host read
 * them, are dropped. The prefix that a prompt shares with the prompt before it is not computed
 * again (prefill_batch.ts). This file schedules; decoder.ts runs the device.
 * Left out: beam search, prefixes shared with prompts other than the one before, and preemption
 * (taking the slot from a branch that runs).
 */
import { setImmediate } from "node:timers";
import { Interrupted, RgxError } from "../../core/errors.ts";
import type { Network } from "../network/forward_pass.ts";
import type { Workspace } from "../network/workspace.ts";
import {
  type CachedPrompt,
  promptAlignment,
  releasePrompt,
  sharedPrefixOf,
} from "./cache/cached_prompt.ts";
import { Decoder, type DecoderShape } from "./decoder.ts";
import { type Branch, checkRequest, type Job, newBranch } from "./generation_job.ts";
import { type PrefillPrompt, sharedPrefixLength } from "./cache/prefill_batch.ts";
import { RowAllocator } from "./cache/row_allocator.ts";
import { balanceRows } from "./row_balance.ts";
import { rowThreads } from "./row_threads.ts";
import {
  adjustsLogits,
  samplingBatches,
  type SamplingParams,
  samplingParams,
  stepsAsOneBatch,
} from "./sampling/sampling_params.ts";
import type {
  Completion,
  GenerateOptions,
  GenerateRequest,
  GenerationTiming,
  SamplingOptions,
} from "./types.ts";

/** The event loop gets a turn at least this often: signals must arrive while a CPU computes. */
const EVENT_LOOP_MS = 50;
/** While more branches wait than fit, prompts are prefilled when this share of slots is free. */
const REFILL_SHARE = 1 / 8;

export interface GenerationShape extends DecoderShape {
  /** Whether requests may change logits before sampling, or differ in how they sample. */
  adjusted: boolean;
  /** Maximum number of prompt rows in one prefill; a longer prompt runs alone. */
  prefillRows: number;
}

/** Generation on one model. No other pass of the model may run while it works. */
export class Generation {
  readonly #decoder: Decoder;
  readonly #promptRows: RowAllocator;
  readonly #freeSlots: number[];
  /** Requests whose prompts have not been prefilled. */
  readonly #queue: Job[] = [];
  /** Requests under way that have a signal. Thousands may wait that have none. */
  readonly #abortable = new Set<Job>();
  /** Branches that have their first token and wait for a slot. */
  #prefilled: Branch[] = [];
  /** Branches in slots; those of one prompt are neighbours. */
  #active: readonly Branch[] = [];
  /** The prompt that was prefilled last. It is kept so that the next one can share its prefix. */
  #lastPrompt: { ids: readonly number[]; prompt: CachedPrompt } | null = null;
  #queuedBranches = 0;
  #work: Promise<void> | null = null;
  #lastPause = 0;
  #checkedDefaults: SamplingParams | null = null;
  readonly timing: GenerationTiming = {
    ...{ promptTokens: 0, newTokens: 0, prefillSeconds: 0, decodeSeconds: 0 },
  };

  /**
   * @param defaults options for whatever a request's `sampling` does not set
   * @param prepare called before the model is used, whenever requests come after a pause
   */
  constructor(
    private readonly network: Network,
    workspace: Workspace,
    readonly shape: GenerationShape,
    private readonly defaults: GenerateOptions,
    private readonly prepare: () => void = () => {},
  ) {
    this.#decoder = new Decoder(network, workspace, shape, defaults.adapter ?? true);
    this.#promptRows = new RowAllocator(shape.promptRows, promptAlignment(network.config));
    this.#freeSlots = Array.from({ length: shape.slots }, (_, i) => shape.slots - 1 - i);
  }

  /**
   * Adds a request. Its completions come when all of its branches have ended. It fails with
   * `Interrupted` when `shouldStop` returns true, with the reason of its signal, or with the
   * device's error.
   * @throws RgxError at once for a request that is impossible
   */
  add(request: GenerateRequest): Promise<Completion[]> {
    const params = this.#params(request), { promptIds, n, signal } = request;
    const { config } = this.network, { maxPositions } = config;
    checkRequest(request, config);
    this.#checkRoom(request, params);
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (n === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const completions = Array.from({ length: n }, (): Completion => ({
        ...{ ids: [], logprobs: [], finishReason: "length" },
      }));
      const limit = Math.min(params.maxNewTokens, maxPositions - promptIds.length);
      const job = { request, params, limit, completions, left: n, resolve, reject };
      this.#queue.push(job);
      if (signal !== undefined) this.#abortable.add(job);
      this.#queuedBranches += n;
      this.#work ??= this.#run();
    });
  }

  /** Waits until no request is left and `timing` is complete; completions come slightly earlier. */
  async idle(): Promise<void> {
    await this.#work;
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

  #checkRoom({ promptIds }: GenerateRequest, params: SamplingParams): void {
    const { promptRows, maxNewTokens, adjusted } = this.shape, { config } = this.network;
    const refuse = (what: string): never => {
      throw new RgxError(`generate: ${what}`, { advice: "give the generation more room" });
    };
    if (promptIds.length > promptRows) {
      refuse(`the prompt has ${promptIds.length} tokens, this generation room for ${promptRows}`);
    }
    const wanted = Math.min(params.maxNewTokens, config.maxPositions - promptIds.length);
    if (wanted > maxNewTokens) {
      refuse(`maxNewTokens is ${wanted}, this generation has room for ${maxNewTokens}`);
    }
    const differs = params.samplerKey !== this.#defaultParams.samplerKey;
    if (!adjusted && (adjustsLogits(params) || differs)) {
      refuse("it was made for requests that are all sampled in the same way");
    }
  }

  async #run(): Promise<void> {
    // Requests that are added in the same turn of the event loop begin together.
    await Promise.resolve();
    this.#lastPause = performance.now();
    try {
      this.prepare();
      while (this.#queue.length > 0 || this.#prefilled.length > 0 || this.#active.length > 0) {
        if (this.defaults.shouldStop?.()) {
          throw new Interrupted("generation was stopped early on request");
        }
        this.#failAborted();
        const start = performance.now();
        while (this.#shouldPrefill()) if (!await this.#prefill()) break;
        this.#assignSlots();
        const prefilled = performance.now();
        this.timing.prefillSeconds += (prefilled - start) / 1000;
        if (this.#active.length > 0) await this.#decode();
        this.timing.decodeSeconds += (performance.now() - prefilled) / 1000;
        if (performance.now() - this.#lastPause > EVENT_LOOP_MS) {
          // A timer would take a millisecond or more.
          await new Promise<void>((resolve) => setImmediate(resolve));
          this.#lastPause = performance.now();
        }
      }
    } catch (error) {
      this.#failAll(error);
    } finally {
      // While there is no work, the model's weights may change.
      this.#releaseLastPrompt();
      this.#decoder.forget();
      this.#work = null;
    }
  }

  /** Whether prompts wait, and enough slots are free for their branches to make it worthwhile. */
  #shouldPrefill(): boolean {
    const { slots } = this.shape, waiting = this.#queuedBranches;
    const busy = this.#active.length + this.#prefilled.length, free = slots - busy;
    if (waiting === 0 || free <= 0) return false;
    return busy === 0 || waiting <= free || free >= slots * REFILL_SHARE;
  }

  /**
   * Prefills as many of the next prompts as there is room for, and samples the first token of each
   * of their branches.
   * @returns false when there is no room
   */
  async #prefill(): Promise<boolean> {
    const { slots, prefillRows } = this.shape, { ropeScaling } = this.network.config;
    const busy = this.#active.length + this.#prefilled.length;
    let branches = busy, wanted = 0, rows = 0;
    const sharedLengths: number[] = [];
    let before = this.#lastPrompt?.ids ?? [];
    for (const { request: { promptIds, n } } of this.#queue) {
      const shared = this.#decoder.sharesPrefixes
        ? sharedPrefixLength(before, promptIds, ropeScaling)
        : 0;
      const computed = promptIds.length - shared;
      const isFirst = sharedLengths.length === 0;
      if (!isFirst && (branches >= slots || rows + computed > prefillRows)) break;
      wanted += this.#aligned(promptIds.length);
      rows += computed;
      branches += n;
      sharedLengths.push(shared);
      before = promptIds;
    }
    const run = this.#promptRows.allocate(this.#queue[0]!.request.promptIds.length, wanted);
    if (run === null && this.#lastPrompt !== null) {
      // Its rows may be the ones that are missing: release them and try again.
      this.#releaseLastPrompt();
      return true;
    }
    if (run === null) {
      // An empty cache has room for every prompt that `add` accepts.
      if (busy > 0) return false;
      throw new RgxError("generate: a prompt does not fit an empty cache; this is a bug in rgx");
    }
    const jobs: Job[] = [], prompts: CachedPrompt[] = [], runs: PrefillPrompt[] = [];
    let { begin } = run;
    for (const job of this.#queue.slice(0, sharedLengths.length)) {
      const ids = job.request.promptIds, end = begin + ids.length;
      if (end > run.end) break;
      const allocatedEnd = Math.min(begin + this.#aligned(ids.length), run.end);
      const shared = sharedLengths[jobs.length]!;
      const previous = prompts.at(-1) ?? this.#lastPrompt?.prompt ?? null;
      const sharedPrefix = this.#decoder.usesSharedPrefixes
        ? sharedPrefixOf(previous, shared)
        : null;
      const cached = { begin, end, allocatedEnd, references: job.left, sharedPrefix };
      runs.push({ ids, cached, shared });
      jobs.push(job);
      prompts.push(cached);
      this.timing.promptTokens += ids.length;
      begin = allocatedEnd;
    }
    this.#promptRows.release({ begin, end: run.end });
    this.#queue.splice(0, jobs.length);
    const started = jobs.flatMap((job, p) =>
      job.completions.map((completion, b) => newBranch(job, prompts[p]!, completion, b))
    );
    this.#queuedBranches -= started.length;
    // They are listed before the device works, so that a failure finds them.
    this.#prefilled.push(...started);
    const prefill = this.#decoder.prefill(runs, this.#lastPrompt?.prompt ?? null);
    this.#releaseLastPrompt();
    const last = prompts.at(-1)!;
    last.references++;
    this.#lastPrompt = { ids: runs.at(-1)!.ids, prompt: last };
    const index = new Map(jobs.map((job, index) => [job, index]));
    for (let from = 0; from < started.length; from += slots) {
      const rows = started.slice(from, from + slots);
      await this.#decoder.sampleFirstTokens(
        prefill,
        rows,
        rows.map(({ job }) => ({ index: index.get(job)!, ids: job.request.promptIds })),
      );
      await this.#readTokens(rows, 1);
    }
    this.#prefilled = this.#prefilled.filter(({ done }) => !done);
    return true;
  }

  /** Rows of the cache that a prompt takes. Prompts that share prefixes each begin aligned. */
  #aligned(tokens: number): number {
    const { align } = this.#promptRows;
    return this.#decoder.sharesPrefixes ? Math.ceil(tokens / align) * align : tokens;
  }

  #assignSlots(): void {
    const count = Math.min(this.#freeSlots.length, this.#prefilled.length);
    if (count === 0) return;
    const active = [...this.#active];
    for (const branch of this.#prefilled.splice(0, count)) {
      branch.slot = this.#freeSlots.pop()!;
      if (branch.params.penalty !== 1) {
        this.#decoder.setSeenTokens(branch.slot, branch.job.request.promptIds);
      }
      active.push(branch);
    }
    this.#active = balanceRows(active, rowThreads(this.network));
  }

  /** Runs decode steps up to the next time that the host reads tokens. */
  async #decode(): Promise<void> {
    const rows = this.#active, batches = samplingBatches(rows);
    let left = 0;
    for (const { job, position } of rows) left = Math.max(left, job.limit - position);
    const steps = batches.length > 1
      ? 1
      : Math.min(this.shape.stepsPerRead, left, stepsAsOneBatch(rows));
    for (let step = 0; step < steps; step++) await this.#decoder.step(step, rows, batches);
    await this.#readTokens(rows, steps);
    if (!rows.some(({ done }) => done)) return;
    this.#active = balanceRows(rows.filter(({ done }) => !done), rowThreads(this.network));
  }

  /** Reads the tokens that `steps` steps have sampled for `rows`. */
  async #readTokens(rows: readonly Branch[], steps: number): Promise<void> {
    const { tokens, logprobs, at } = await this.#decoder.read();
    for (let step = 0; step < steps; step++) {
      for (let row = 0; row < rows.length; row++) {
        const branch = rows[row]!, element = at(step, row);
        if (!branch.done) this.#append(branch, tokens[element]!, logprobs[element]!);
      }
    }
  }

  #append(branch: Branch, token: number, logprob: number): void {
    const { completion: { ids, logprobs }, job } = branch;
    ids.push(token);
    logprobs.push(logprob);
    branch.newest = token;
    branch.position = ids.length;
    this.timing.newTokens++;
    try {
      job.request.onToken?.(branch.branch - (job.request.firstBranch ?? 0), token, logprob);
      if (branch.params.endsWith(ids)) branch.completion.finishReason = "stop";
      else if (ids.length < job.limit) return;
    } catch (error) {
      // The caller's function threw: only its own request fails.
      this.#failJobs([job], error);
      return;
    }
    this.#endBranch(branch);
    if (--job.left > 0) return;
    this.#abortable.delete(job);
    job.resolve(job.completions);
  }

  /** Releases the slot and the prompt of a branch. */
  #endBranch(branch: Branch): void {
    branch.done = true;
    if (branch.slot >= 0) this.#freeSlots.push(branch.slot);
    releasePrompt(branch.prompt, this.#promptRows);
  }

  #releaseLastPrompt(): void {
    if (this.#lastPrompt !== null) releasePrompt(this.#lastPrompt.prompt, this.#promptRows);
    this.#lastPrompt = null;
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
    for (const branch of [...this.#active, ...this.#prefilled]) {
      if (failed.has(branch.job) && !branch.done) this.#endBranch(branch);
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
    const running = [...this.#active, ...this.#prefilled].filter(({ done }) => !done);
    this.#failJobs([...this.#queue, ...running.map(({ job }) => job)], reason);
    this.#active = [];
    this.#prefilled = [];
  }
}
