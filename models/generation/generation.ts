/**
 * Continuous batching: requests wait in a queue, their prompts are run in batches when there is room, and every
 * branch decodes in a slot that goes to the next one as soon as it ends. A prompt is computed and held once for
 * all its branches, and its rows of the cache are given back with the last of them. Requests may come at any time
 * while others run.
 *
 * What a branch samples depends on (seed, promptId, branch, position), its own rules and its logits only: not on
 * its neighbours, its slot, or how often the host looks. Tokens that are generated after a branch has ended, until
 * the host looks, are cut. What a prompt's beginning has in common with the one before it is not computed again
 * (prompt_batch.ts). This file schedules; decoder.ts runs the device. Left out: beams, prompts that begin as others
 * than the one before them do, taking a slot away from a branch that runs.
 */
import { setImmediate } from "node:timers";
import { Interrupted, RgxError } from "../../core/errors.ts";
import { RowAllocator } from "./row_allocator.ts";
import { type CachedPrompt, releasePrompt, sharedPrefixOf } from "./cached_prompt.ts";
import { balanceRows } from "./row_balance.ts";
import { promptAlignment } from "./cached_prompt.ts";
import { rowThreads } from "./row_threads.ts";
import { Decoder, type DecoderShape } from "./decoder.ts";
import type { Network } from "../network/forward_pass.ts";
import { checkGroup } from "../network/packing.ts";
import { type PrefillPrompt, sharedPrefixLength } from "./prefill_batch.ts";
import {
  adjustsLogits,
  samplingBatches,
  type SamplingParams,
  samplingParams,
  stepsAsOneBatch,
} from "./sampling_params.ts";
import type { DecodeRow } from "./step_table.ts";
import type {
  Completion,
  GenerateOptions,
  GenerateRequest,
  GenerationTiming,
  SamplingOptions,
} from "./types.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { Workspace } from "../network/workspace.ts";

/** Branches of one prompt must stay below this: they are 12 bits of a random counter. */
const MAX_BRANCHES = 4096;
/** The event loop gets a turn at least this often, so that signals arrive while a CPU device computes. */
const EVENT_LOOP_MS = 50;
/** While more waits than there is room for, prompts are run when this share of the slots is free. */
const REFILL_SHARE = 1 / 8;

export interface GenerationShape extends DecoderShape {
  /** Whether requests may have rules that change logits, or that differ from the others'. */
  adjusted: boolean;
  /** Rows of prompts that are run at once, unless one alone has more. */
  prefillRows: number;
}

/** A request that has not ended. */
interface Job {
  request: GenerateRequest;
  params: SamplingParams;
  /** Most tokens of a completion. */
  limit: number;
  completions: Completion[];
  /** Branches that have not ended. */
  left: number;
  resolve: (completions: Completion[]) => void;
  reject: (reason: unknown) => void;
}

interface Branch extends DecodeRow {
  prompt: CachedPrompt;
  job: Job;
  completion: Completion;
  done: boolean;
}

/** Generation on one model; no other pass of the model may run while it works. */
export class Generation {
  readonly #decoder: Decoder;
  readonly #rows: RowAllocator;
  readonly #slots: number[];
  /** Requests whose prompts have not been run. */
  readonly #queue: Job[] = [];
  /** Requests under way that have a signal: thousands may wait that have none. */
  readonly #abortable = new Set<Job>();
  /** Branches that have their first token and wait for a slot. */
  #primed: Branch[] = [];
  /** Branches in slots, those of a prompt side by side. */
  #active: readonly Branch[] = [];
  /** The prompt that was run last, held so that the next one may begin with its rows. */
  #newest: { ids: readonly number[]; prompt: CachedPrompt } | null = null;
  #waitingBranches = 0;
  #work: Promise<void> | null = null;
  #lastPause = 0;
  readonly timing: GenerationTiming = {
    ...{ promptTokens: 0, newTokens: 0, prefillSeconds: 0, decodeSeconds: 0 },
  };

