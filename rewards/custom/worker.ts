/** The code inside the Worker that runs a user's reward, one completion or batch at a time. */
import type { Work } from "../../core/sandbox/sandbox_calls.ts";
import { inLanes, type Reporter, serveCalls } from "../../core/sandbox/serve_calls.ts";
import {
  type AboutReward,
  batchOutcomes,
  checkValue,
  costOf,
  encodeCell,
  inputOf,
  type Limits,
  RewardNotes,
  type Scored,
} from "../scorer.ts";
import { inTime, Late } from "../time_limit.ts";
import { type RewardSample, SAMPLE_PARTS, type SamplePart } from "../types.ts";

type Params = Readonly<Record<string, unknown>>;
type Call = (input: unknown, params: Params) => unknown;
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
  work: Work<RewardSample>,
  report: Reporter<Scored>,
  explain: Explain,
): Promise<void> {
  const { batch, items, params } = work, { timeout, retries } = work.limits as unknown as Limits;
  if (computeBatch !== null) {
    const all = items.map(({ item }) => withNotes(item));
    const compute = () => computeBatch!(all.map(({ input }) => input), params);
    const results = await batchOutcomes(compute, all.length, timeout, explain);
    for (const [i, { row }] of items.entries()) {
      report.done(batch, row, scoredBy(results[i]!, all[i]!.notes));
    }
    return;
  }
  await inLanes(work, report, async (item, started) => {
    for (let attempt = 0;; attempt++) {
      started();
      const { notes, input } = withNotes(item);
      try {
        const value = checkValue(await inTime(compute!(input, params), timeout));
        return scoredBy({ value }, notes);
      } catch (error) {
        const late = error instanceof Late;
        if (attempt >= retries || late || isForbidden(error)) {
          return { ...scoredBy({ error: explain(error) }, notes), late };
        }
        const pause = Math.min(FIRST_PAUSE * 2 ** attempt, timeout);
        await new Promise((resume) => wait(resume, pause * 1000));
      }
    }
  });
}

/**
 * The sample with `log`, `logExtra` and `addCost`. They check their arguments here, where the stack
 * of an error has the line of the user's file.
 */
function withNotes(sample: RewardSample) {
  const notes = new RewardNotes(1, []);
  return { notes, input: inputOf("", sample, 0, notes) };
}

function scoredBy(result: Scored["result"], { logged, columns, sums }: RewardNotes): Scored {
  return {
    result,
    logged: [...logged].flatMap(([name, values]) => values.map((value) => [name, value] as const)),
    extras: [...columns].map(([column, [cell]]) => [column, encodeCell(cell!)]),
    cost: sums.get(costOf("")) ?? 0,
  };
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
