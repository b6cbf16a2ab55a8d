/**
 * The side of the Worker: loads one module of a user, does batches of calls with it, and reports
 * each item when it starts and when it is done, so that the program knows where it hangs.
 */
import { explain as explained } from "./explain.ts";
import { lockDown } from "./lock_down.ts";
import type { FromWorker, ToWorker, Work } from "./sandbox_calls.ts";

/** How a Worker tells the program about a batch. */
export interface Reporter<Result> {
  started(batch: number, row: number): void;
  /** An item is done. Sent with the next one's start, which follows at once, or by `flush`. */
  done(batch: number, row: number, result: Result): void;
  flush(): void;
}

export interface WorkerKind<About, Item, Result> {
  /** Takes the module and says what it is. @throws TypeError for what cannot be used */
  load(module: Record<string, unknown>): About;
  /** Does a batch; must not throw. @param explain the message of an exception, with its line */
  work(
    work: Work<Item>,
    report: Reporter<Result>,
    explain: (error: unknown) => string,
  ): Promise<void>;
}

/** Call it before any code of the user is loaded. */
export function serveCalls<About, Item, Result>(kind: WorkerKind<About, Item, Result>): void {
  // Captured before the user's code can replace them.
  const scope = self as unknown as {
    postMessage(line: string): void;
    addEventListener(type: string, listener: (event: Event) => void): void;
  };
  const postLine = scope.postMessage.bind(scope), { parse, stringify } = JSON;
  let pending: FromWorker<About, Result>[] = [], moduleUrl = "";
  const flush = () => {
    if (pending.length > 0) postLine(stringify(pending));
    pending = [];
  };
  const post = (message: FromWorker<About, Result>) => {
    pending.push(message);
    flush();
  };
  const explain = (error: unknown) => explained(error, moduleUrl);
  Object.assign(globalThis, { postMessage: undefined });
  lockDown();

  const load = async (url: string) => {
    moduleUrl = url;
    try {
      post({ type: "loaded", about: kind.load(await import(url)) });
    } catch (error) {
      post({ type: "broken", message: explain(error) });
    }
  };
  const report: Reporter<Result> = {
    started: (batch, row) => post({ type: "started", batch, row }),
    done: (batch, row, result) => void pending.push({ type: "done", batch, row, result }),
    flush,
  };
  scope.addEventListener("message", (event) => {
    const message: ToWorker<Item> = parse((event as MessageEvent<string>).data);
    if (message.type === "load") load(message.url);
    else kind.work(message, report, explain).then(flush);
  });
  for (const type of ["error", "unhandledrejection"]) {
    scope.addEventListener(type, (event) => {
      event.preventDefault();
      const { error, reason, message } = event as ErrorEvent & PromiseRejectionEvent;
      post({ type: "uncaught", message: explain(error ?? reason ?? message) });
    });
  }
}

/** Does the items of a batch, a few of them at the same time. @param one must not throw */
export async function inLanes<Item, Result>(
  { batch, items, limits }: Work<Item>,
  report: Reporter<Result>,
  one: (item: Item, started: () => void) => Promise<Result>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  const lane = async () => {
    for (const { row, item } of queue) {
      report.done(batch, row, await one(item, () => report.started(batch, row)));
    }
    report.flush();
  };
  await Promise.all(Array.from({ length: limits.concurrency }, lane));
}