  /**
   * @param defaults for what a request's own `sampling` leaves open
   * @param prepare called when requests come after none were left, before the model is used
   */
  constructor(
    private readonly network: Network,
    workspace: Workspace,
    readonly shape: GenerationShape,
    private readonly defaults: GenerateOptions,
    private readonly prepare: () => void = () => {},
  ) {
    this.#decoder = new Decoder(network, workspace, shape, defaults.adapter ?? true);
    this.#rows = new RowAllocator(shape.promptRows, promptAlignment(network.config));
    this.#slots = Array.from({ length: shape.slots }, (_, i) => shape.slots - 1 - i);
  }

  /**
   * Adds a request; its completions come when all of its branches have ended. It fails with `Interrupted` when
   * `shouldStop` says so, with the reason of its signal, or with the device's error.
   * @throws RgxError for a request that is impossible, here and now
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
      this.#waitingBranches += n;
      this.#work ??= this.#run();
    });
  }

  /** Ends when no request is left, with the timing complete: completions come a moment before. */
  async idle(): Promise<void> {
    await this.#work;
  }

  #params({ sampling = {} }: GenerateRequest): SamplingParams {
    // Most requests have none of their own: equal objects make the common case cheap.
    if (Object.keys(sampling).length === 0) return this.#defaultParams;
    const options: SamplingOptions = { ...this.defaults, ...sampling };
    return samplingParams(options, this.network.config.vocabSize);
  }

  get #defaultParams(): SamplingParams {
    return this.#checkedDefaults ??= samplingParams(this.defaults, this.network.config.vocabSize);
  }
  #checkedDefaults: SamplingParams | null = null;

  #checkRoom({ promptIds }: GenerateRequest, params: SamplingParams): void {
    const { promptRows, maxNewTokens, adjusted } = this.shape;
    const refuse = (what: string): never => {
      throw new RgxError(`generate: ${what}`, { advice: "give the generation more room" });
    };
    if (promptIds.length > promptRows) {
      refuse(`the prompt has ${promptIds.length} tokens, this generation room for ${promptRows}`);
    }
    const wanted = Math.min(
      params.maxNewTokens,
      this.network.config.maxPositions - promptIds.length,
    );
    if (wanted > maxNewTokens) {
      refuse(`maxNewTokens is ${wanted}, this generation has room for ${maxNewTokens}`);
    }
    if (
      !adjusted && (adjustsLogits(params) || params.samplerKey !== this.#defaultParams.samplerKey)
    ) {
      refuse("it was made for requests that are all sampled in the same way");
    }
  }

  async #run(): Promise<void> {
    // What is added together begins together.
    await Promise.resolve();
    this.#lastPause = performance.now();
    try {
      this.prepare();
      while (this.#queue.length > 0 || this.#primed.length > 0 || this.#active.length > 0) {
        if (this.defaults.shouldStop?.()) {
          throw new Interrupted("generation was stopped early on request");
        }
        this.#dropAborted();
        const start = performance.now();
        while (this.#shouldPrefill()) if (!await this.#prefill()) break;
        this.#place();
        const prefilled = performance.now();
        this.timing.prefillSeconds += (prefilled - start) / 1000;
        if (this.#active.length > 0) await this.#decode();
        this.timing.decodeSeconds += (performance.now() - prefilled) / 1000;
        if (performance.now() - this.#lastPause > EVENT_LOOP_MS) {
          // A timer would cost a millisecond and more.
          await new Promise<void>((resolve) => setImmediate(resolve));
          this.#lastPause = performance.now();
        }
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      // Without work the model's weights may change.
      this.#forgetNewest();
      this.#decoder.rest();
      this.#work = null;
    }
  }

  /** Whether there are prompts to run, and enough slots for their branches to make it worth while. */
  #shouldPrefill(): boolean {
    const { slots } = this.shape, waiting = this.#waitingBranches;
    const busy = this.#active.length + this.#primed.length, free = slots - busy;
    if (waiting === 0 || free <= 0) return false;
    return busy === 0 || waiting <= free || free >= slots * REFILL_SHARE;
  }

  /** Runs the next prompts, as far as there is room, and draws their branches' first tokens; false without room. */
  async #prefill(): Promise<boolean> {
    const { slots, prefillRows } = this.shape;
    const busy = this.#active.length + this.#primed.length;
    let branches = busy, wanted = 0, rows = 0;
    const shares: number[] = [];
    let before = this.#newest?.ids ?? [];
    for (const { request: { promptIds, n } } of this.#queue) {
      const shared = this.#decoder.sharesPrefixes ? sharedPrefixLength(before, promptIds) : 0;
      const uncached = promptIds.length - shared;
      if (shares.length > 0 && (branches >= slots || rows + uncached > prefillRows)) break;
      wanted += this.#aligned(promptIds.length);
      rows += uncached;
      branches += n;
      shares.push(shared);
      before = promptIds;
    }
    const run = this.#rows.allocate(this.#queue[0]!.request.promptIds.length, wanted);
    if (run === null && this.#newest !== null) {
      // Its rows may be what is missing.
      this.#forgetNewest();
      return true;
    }
    if (run === null) {
      // An empty cache takes every prompt that `add` lets in.
      if (busy > 0) return false;
      throw new RgxError("generate: a prompt does not fit an empty cache; this is a bug in rgx");
    }
    const jobs: Job[] = [], prompts: CachedPrompt[] = [], runs: PrefillPrompt[] = [];
    let { begin } = run;
    for (const job of this.#queue.slice(0, shares.length)) {
      const ids = job.request.promptIds, end = begin + ids.length;
      if (end > run.end) break;
      const allocatedEnd = Math.min(begin + this.#aligned(ids.length), run.end);
      const shared = shares[jobs.length]!, last = prompts.at(-1) ?? this.#newest?.prompt ?? null;
      const sharedPrefix = this.#decoder.usesSharedPrefixes ? sharedPrefixOf(last, shared) : null;
      const cached = { begin, end, allocatedEnd, references: job.left, sharedPrefix };
      runs.push({ ids, cached, shared });
      jobs.push(job);
      prompts.push(cached);
      this.timing.promptTokens += ids.length;
      begin = allocatedEnd;
    }
    this.#rows.release({ begin, end: run.end });
    this.#queue.splice(0, jobs.length);
    const primed = jobs.flatMap((job, p) =>
      job.completions.map((completion, b) => newBranch(job, prompts[p]!, completion, b))
    );
    this.#waitingBranches -= primed.length;
    // From here on, so that a failure finds them.
    this.#primed.push(...primed);
    const prefill = this.#decoder.prefill(runs, this.#newest?.prompt ?? null);
    this.#forgetNewest();
    const newest = prompts.at(-1)!;
    newest.references++;
    this.#newest = { ids: runs.at(-1)!.ids, prompt: newest };
    const index = new Map(jobs.map((job, index) => [job, index]));
    for (let from = 0; from < primed.length; from += slots) {
      const rows = primed.slice(from, from + slots);
      await this.#decoder.first(
        prefill,
        rows,
        rows.map(({ job }) => ({ index: index.get(job)!, ids: job.request.promptIds })),
      );
      await this.#readTokens(rows, 1);
    }
    this.#primed = this.#primed.filter(({ done }) => !done);
    return true;
  }

  /** Rows of the cache for a prompt: where prompts are stored one by one, each begins at a multiple of the alignment. */
  #aligned(tokens: number): number {
    const { align } = this.#rows;
    return this.#decoder.sharesPrefixes ? Math.ceil(tokens / align) * align : tokens;
  }

  /** Gives free slots to branches that wait for one. */
  #place(): void {
    const count = Math.min(this.#slots.length, this.#primed.length);
    if (count === 0) return;
    const active = [...this.#active];
    for (const branch of this.#primed.splice(0, count)) {
      branch.slot = this.#slots.pop()!;
      if (branch.params.penalty !== 1) {
        this.#decoder.begin(branch.slot, branch.job.request.promptIds);
      }
      active.push(branch);
    }
    this.#active = balanceRows(active, rowThreads(this.network));
  }

  /** Steps up to the next look. */
  async #decode(): Promise<void> {
    const rows = this.#active, batches = samplingBatches(rows);
    let left = 0;
    for (const { job, position } of rows) left = Math.max(left, job.limit - position);
    const steps = batches.length > 1
      ? 1
      : Math.min(this.shape.stepsPerRead, left, stepsAsOneBatch(rows));
    for (let step = 0; step < steps; step++) await this.#decoder.next(step, rows, batches);
    await this.#readTokens(rows, steps);
    if (!rows.some(({ done }) => done)) return;
    this.#active = balanceRows(rows.filter(({ done }) => !done), rowThreads(this.network));
  }

  /** Takes the tokens that `steps` steps have drawn for `rows`. */
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
      // A caller's function: its own request fails, the others go on.
      this.#drop([job], error);
      return;
    }
    this.#end(branch);
    if (--job.left > 0) return;
    this.#abortable.delete(job);
    job.resolve(job.completions);
  }

  /** Gives back what a branch holds. */
  #end(branch: Branch): void {
    branch.done = true;
    if (branch.slot >= 0) this.#slots.push(branch.slot);
    releasePrompt(branch.prompt, this.#rows);
  }

  #forgetNewest(): void {
    if (this.#newest !== null) releasePrompt(this.#newest.prompt, this.#rows);
    this.#newest = null;
  }

  #dropAborted(): void {
    for (const job of this.#abortable) {
      const { signal } = job.request;
      if (signal!.aborted) this.#drop([job], signal!.reason);
    }
    this.#active = this.#active.filter(({ done }) => !done);
    this.#primed = this.#primed.filter(({ done }) => !done);
  }

  /** Ends requests with a failure; their branches leave the lists later. */
  #drop(jobs: Iterable<Job>, reason: unknown): void {
    const dropped = new Set(jobs);
    for (const branch of [...this.#active, ...this.#primed]) {
      if (dropped.has(branch.job) && !branch.done) this.#end(branch);
    }
    for (const job of dropped) {
      this.#abortable.delete(job);
      const at = this.#queue.indexOf(job);
      if (at >= 0) {
        this.#queue.splice(at, 1);
        this.#waitingBranches -= job.left;
      }
      job.reject(reason);
    }
  }

  #running(): Job[] {
    return [...this.#active, ...this.#primed].filter(({ done }) => !done).map(({ job }) => job);
  }

  /** Ends everything; what is added later begins with empty caches. */
  #fail(reason: unknown): void {
    this.#drop([...this.#queue, ...this.#running()], reason);
    this.#active = [];
    this.#primed = [];
  }
}

