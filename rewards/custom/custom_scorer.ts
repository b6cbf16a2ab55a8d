/** Scores with a reward from a user's file, which runs in a process of its own. */
import { ResultCache } from "../../core/cache/result_cache.ts";
import { userCache } from "../../core/cache/user_cache.ts";
import { messageOf, UsageError } from "../../core/errors.ts";
import { runningTimeout } from "../../core/machine/running_time.ts";
import { fileName } from "../../core/paths.ts";
import { REWARD_HOST } from "../../core/sandbox/host_commands.ts";
import { SandboxProcess } from "../../core/sandbox/sandbox_process.ts";
import type { Outcome, RewardNotes, Scorer } from "../scorer.ts";
import type { RewardSample } from "../types.ts";
import {
  type AboutReward,
  decodeCell,
  type FromWorker,
  type Limits,
  type Scored,
  type ToWorker,
} from "./protocol.ts";
import { hostProblem, loadRewardFile, type RewardFile } from "./reward_file.ts";

/**
 * The scorer of a user's reward. The process starts with the first batch.
 * @param timeout the time limit for one value, in seconds
 * @throws UsageError for an invalid host
 */
export function customScorer(
  name: string,
  file: RewardFile,
  params: Readonly<Record<string, unknown>>,
  timeout: number,
): Scorer {
  const { path, net = [] } = file;
  for (const host of net) {
    const problem = hostProblem(host);
    if (problem !== null) throw new UsageError(`reward ${name}: net: ${problem}`);
  }
  const limits = {
    timeout,
    concurrency: file.concurrency ?? (net.length > 0 ? 8 : 1),
    retries: file.retries ?? (net.length > 0 ? 2 : 0),
  };
  let sandbox: Sandbox | null = null;
  const warnings: string[] = [];
  let known: KnownValues | null = null;
  // The file is read once, so the source is the same for the whole run.
  const open = async () => {
    if (sandbox !== null) return sandbox;
    const { url, wholeBatch } = await loadRewardFile(path);
    if (file.cache && wholeBatch) {
      throw new UsageError(`reward ${name}: cache: computeBatch compares completions`, {
        advice: "Only values of one completion at a time can be kept.",
      });
    }
    if (file.cache) known = await openCache(name, [url, params], warnings);
    return sandbox = new Sandbox(path, url, net);
  };
  return {
    name,
    get wholeBatch() {
      return sandbox?.about.wholeBatch ?? false;
    },
    get needs() {
      return sandbox?.about.needs ?? [];
    },
    async open() {
      const opened = await open();
      await opened.start();
      await opened.close();
    },
    close: async () => await sandbox?.close(),
    async score(samples, notes) {
      const start = performance.now();
      try {
        const opened = await open(), sent = samples.map(plain);
        const keys = known === null ? [] : sent.map(keyOf);
        const results = keys.map((key) => known!.get(key));
        const rows = [...sent.keys()].filter((row) => results[row] === undefined);
        const scored = await opened.score(rows.map((row) => sent[row]!), params, limits);
        for (const [i, row] of rows.entries()) {
          results[row] = scored[i]!;
          if ("value" in scored[i]!.result) await known?.set(keys[row]!, scored[i]!);
        }
        if (net.length > 0 || known !== null) {
          notes.add(`rewards/${name}/requests`, rows.length);
          notes.add(`rewards/${name}/seconds`, (performance.now() - start) / 1000);
          for (const { cost } of scored) if (cost > 0) notes.addCost(name, cost);
        }
        if (known !== null) notes.add(`rewards/${name}/cached`, samples.length - rows.length);
        for (const message of warnings.splice(0)) notes.warn(message);
        return results.map((one, row) => record(one!, row, notes));
      } catch (error) {
        return samples.map(() => ({ error: messageOf(error) }));
      }
    },
  };
}

type KnownValues = ResultCache<Scored>;

/** The cache of a reward: a file for its code and parameters. Null where there is no home. */
async function openCache(
  name: string,
  identity: unknown,
  warnings: string[],
): Promise<KnownValues | null> {
  const root = userCache();
  if (root === null) return null;
  const warn = (message: string) => void warnings.push(`reward ${name}: ${message}`);
  const hash = ResultCache.key(identity).slice(0, 12);
  try {
    await Deno.mkdir(`${root}/rewards`, { recursive: true });
    return await ResultCache.open(
      `${root}/rewards/${fileName(name)}-${hash}.jsonl`,
      isScored,
      warn,
    );
  } catch (error) {
    warn(`values are not kept: ${messageOf(error)}`);
    return null;
  }
}

