/**
 * Scores with a user's reward, which runs in a process of its own: sends it a batch in one message and
 * takes the values one by one. One that says nothing for longer than a value may take hangs, one may fill
 * the memory or crash: it is ended, the sample that it was at counts as failed, and a fresh one does the
 * rest.
 */
import { messageOf, UsageError } from "../../core/errors.ts";
import type { RewardSample } from "../types.ts";
import { RewardProcess } from "./process.ts";
import type { Limits, Scored, ToWorker } from "./protocol.ts";

/** Seconds that a process may take to start and to run the module's own code. */
const LOAD_TIME = 10;
/** Seconds that it gets on top of a time limit, in which it can report it itself. */
const GRACE = 0.5;

/** Values in a row (in each lane) that may be late; what is left of the batch is not tried then. */
const LATE_IN_A_ROW = 8;

/** The process has to be ended, with these samples started and not done. */
interface Ended {
  running: number[];
  message: string;
}

export class Sandbox {
  #process: RewardProcess | null = null;
  #wholeBatch = false;
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
    // Before it can listen to signals, one that asks the run to stop ends it: it gets a second chance.
    for (let chance = 1;; chance++) {
      let process: RewardProcess | null = null;
      try {
        process = this.#process = new RewardProcess(this.net);
        this.#wholeBatch = await loaded(process, this.url);
        return;
      } catch (error) {
        const died = process !== null && process.ended !== null;
        await this.#end();
        if (died && chance === 1) continue;
        throw new UsageError(`the reward file ${this.path} cannot be used: ${messageOf(error)}`);
      }
    }
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

  /** One result for each sample, whatever happens. */
  async score(
    samples: readonly RewardSample[],
    params: Readonly<Record<string, unknown>>,
    limits: Limits,
  ): Promise<Scored[]> {
    const results = new Map<number, Scored>();
    const fail = (row: number, error: string) =>
      results.set(row, { result: { error }, logged: [], extras: [] });
    let { concurrency } = limits;
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
      const message: ToWorker = {
        type: "score",
        batch: ++this.#batches,
        samples: rows.map((row) => ({ row, sample: samples[row]! })),
        params,
        limits: { ...limits, concurrency },
      };
      const ended = await this.#runBatch(message, results);
      rows = rows.filter((row) => !results.has(row));
      if (ended !== null) {
        await this.#end();
        if (this.#closings > closings) { for (const row of rows) fail(row, "scoring was ended"); }
        else if (this.#wholeBatch) { for (const row of rows) fail(row, ended.message); }
        else if (ended.running.length > 1) concurrency = 1; // to find out which one it is
        else if (!this.#tooManyLate(concurrency)) {
          fail(ended.running[0] ?? rows[0]!, ended.message);
          this.#lateInARow++;
        }
        rows = rows.filter((row) => !results.has(row));
      }
      if (this.#tooManyLate(concurrency)) {
        // A whole batch of time limits would take longer than anybody waits.
        for (const row of rows) fail(row, `not tried: ${this.#lateInARow} in a row gave no value`);
        rows = [];
      }
    }
    return samples.map((_, row) => results.get(row)!);
  }

  #tooManyLate(concurrency: number): boolean {
    return this.#lateInARow >= LATE_IN_A_ROW * concurrency;
  }

  /** Resolves with null when every sample has a result, else when the process has to be ended. */
  #runBatch(
    message: Extract<ToWorker, { type: "score" }>,
    results: Map<number, Scored>,
  ): Promise<Ended | null> {
    const process = this.#process, { batch, samples, limits } = message;
    if (process === null) return Promise.resolve({ running: [], message: "scoring was ended" });
    const running = new Set<number>();
    const missing = new Set(samples.map(({ row }) => row));
    const seconds = limits.timeout * (this.#wholeBatch ? samples.length : 1);
    return new Promise((resolve) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const finish = (end: string | null) => {
        clearTimeout(timer);
        process.listen(null);
        this.#interrupt = null;
        const rows = [...running].filter((row) => missing.has(row));
        resolve(end === null ? null : { running: rows, message: end });
      };
      const expectSign = () => {
        clearTimeout(timer);
        const silent = () => finish(`gave no value within ${seconds} s, its process was ended`);
        timer = setTimeout(silent, (seconds + GRACE) * 1000);
      };
      const settle = (row: number, scored: Scored) => {
        if (missing.delete(row)) results.set(row, scored);
        running.delete(row);
        this.#lateInARow = scored.late ? this.#lateInARow + 1 : 0;
      };
      this.#interrupt = () => finish("scoring was ended");
      process.listen((messages, ended) => {
        for (const told of messages) {
          if (told.type === "started" && told.batch === batch) running.add(told.row);
          else if (told.type === "scored" && told.batch === batch) settle(told.row, told.scored);
          else if (told.type === "uncaught") {
            for (const row of running) {
              settle(row, { result: { error: told.message }, logged: [], extras: [] });
            }
          }
          if (this.#tooManyLate(limits.concurrency)) break;
        }
        if (missing.size === 0) finish(null);
        else if (ended !== null) finish(ended);
        else if (this.#tooManyLate(limits.concurrency)) finish("too many are late");
        else expectSign();
      });
      expectSign();
      process.send(message);
    });
  }
}

/** Whether the module wants whole batches. @throws Error with the reason why it cannot be loaded */
function loaded(process: RewardProcess, url: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      process.listen(null);
      settle();
    };
    const fail = (message: string) => finish(() => reject(new Error(message)));
    const timer = setTimeout(() => fail(`it did not load within ${LOAD_TIME} s`), LOAD_TIME * 1000);
    process.listen((messages, ended) => {
      for (const told of messages) {
        if (told.type === "loaded") return finish(() => resolve(told.wholeBatch));
        if (told.type === "broken" || told.type === "uncaught") return fail(told.message);
      }
      if (ended !== null) fail(ended);
    });
    process.send({ type: "load", url });
  });
}
