/**
 * The code inside the Worker that runs a user's reward. It loads one module and scores batches with
 * it. It reports each sample when it starts and when it is done, so that the program knows where it
 * hangs.
 */
import { messageOf } from "../../core/errors.ts";
import { explain as explained } from "../../core/sandbox/explain.ts";
import { lockDown } from "../../core/sandbox/lock_down.ts";
import { checkBatch, checkValue, RewardNotes } from "../scorer.ts";
import { inTime, Late } from "../time_limit.ts";
import { type RewardInput, SAMPLE_PARTS, type SamplePart } from "../types.ts";
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

/** Pause before the second attempt, in seconds. It doubles with each further attempt. */
const FIRST_PAUSE = 0.5;

// Captured before the user's code can replace them.
const scope = self as unknown as {
  postMessage(line: string): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
};
const postLine = scope.postMessage.bind(scope), parse = JSON.parse;
/** Messages that have not been sent yet. */
let pending: FromWorker[] = [];
const post = (message: FromWorker) => {
  pending.push(message);
  flush();
};
const flush = () => {
  if (pending.length > 0) postLine(toLine(pending));
  pending = [];
};
const wait = setTimeout;
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
    const about = { wholeBatch: computeBatch !== null, needs: needsOf(module.needs) };
    post({ type: "loaded", about });
  } catch (error) {
    post({ type: "broken", message: explain(error) });
  }
}

/** @throws TypeError for anything but a list of parts */
function needsOf(needs: unknown): SamplePart[] {
  if (needs === undefined) return [];
  const parts: readonly unknown[] = SAMPLE_PARTS;
  if (Array.isArray(needs) && needs.every((part) => parts.includes(part))) return needs;
  throw new TypeError(`its export needs: expected a list of ${parts.join(", ")}`);
}

async function score(
  { batch, samples, params, limits }: Extract<ToWorker, { type: "score" }>,
): Promise<void> {
  // Sent together with the start of the next sample, which follows at once: half as many messages.
  const report = (row: number, scored: Scored) =>
    pending.push({ type: "scored", batch, row, scored });
  if (computeBatch !== null) {
    await scoreBatch(computeBatch, samples, params, limits, report);
    return flush();
  }
  const queue = samples[Symbol.iterator]();
  const lane = async () => {
    for (const { row, sample } of queue) {
      for (let attempt = 0;; attempt++) {
        post({ type: "started", batch, row });
        const { notes, input } = withNotes(sample);
        try {
          const value = checkValue(await inTime(compute!(input, params), limits.timeout));
          report(row, { ...notes, result: { value } });
          break;
        } catch (error) {
          if (attempt < limits.retries && !(error instanceof Late) && !isForbidden(error)) {
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
    flush();
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
  const all = samples.map(({ row, sample }) => ({ row, ...withNotes(sample) }));
  try {
    const result = call(all.map(({ input }) => input), params);
    const values = checkBatch(await inTime(result, timeout * samples.length), all.length);
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

/**
 * The sample with `log`, `logExtra` and `addCost`. They check their arguments here, where the stack
 * of an error has the line of the user's file.
 */
function withNotes(sample: Samples[number]["sample"]) {
  const notes: Pick<Scored, "logged" | "extras" | "cost"> = { logged: [], extras: [], cost: 0 };
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
    addCost(amount) {
      check.addCost("", amount);
      notes.cost += amount;
    },
  };
  return { notes, input };
}

/** What Deno says about a host that was not granted; a user cannot follow its advice. */
const NOT_GRANTED =
  /Requires net access to "([^"]*)"(?:, (?:run again|specify)[^(]*--allow-net(?:`| flag))?/;

const isForbidden = (error: unknown) => error instanceof Error && error.name === "NotCapable";

/** The message of an exception, with the line of the user's file if it came from there. */
const explain = (error: unknown) =>
  explained(error, moduleUrl).replace(
    NOT_GRANTED,
    'may not connect to $1: it is not granted, as net: ["$1"] of the reward would',
  );
