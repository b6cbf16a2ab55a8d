/**
 * The outside of the Worker that runs a user's reward: starts it without permissions (but for named
 * hosts), sends it a batch in one message and takes the values one by one. A Worker that says nothing for
 * longer than one value may take hangs: it is ended, the sample that it hung on counts as failed, and a
 * fresh one does the rest.
 */
import { UsageError } from "../../core/errors.ts";
import { messageOf } from "../scorer.ts";
import type { RewardSample } from "../types.ts";
import type { FromWorker, Limits, Scored, ToWorker } from "./protocol.ts";

/** Seconds that a Worker may take to start and to run the module's own code. */
const LOAD_TIME = 10;
/** Seconds that a Worker gets on top of a time limit, in which it can report it itself. */
const GRACE = 0.5;

/** Values in a row (in each lane) that may be late; what is left of the batch is not tried then. */
const LATE_IN_A_ROW = 8;

/** The Worker has to be ended, with these samples started and not done. */
interface Ended {
  running: number[];
  message: string;
}

export class Sandbox {
  #worker: Worker | null = null;
  #wholeBatch = false;
  #batches = 0;
  #lateInARow = 0;

  /**
   * @param url the module, as a `data:` URL
   * @param net hosts that it may connect to, `name` or `name:port`
   */
  constructor(
    private readonly path: string,
    private readonly url: string,
    private readonly net: readonly string[],
  ) {}

  /** Starts the Worker, if there is none. @throws UsageError when the module cannot be loaded */
  async start(): Promise<void> {
    if (this.#worker !== null) return;
    const net = [...this.net];
    const permissions = net.length === 0 ? "none" : {
      net,
      env: false,
      ffi: false,
      import: false,
      read: false,
      run: false,
      sys: false,
      write: false,
    };
    const worker = new Worker(new URL("./worker.ts", import.meta.url), {
      type: "module",
      name: this.path,
      deno: { permissions },
    } as WorkerOptions);
    try {
      this.#wholeBatch = await loaded(worker, this.url);
      this.#worker = worker;
    } catch (error) {
      worker.terminate();
      throw new UsageError(`the reward file ${this.path} cannot be used: ${messageOf(error)}`);
    }
  }

  close(): void {
    this.#worker?.terminate();
    this.#worker = null;
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
    this.#lateInARow = 0;
    for (let rows = [...samples.keys()]; rows.length > 0;) {
      try {
        await this.start();
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
        this.close();
        if (this.#wholeBatch) { for (const row of rows) fail(row, ended.message); }
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

  /** Resolves with null when every sample has a result, else when the Worker has to be ended. */
  #runBatch(
    message: Extract<ToWorker, { type: "score" }>,
    results: Map<number, Scored>,
  ): Promise<Ended | null> {
    const worker = this.#worker!, { batch, samples, limits } = message;
    const running = new Set<number>();
    const missing = new Set(samples.map(({ row }) => row));
    const seconds = limits.timeout * (this.#wholeBatch ? samples.length : 1);
    return new Promise((resolve) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const finish = (end: string | null) => {
        clearTimeout(timer);
        worker.onmessage = worker.onerror = null;
        const rows = [...running].filter((row) => missing.has(row));
        resolve(end === null ? null : { running: rows, message: end });
      };
      const expectSign = () => {
        clearTimeout(timer);
        const silent = () => finish(`gave no value within ${seconds} s, its Worker was ended`);
        timer = setTimeout(silent, (seconds + GRACE) * 1000);
      };
      const settle = (row: number, scored: Scored) => {
        if (missing.delete(row)) results.set(row, scored);
        running.delete(row);
        this.#lateInARow = scored.late ? this.#lateInARow + 1 : 0;
      };
      worker.onerror = (event) => {
        event.preventDefault();
        finish(event.message);
      };
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        if (data.type === "started" && data.batch === batch) running.add(data.row);
        else if (data.type === "scored" && data.batch === batch) settle(data.row, data.scored);
        else if (data.type === "uncaught") {
          for (const row of running) {
            settle(row, { result: { error: data.message }, logged: [], extras: [] });
          }
        }
        if (missing.size === 0) finish(null);
        else if (this.#tooManyLate(limits.concurrency)) finish("too many are late");
        else expectSign();
      };
      expectSign();
      worker.postMessage(message);
    });
  }
}

/** Whether the module wants whole batches. @throws Error with the reason why it cannot be loaded */
function loaded(worker: Worker, url: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`it did not load within ${LOAD_TIME} s`)),
      LOAD_TIME * 1000,
    );
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      worker.onmessage = worker.onerror = null;
      settle();
    };
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.type === "loaded") finish(() => resolve(data.wholeBatch));
      else if (data.type === "broken" || data.type === "uncaught") {
        finish(() => reject(new Error(data.message)));
      }
    };
    worker.onerror = (event) => {
      event.preventDefault();
      finish(() => reject(new Error(event.message)));
    };
    const message: ToWorker = { type: "load", url };
    worker.postMessage(message);
  });
}
