/** A reward from a user's file, in a process of its own. */
import { messageOf, UsageError } from "../../core/errors.ts";
import type { Outcome, RewardNotes, Scorer } from "../scorer.ts";
import type { RewardSample } from "../types.ts";
import { decodeCell, type Scored } from "./protocol.ts";
import { Sandbox } from "./sandbox.ts";
import { loadRewardFile } from "./source.ts";

export interface RewardFile {
  /** Relative to the working directory. */
  path: string;
  /** Of the source, for the records: a run that goes on with another one says so. */
  sha256?: string;
  /** Hosts that the reward may connect to, `name` or `name:port`; default none. */
  net?: readonly string[];
  /** Values in the making at a time (of asynchronous rewards); default 8 with `net`, else 1. */
  concurrency?: number;
  /** Further attempts after an exception; default 2 with `net`, else 0. */
  retries?: number;
}

const HOST = /^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** What is wrong with a host of `net`, or null. */
export function hostProblem(host: unknown): string | null {
  if (typeof host === "string" && HOST.test(host)) return null;
  return `expected a host as in api.example.org or localhost:8000, found ${JSON.stringify(host)}`;
}

/** @param timeout seconds for one value. @throws UsageError for an impossible section */
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
  // Read once: the same source for the whole run.
  const open = async () => sandbox ??= new Sandbox(path, (await loadRewardFile(path)).url, net);
  return {
    name,
    async open() {
      const opened = await open();
      await opened.start();
      await opened.close();
    },
    close: async () => await sandbox?.close(),
    async score(samples, notes) {
      try {
        const scored = await (await open()).score(samples.map(plain), params, limits);
        return scored.map((one, row) => take(one, row, notes));
      } catch (error) {
        return samples.map(() => ({ error: messageOf(error) }));
      }
    },
  };
}

/** Only what can be sent, whatever else an embedding program has put into its samples. */
function plain(sample: RewardSample): RewardSample {
  return {
    prompt: sample.prompt,
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

function take({ result, logged, extras }: Scored, row: number, notes: RewardNotes): Outcome {
  try {
    for (const [name, value] of logged) notes.log(name, value);
    for (const [column, cell] of extras) notes.logExtra(row, column, decodeCell(cell));
    return result;
  } catch (error) {
    return { error: messageOf(error) };
  }
}