function isScored(value: unknown): value is Scored {
  const { result, logged, extras, cost } = (value ?? {}) as Partial<Scored>;
  return typeof result === "object" && result !== null && "value" in result &&
    Array.isArray(logged) && Array.isArray(extras) && typeof cost === "number";
}

/** What a value may depend on, if it is kept: not the step, for one. */
function keyOf({ prompt, messages, completion, answer, info, truncated }: RewardSample): string {
  return ResultCache.key({ prompt, messages, completion, answer, info, truncated });
}

/** The fields that can be sent. A program that uses rgx may have added others. */
function plain(sample: RewardSample): RewardSample {
  return {
    prompt: sample.prompt,
    messages: sample.messages,
    completion: sample.completion,
    answer: sample.answer,
    info: sample.info,
    entry: sample.entry,
    completionIds: [...sample.completionIds],
    truncated: sample.truncated,
    step: sample.step,
    maxCompletionLength: sample.maxCompletionLength,
  };
}

/** Takes over the notes of a sample. Its outcome is an error if a note is invalid. */
function record({ result, logged, extras }: Scored, row: number, notes: RewardNotes): Outcome {
  try {
    for (const [name, value] of logged) notes.log(name, value);
    for (const [column, cell] of extras) notes.logExtra(row, column, decodeCell(cell));
    return result;
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/**
 * Scores with a user's reward in a process of its own. A batch is sent in one message; the values
 * come back one by one. A process that reports nothing for longer than the time limit hangs; a
 * process may also fill the memory or crash. Then it is ended, the sample that it was scoring
 * counts as failed, and a new process scores the rest.
 */

/** Time limit for starting the process and for loading the module, in seconds. */
const LOAD_TIME = 10;
/** Seconds on top of the time limit, so that the Worker can report a late promise itself. */
const GRACE = 0.5;

/** After this many late values in a row (in each lane) the rest of the batch is not tried. */
const MAX_LATE_IN_A_ROW = 8;

type RewardProcess = SandboxProcess<FromWorker, ToWorker>;
const HOST = {
  module: new URL("./host.ts", import.meta.url),
  reads: ["../", "../../core/"].map((folder) => new URL(folder, import.meta.url)),
  command: REWARD_HOST,
};

/** Why the process has to be ended, and the samples that were started and not finished. */
interface Ended {
  running: number[];
  message: string;
}

class Sandbox {
  #process: RewardProcess | null = null;
  #about: AboutReward = { wholeBatch: false, needs: [] };
  #batches = 0;
  #lateInARow = 0;
  #closings = 0;
  /** Ends the batch that is being scored. */
  #interrupt: (() => void) | null = null;

  /**
   * @param url the module, as a `data:` URL
   * @param net hosts that it may connect to, `name` or `name:port`
   */
  constructor(
    private readonly path: string,
    private readonly url: string,
    private readonly net: readonly string[],
  ) {}

  /** Starts the process, if there is none. @throws UsageError when the module cannot be loaded */
  async start(): Promise<void> {
    if (this.#process?.ended === null) return;
    // A signal that asks the run to stop may end the process before it handles signals: try twice.
    for (let attempt = 1;; attempt++) {
      let process: RewardProcess | null = null;
      try {
        process = this.#process = new SandboxProcess(HOST, this.net);
        this.#about = await loaded(process, this.url);
        return;
      } catch (error) {
        const died = process !== null && process.ended !== null;
        await this.#end();
        if (died && attempt === 1) continue;
        throw new UsageError(`the reward file ${this.path} cannot be used: ${messageOf(error)}`);
      }
    }
  }

  /** Whether the reward scores whole batches, and what it needs; known once it was started. */
  get about(): AboutReward {
    return this.#about;
  }

  /** Ends the process, and a batch that is being scored. */
  async close(): Promise<void> {
    this.#closings++;
    this.#interrupt?.();
    await this.#end();
  }

  async #end(): Promise<void> {
    const process = this.#process;
    this.#process = null;
    await process?.kill();
  }

  /** One result per sample, whatever happens. */
  async score(
    samples: readonly RewardSample[],
    params: Readonly<Record<string, unknown>>,
    limits: Limits,
  ): Promise<Scored[]> {
    const results = new Map<number, Scored>();
    const fail = (row: number, error: string) =>
      results.set(row, { result: { error }, logged: [], extras: [], cost: 0 });
    let { concurrency } = limits, triedAgain = false;
    const closings = this.#closings;
    this.#lateInARow = 0;
    for (let rows = [...samples.keys()]; rows.length > 0;) {
      try {
        await this.start();
        if (this.#closings > closings) await this.#end();
      } catch (error) {
        for (const row of rows) fail(row, messageOf(error));
        break;
      }
      const request: Extract<ToWorker, { type: "score" }> = {
        type: "score",
        batch: ++this.#batches,
        samples: rows.map((row) => ({ row, sample: samples[row]! })),
        params,
        limits: { ...limits, concurrency },
      };
      const ended = await this.#runBatch(request, results);
      rows = rows.filter((row) => !results.has(row));
      if (ended !== null) {
        await this.#end();
        if (this.#closings > closings) { for (const row of rows) fail(row, "scoring was ended"); }
        else if (this.#about.wholeBatch) { for (const row of rows) fail(row, ended.message); }
        else if (ended.running.length > 1) concurrency = 1; // finds out which sample hangs
        // Killed before it began: no sample is to blame.
        else if (ended.running.length === 0 && !triedAgain) triedAgain = true;
        else if (!this.#tooManyLate(concurrency)) {
          fail(ended.running[0] ?? rows[0]!, ended.message);
          this.#lateInARow++;
        }
        rows = rows.filter((row) => !results.has(row));
      }
      if (this.#tooManyLate(concurrency)) {
        // Waiting for the time limit of every sample of a batch would take too long.
        for (const row of rows) fail(row, `not tried: ${this.#lateInARow} in a row gave no value`);
        rows = [];
      }
    }
    return samples.map((_, row) => results.get(row)!);
  }

  #tooManyLate(concurrency: number): boolean {
    return this.#lateInARow >= MAX_LATE_IN_A_ROW * concurrency;
  }

  /** Resolves with null when every sample has a result, or with why the process has to be ended. */
  #runBatch(
    request: Extract<ToWorker, { type: "score" }>,
    results: Map<number, Scored>,
  ): Promise<Ended | null> {
    const process = this.#process, { batch, samples, limits } = request;
    if (process === null) return Promise.resolve({ running: [], message: "scoring was ended" });
    const running = new Set<number>();
    const missing = new Set(samples.map(({ row }) => row));
    const seconds = limits.timeout * (this.#about.wholeBatch ? samples.length : 1);
    return new Promise((resolve) => {
      let stopTimer = () => {};
      const finish = (end: string | null) => {
        stopTimer();
        process.listen(null);
        this.#interrupt = null;
        const rows = [...running].filter((row) => missing.has(row));
        resolve(end === null ? null : { running: rows, message: end });
      };
      const restartTimer = () => {
        stopTimer();
        const silent = () => finish(`gave no value within ${seconds} s, its process was ended`);
        stopTimer = runningTimeout(silent, (seconds + GRACE) * 1000);
      };
      const settle = (row: number, scored: Scored) => {
        if (missing.delete(row)) results.set(row, scored);
        running.delete(row);
        this.#lateInARow = scored.late ? this.#lateInARow + 1 : 0;
      };
      this.#interrupt = () => finish("scoring was ended");
      process.listen((messages, ended) => {
        for (const message of messages) {
          if (message.type === "started" && message.batch === batch) running.add(message.row);
          else if (message.type === "scored" && message.batch === batch) {
            settle(message.row, message.scored);
          } else if (message.type === "uncaught") {
            for (const row of running) {
              settle(row, { result: { error: message.message }, logged: [], extras: [], cost: 0 });
            }
          }
          if (this.#tooManyLate(limits.concurrency)) break;
        }
        if (missing.size === 0) finish(null);
        else if (ended !== null) finish(ended);
        else if (this.#tooManyLate(limits.concurrency)) finish("too many are late");
        else restartTimer();
      });
      restartTimer();
      process.send(request);
    });
  }
}

/** Loads the module. @throws Error if it cannot be loaded */
function loaded(process: RewardProcess, url: string): Promise<AboutReward> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      stopTimer();
      process.listen(null);
      settle();
    };
    const fail = (message: string) => finish(() => reject(new Error(message)));
    const silent = () => fail(`it did not load within ${LOAD_TIME} s`);
    const stopTimer = runningTimeout(silent, LOAD_TIME * 1000);
    process.listen((messages, ended) => {
      for (const message of messages) {
        if (message.type === "loaded") return finish(() => resolve(message.about));
        if (message.type === "broken" || message.type === "uncaught") return fail(message.message);
      }
      if (ended !== null) fail(ended);
    });
    process.send({ type: "load", url });
  });
}
