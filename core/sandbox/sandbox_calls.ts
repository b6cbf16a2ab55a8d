/**
 * Calls of a user's code in a process of its own: a reward scores samples, an environment answers a
 * model. A batch is sent in one message; the results come back one by one. Single calls join the
 * batch under way. A process that reports nothing for longer than the time limit hangs; a process
 * may also fill the memory or crash. It is then ended, the item that it was at work on counts as
 * failed, and a new process does the rest.
 */
import { messageOf, UsageError } from "../errors.ts";
import { runningTimeout } from "../machine/running_time.ts";
import { type Host, type ProgramHost, SandboxProcess } from "./sandbox_process.ts";

export interface CallLimits {
  /** The time limit for one item, in seconds. */
  timeout: number;
  /** Number of items that are done at the same time. */
  concurrency: number;
}

export interface Work<Item> {
  type: "work";
  batch: number;
  items: readonly { row: number; item: Item }[];
  params: Readonly<Record<string, unknown>>;
  limits: CallLimits & Readonly<Record<string, unknown>>;
}

export type ToWorker<Item> = { type: "load"; url: string } | Work<Item>;

export type FromWorker<About, Result> =
  | { type: "loaded"; about: About }
  | { type: "broken"; message: string }
  | { type: "started"; batch: number; row: number }
  | { type: "done"; batch: number; row: number; result: Result }
  /** An exception outside of any call: in a timer, or in a promise that nobody awaits. */
  | { type: "uncaught"; message: string };

/** Default time limit for starting the process and for loading the module, in seconds. */
const LOAD_TIME = 10;
/** Seconds on top of the time limit, so that the Worker can report a late promise itself. */
const GRACE = 0.5;

/** After this many late results in a row (in each lane) the rest of the batch is not tried. */
const MAX_LATE_IN_A_ROW = 8;

/** Why the process has to be ended, and the items that were started and not finished. */
interface Ended {
  running: number[];
  message: string;
  late: boolean;
}

interface Joining<Item, Result> {
  take(): Item[];
  done(row: number, result: Result): void;
}

/** What differs between the kinds of code. */
export interface CallKind<About, Result> {
  host: Host | ProgramHost;
  /** Seconds for starting the process and for loading the code; default 10. */
  loadTime?: number;
  /** In messages: "reward". */
  what: string;
  /** In messages, what a call gives: "value". */
  gives: string;
  failed(message: string, late: boolean): Result;
  /** Whether the items of a batch are done together, and fail together. */
  isTogether(about: About): boolean;
}

type CallProcess<About, Item, Result> = SandboxProcess<FromWorker<About, Result>, ToWorker<Item>>;

/** `Item` and `Result` can be written as JSON; a result is late where the time limit ended it. */
export class SandboxCalls<About, Item, Result extends { late?: boolean }> {
  #process: CallProcess<About, Item, Result> | null = null;
  #about: About | null = null;
  #batches = 0;
  #lateInARow = 0;
  #closings = 0;
  /** Ends the batch that is being done. */
  #interrupt: (() => void) | null = null;
  /** Single calls that wait, and what sends them. */
  #waiting: { item: Item; resolve: (result: Result) => void }[] = [];
  #send: (() => void) | null = null;
  #serving: Promise<void> | null = null;

  /** @param url of the module, or what another program loads. @param net hosts it may connect to */
  constructor(
    private readonly kind: CallKind<About, Result>,
    private readonly path: string,
    private readonly url: string,
    private readonly net: readonly string[],
  ) {}