function newBranch(
  job: Job,
  prompt: CachedPrompt,
  completion: Completion,
  number: number,
): Branch {
  const { request: { promptId, firstBranch = 0 }, params } = job;
  return {
    ...{ promptId, branch: firstBranch + number, position: 0, newest: 0, slot: -1 },
    ...{ prompt, params, job, completion, done: false },
  };
}

/** @throws RgxError for a request that no generation of the model can do; `number` is its own in messages */
export function checkRequest(
  { promptIds, n, firstBranch = 0 }: GenerateRequest,
  config: ModelConfig,
  number = 0,
): void {
  const { maxPositions } = config;
  if (!(Number.isInteger(n) && n >= 0 && firstBranch >= 0 && firstBranch + n <= MAX_BRANCHES)) {
    throw new RgxError(
      `generate: request ${number} asks for branches ${firstBranch} … ${firstBranch + n - 1}; ` +
        `a prompt can have branches 0 … ${MAX_BRANCHES - 1}`,
    );
  }
  if (promptIds.length >= maxPositions) {
    throw new RgxError(
      `generate: the prompt of request ${number} has ${promptIds.length} tokens and leaves no room ` +
        `for an answer; the model has ${maxPositions} positions`,
      { advice: "shorten the prompt" },
    );
  }
  checkGroup({ promptIds, branches: [] }, number, config);
}
