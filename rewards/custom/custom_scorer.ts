/** Scores with a reward from a user's file, which runs in a process of its own. */
import { messageOf, UsageError } from "../../core/errors.ts";
import type { Outcome, RewardNotes, Scorer } from "../scorer.ts";
import type { RewardSample } from "../types.ts";
import { decodeCell, type Scored } from "./protocol.ts";
import { Sandbox } from "./sandbox.ts";
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
  // The file is read once, so the source is the same for the whole run.
  const open = async () => sandbox ??= new Sandbox(path, (await loadRewardFile(path)).url, net);
  return {
    name,
    get wholeBatch() {
      return sandbox?.wholeBatch ?? false;
    },
    async open() {
      const opened = await open();
      await opened.start();
      await opened.close();
    },
    close: async () => await sandbox?.close(),
    async score(samples, notes) {
      try {
        const scored = await (await open()).score(samples.map(plain), params, limits);
        return scored.map((one, row) => record(one, row, notes));
      } catch (error) {
        return samples.map(() => ({ error: messageOf(error) }));
      }
    },
  };
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