  /** Starts the process, if there is none. @throws UsageError when the module cannot be loaded */
  async start(): Promise<void> {
    if (this.#process?.ended === null) return;
    // A signal that asks the run to stop may end the process before it handles signals: try twice.
    for (let attempt = 1;; attempt++) {
      let process: CallProcess<About, Item, Result> | null = null;
      try {
        process = this.#process = new SandboxProcess(this.kind.host, this.net);
        this.#about = await loaded(process, this.url, this.kind.loadTime ?? LOAD_TIME);
        return;
      } catch (error) {
        const died = process !== null && process.ended !== null;
        await this.#end();
        if (died && attempt === 1) continue;
        const what = `the ${this.kind.what} file ${this.path}`;
        throw new UsageError(`${what} cannot be used: ${messageOf(error)}`);
      }
    }
  }

  /** What the module says about itself; null before it was started. */
  get about(): About | null {
    return this.#about;
  }

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

  /** The result of one item, whatever happens. It is done beside others that are under way. */
  call(item: Item, limits: CallLimits): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve });
      this.#send?.();
      this.#serving ??= this.#serve(limits).finally(() => this.#serving = null);
      this.#serving.catch(reject);
    });
  }

  async #serve(limits: CallLimits): Promise<void> {
    while (this.#waiting.length > 0) {
      const taken: { resolve: (result: Result) => void }[] = [];
      const take = () => {
        const fresh = this.#waiting.splice(0);
        taken.push(...fresh);
        return fresh.map(({ item }) => item);
      };
      const done = (row: number, result: Result) => taken[row]!.resolve(result);
      await this.#run(take(), {}, { ...limits }, { take, done });
    }
  }

  /** One result per item, whatever happens. */
  run(
    items: readonly Item[],
    params: Readonly<Record<string, unknown>>,
    limits: Work<Item>["limits"],
  ): Promise<Result[]> {
    return this.#run([...items], params, limits, null);
  }

  async #run(
    items: Item[],
    params: Readonly<Record<string, unknown>>,
    limits: Work<Item>["limits"],
    joining: Joining<Item, Result> | null,
  ): Promise<Result[]> {
    const results = new Map<number, Result>();
    const settle = (row: number, result: Result) => {
      results.set(row, result);
      joining?.done(row, result);
    };
    const fail = (row: number, error: string, late = false) =>
      settle(row, this.kind.failed(error, late));
    let { concurrency } = limits, triedAgain = false;
    const closings = this.#closings,
      missing = () => [...items.keys()].filter((row) => !results.has(row));
    this.#lateInARow = 0;
    for (let rows = missing(); rows.length > 0;) {
      try {
        await this.start();
        if (this.#closings > closings) await this.#end();
      } catch (error) {
        for (const row of rows) fail(row, messageOf(error));
        break;
      }
      const request: Work<Item> = {
        type: "work",
        batch: ++this.#batches,
        items: rows.map((row) => ({ row, item: items[row]! })),
        params,
        limits: { ...limits, concurrency },
      };
      const join = () => {
        const fresh = joining!.take(), first = items.length;
        items.push(...fresh);
        return fresh.map((item, i) => ({ row: first + i, item }));
      };
      // While it is found out which item hangs, one is done at a time.
      const mayJoin = joining !== null && concurrency === limits.concurrency;
      const ended = await this.#runBatch(request, settle, mayJoin ? join : null);
      rows = missing();
      if (ended !== null) {
        await this.#end();
        const { running, message, late } = ended;
        if (this.#closings > closings) { for (const row of rows) fail(row, "scoring was ended"); }
        else if (this.#isTogether) { for (const row of rows) fail(row, message, late); }
        else if (running.length > 1) concurrency = 1; // finds out which item hangs
        // Killed before it began: no item is to blame.
        else if (running.length === 0 && !triedAgain) triedAgain = true;
        else if (!this.#tooManyLate(concurrency)) {
          fail(running[0] ?? rows[0]!, message, late);
          this.#lateInARow += joining === null ? 1 : limits.concurrency;
          if (joining !== null) concurrency = limits.concurrency;
        }
        rows = missing();
      }
      if (this.#tooManyLate(concurrency)) {
        // Waiting for the time limit of every item of a batch would take too long.
        const { gives } = this.kind, late = this.#lateInARow;
        for (const row of rows) fail(row, `not tried: ${late} in a row gave no ${gives}`, true);
        rows = [];
      }
    }
    return items.map((_, row) => results.get(row)!);
  }

  get #isTogether(): boolean {
    return this.kind.isTogether(this.#about!);
  }

  #tooManyLate(concurrency: number): boolean {
    return this.#lateInARow >= MAX_LATE_IN_A_ROW * concurrency;
  }

  /** Resolves with null when every item has a result, or with why the process has to be ended. */
  #runBatch(
    request: Work<Item>,
    settled: (row: number, result: Result) => void,
    join: (() => Work<Item>["items"]) | null,
  ): Promise<Ended | null> {
    const process = this.#process, { batch, items, limits } = request;
    const closed = { running: [], message: "scoring was ended", late: false };
    if (process === null) return Promise.resolve(closed);
    const running = new Set<number>();
    const missing = new Set(items.map(({ row }) => row));
    const seconds = limits.timeout * (this.#isTogether ? items.length : 1);
    return new Promise((resolve) => {
      let stopTimer = () => {};
      const finish = (end: string | null, late = false) => {
        stopTimer();
        process.listen(null);
        this.#interrupt = this.#send = null;
        const rows = [...running].filter((row) => missing.has(row));
        resolve(end === null ? null : { running: rows, message: end, late });
      };
      const restartTimer = () => {
        stopTimer();
        const { gives } = this.kind;
        const silent = () =>
          finish(`gave no ${gives} within ${seconds} s, its process was ended`, true);
        stopTimer = runningTimeout(silent, (seconds + GRACE) * 1000);
      };
      const settle = (row: number, result: Result) => {
        if (missing.delete(row)) settled(row, result);
        running.delete(row);
        this.#lateInARow = result.late ? this.#lateInARow + 1 : 0;
      };
      this.#interrupt = () => finish("scoring was ended");
      this.#send = join && (() => {
        const fresh = join();
        if (fresh.length === 0) return;
        for (const { row } of fresh) missing.add(row);
        process.send({ ...request, items: fresh });
      });
      process.listen((messages, ended) => {
        for (const message of messages) {
          if (message.type === "started" && message.batch === batch) running.add(message.row);
          else if (message.type === "done" && message.batch === batch) {
            settle(message.row, message.result);
          } else if (message.type === "uncaught") {
            if (join !== null && running.size > 1) return finish(message.message);
            for (const row of running) settle(row, this.kind.failed(message.message, false));
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
      this.#send?.(); // what came while the process was started
    });
  }
}

/** Loads the module. @throws Error if it cannot be loaded */
function loaded<About, Item, Result>(
  process: CallProcess<About, Item, Result>,
  url: string,
  seconds: number,
): Promise<About> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      stopTimer();
      process.listen(null);
      settle();
    };
    const fail = (message: string) => finish(() => reject(new Error(message)));
    const silent = () => fail(`it did not load within ${seconds} s`);
    const stopTimer = runningTimeout(silent, seconds * 1000);
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
