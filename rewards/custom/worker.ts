/** The code inside the Worker that runs a user's reward, one completion or batch at a time. */
import { messageOf } from "../../core/errors.ts";
import type { Work } from "../../core/sandbox/sandbox_calls.ts";
import { type Reporter, serveCalls } from "../../core/sandbox/serve_calls.ts";
import { checkBatch, checkValue, RewardNotes } from "../scorer.ts";
import { inTime, Late } from "../time_limit.ts";
import { type RewardInput, type RewardSample, SAMPLE_PARTS, type SamplePart } from "../types.ts";
import { type AboutReward, encodeCell, type Limits, type Scored } from "./protocol.ts";

type Params = Readonly<Record<string, unknown>>;
type Call = (input: unknown, params: Params) => unknown;
type Samples = Work<RewardSample>["items"];
type Explain = (error: unknown) => string;

/** Pause before the second attempt, in seconds. It doubles with each further attempt. */
const FIRST_PAUSE = 0.5;

let compute: Call | null = null, computeBatch: Call | null = null;
// Captured before the user's code can replace it.
const wait = setTimeout;

serveCalls<AboutReward, RewardSample, Scored>({
  load(module) {
    if (typeof module["computeBatch"] === "function") computeBatch = module["computeBatch"] as Call;
    else if (typeof module["default"] === "function") compute = module["default"] as Call;
    else throw new TypeError("neither computeBatch nor the default export is a function");
    return { wholeBatch: computeBatch !== null, needs: needsOf(module["needs"]) };
  },
  work: (work, report, explain) => score(work, report, (error) => granted(explain(error))),
});

/** @throws TypeError for anything but a list of parts */
function needsOf(needs: unknown): SamplePart[] {
  if (needs === undefined) return [];
  const parts: readonly unknown[] = SAMPLE_PARTS;
  if (Array.isArray(needs) && needs.every((part) => parts.includes(part))) return needs;
  throw new TypeError(`its export needs: expected a list of ${parts.join(", ")}`);
}

async function score(
  { batch, items, params, limits }: Work<RewardSample>,
  report: Reporter<Scored>,
  explain: Explain,
): Promise<void> {
  const { timeout, concurrency, retries } = limits as unknown as Limits;
  const done = (row: number, scored: Scored) => report.done(batch, row, scored);
  if (computeBatch !== null) return await scoreBatch(items, params, timeout, done, explain);
  const queue = items[Symbol.iterator]();
  const lane = async () => {
    for (const { row, item } of queue) {
      for (let attempt = 0;; attempt++) {
        report.started(batch, row);
        const { notes, input } = withNotes(item);
        try {
          const value = checkValue(await inTime(compute!(input, params), timeout));
          done(row, { ...notes, result: { value } });
          break;
        } catch (error) {
          if (attempt < retries && !(error instanceof Late) && !isForbidden(error)) {
            const pause = Math.min(FIRST_PAUSE * 2 ** attempt, timeout);
            await new Promise((resume) => wait(resume, pause * 1000));
            continue;
          }
          const late = error instanceof Late;
          done(row, { ...notes, result: { error: explain(error) }, late });
          break;
        }
      }
    }
    report.flush();
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

async function scoreBatch(
  samples: Samples,
  params: Params,
  timeout: number,
  done: (row: number, scored: Scored) => void,
  explain: Explain,
): Promise<void> {
  const all = samples.map(({ row, item }) => ({ row, ...withNotes(item) }));
  try {
    const result = computeBatch!(all.map(({ input }) => input), params);
    const values = checkBatch(await inTime(result, timeout * samples.length), all.length);
    for (const [i, { row, notes }] of all.entries()) {
      try {
        done(row, { ...notes, result: { value: checkValue(values[i]) } });
      } catch (error) {
        done(row, { ...notes, result: { error: messageOf(error) } });
      }
    }
  } catch (error) {
    for (const { row, notes } of all) done(row, { ...notes, result: { error: explain(error) } });
  }
}

/**
 * The sample with `log`, `logExtra` and `addCost`. They check their arguments here, where the stack
 * of an error has the line of the user's file.
 */
function withNotes(sample: RewardSample) {
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

/** Deno's message about a host without permission; a user cannot follow its advice. */
const NOT_GRANTED =
  /Requires net access to "([^"]*)"(?:, (?:run again|specify)[^(]*--allow-net(?:`| flag))?/;

const isForbidden = (error: unknown) => error instanceof Error && error.name === "NotCapable";

const granted = (message: string) =>
  message.replace(
    NOT_GRANTED,
    'may not connect to $1: it is not granted, as net: ["$1"] of the reward would',
  );
