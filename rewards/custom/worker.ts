/**
 * The inside of the Worker that runs a user's reward. Loads one module, scores batches with it, and says
 * what it is doing after every step, so that the program knows which sample it hangs on.
 */
import { messageOf } from "../../core/errors.ts";
import { checkValue, RewardNotes, show } from "../scorer.ts";
import type { RewardInput } from "../types.ts";
import { lockDown } from "./lock_down.ts";
import {
  encodeCell,
  type FromWorker,
  type Limits,
  type Scored,
  toLine,
  type ToWorker,
} from "./protocol.ts";

type Params = Readonly<Record<string, unknown>>;
type Call = (input: unknown, params: Params) => unknown;
type Samples = Extract<ToWorker, { type: "score" }>["samples"];

/** First pause before another attempt, in seconds; it doubles each time. */
const FIRST_PAUSE = 0.5;

// Taken before the user's code can put something else in their place.
const scope = self as unknown as {
  postMessage(line: string): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
};
const postLine = scope.postMessage.bind(scope), parse = JSON.parse;
/** What is done and not told yet. */
let held: FromWorker[] = [];
const post = (message: FromWorker) => {
  held.push(message);
  tell();
};
const tell = () => {
  if (held.length > 0) postLine(toLine(held));
  held = [];
};
const wait = setTimeout, stopWaiting = clearTimeout;
Object.assign(globalThis, { postMessage: undefined });
lockDown();

let compute: Call | null = null, computeBatch: Call | null = null;
let moduleUrl = "";

scope.addEventListener("message", (event) => {
  const message: ToWorker = parse((event as MessageEvent<string>).data);
  if (message.type === "load") load(message.url);
  else score(message);
});
for (const type of ["error", "unhandledrejection"]) {
  scope.addEventListener(type, (event) => {
    event.preventDefault();
    const { error, reason, message } = event as ErrorEvent & PromiseRejectionEvent;
    post({ type: "uncaught", message: explain(error ?? reason ?? message) });
  });
}

async function load(url: string): Promise<void> {
  moduleUrl = url;
  try {
    const module = await import(url);
    if (typeof module.computeBatch === "function") computeBatch = module.computeBatch;
    else if (typeof module.default === "function") compute = module.default;
    else throw new TypeError("neither computeBatch nor the default export is a function");
    post({ type: "loaded", wholeBatch: computeBatch !== null });
  } catch (error) {
    post({ type: "broken", message: explain(error) });
  }
}

async function score(
  { batch, samples, params, limits }: Extract<ToWorker, { type: "score" }>,
): Promise<void> {
  // Told together with the start of the next one, which follows at once: half as many messages.
  const report = (row: number, scored: Scored) => held.push({ type: "scored", batch, row, scored });
  if (computeBatch !== null) {
    await scoreBatch(computeBatch, samples, params, limits, report);
    return tell();
  }
  const queue = samples[Symbol.iterator]();
  const lane = async () => {
    for (const { row, sample } of queue) {
      for (let attempt = 0;; attempt++) {
        post({ type: "started", batch, row });
        const { notes, input } = noted(sample);
        try {
          const value = checkValue(await inTime(() => compute!(input, params), limits.timeout));
          report(row, { ...notes, result: { value } });
          break;
        } catch (error) {
          if (attempt < limits.retries && !(error instanceof Late)) {
            const pause = Math.min(FIRST_PAUSE * 2 ** attempt, limits.timeout);
            await new Promise((resume) => wait(resume, pause * 1000));
            continue;
          }
          const late = error instanceof Late;
          report(row, { ...notes, result: { error: explain(error) }, late });
          break;
        }
      }
    }
    tell();
  };
  await Promise.all(Array.from({ length: limits.concurrency }, lane));
}

async function scoreBatch(
  call: Call,
  samples: Samples,
  params: Params,
  { timeout }: Limits,
  report: (row: number, scored: Scored) => unknown,
): Promise<void> {
  const all = samples.map(({ row, sample }) => ({ row, ...noted(sample) }));
  try {
    const values = await inTime(
      () => call(all.map(({ input }) => input), params),
      timeout * samples.length,
    );
    if (!Array.isArray(values) || values.length !== all.length) {
      throw new TypeError(`returned ${show(values)}, a list of ${all.length} is expected`);
    }
    for (const [i, { row, notes }] of all.entries()) {
      try {
        report(row, { ...notes, result: { value: checkValue(values[i]) } });
      } catch (error) {
        report(row, { ...notes, result: { error: messageOf(error) } });
      }
    }
  } catch (error) {
    for (const { row, notes } of all) report(row, { ...notes, result: { error: explain(error) } });
  }
}

/** The sample with its two ways of leaving notes, which are checked here, where a mistake has a line. */
function noted(sample: Samples[number]["sample"]) {
  const notes: Pick<Scored, "logged" | "extras"> = { logged: [], extras: [] };
  const check = new RewardNotes(1, []);
  const input: RewardInput = {
    ...sample,
    log(name, value) {
      check.log(name, value);
      notes.logged.push([name, value]);
    },
    logExtra(column, value) {
      check.logExtra(0, column, value);
      notes.extras.push([column, encodeCell(value)]);
    },
  };
  return { notes, input };
}

class Late extends Error {}

async function inTime(call: () => unknown, seconds: number): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const result = call();
    if (!(result instanceof Promise)) return result;
    const late = new Promise<never>((_, reject) => {
      timer = wait(() => reject(new Late(`gave no value within ${seconds} s`)), seconds * 1000);
    });
    return await Promise.race([result, late]);
  } finally {
    stopWaiting(timer);
  }
}

/** The message with the line of the user's file, where the exception came from there. */
function explain(error: unknown): string {
  const message = messageOf(error).replaceAll(moduleUrl, "the file");
  const stack = error instanceof Error ? error.stack ?? "" : "";
  const [, line, column] = /data:text\/javascript[^\s]*?:(\d+):(\d+)/.exec(stack) ?? [];
  return line === undefined || message.includes("the file:")
    ? message
    : `${message} (line ${line}, column ${column})`;
}
