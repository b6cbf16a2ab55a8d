/**
 * Divides the jobs of a benchmark among the ranks of an MPI job. The first rank plans, keeps the
 * answers and writes the results. Every rank answers its share on a device of its own. While they
 * work, the ranks meet in rounds, in which the answers of all travel to the first rank. So a killed
 * rank costs only the answers since the last round.
 */
import { Interrupted } from "../../core/errors.ts";
import { atMost } from "../../core/machine/running_time.ts";
import { VERSION } from "../../core/version.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import type { Answerers } from "../answerer.ts";
import { fileSizesOf } from "../plan/model_request.ts";
import {
  deal,
  type Job,
  type JobEvent,
  missingSamples,
  type OnJobEvent,
  runJobs,
} from "./run_jobs.ts";
import { asMessages, packJobs, unpackJobs } from "./worker.ts";

/** Milliseconds between two rounds. */
const ROUND_MS = 300;

/** What the first rank knows. */
export interface RankPlan {
  jobs: readonly Job[];
  /** @param total number of samples that the rank will answer */
  listener: (rank: number, total: number) => OnJobEvent;
  /** Whether the folder holds answers already. */
  isKept: boolean;
}

/** The data that a rank sends in a round. */
interface Round {
  messages: JobEvent<number>[];
  isOver: boolean;
  isInterrupted: boolean;
  isStopping: boolean;
}

/**
 * @param plan what the first rank has planned; null on all others
 * @throws Interrupted on all ranks when `shouldStop` returned true on one of them; RankFailed
 */
export async function runOnRanks(
  ranks: Ranks,
  plan: RankPlan | null,
  models: Answerers,
  shouldStop: () => boolean,
): Promise<void> {
  const told = await ranks.first(() => ({ jobs: packJobs(plan!.jobs), isKept: plan!.isKept }));
  if (told.isKept) ranks.progress.keeps();
  const jobs = plan?.jobs ?? unpackJobs(told.jobs);
  await compareRanks(ranks, jobs);
  const shares = deal(jobs, ranks.size);
  const listeners = shares.map((share, rank) =>
    plan?.listener(rank, missingSamples(share)) ?? null
  );
  const own = shares[ranks.rank]!;
  let outbox: JobEvent<number>[] = [], isOver = false, isInterrupted = false, isStopping = false;
  let failure: { error: unknown } | null = null;
  const { promise: ended, resolve: wake } = Promise.withResolvers<void>();
  const work = runJobs(
    own,
    models,
    asMessages(own, (message) => outbox.push(message)),
    () => isStopping || shouldStop(),
  ).catch((error) => {
    if (error instanceof Interrupted) isInterrupted = true;
    else failure ??= { error };
  }).finally(() => {
    isOver = true;
    wake();
  });
  const bring = (): Round => {
    if (failure !== null) throw failure.error;
    const messages = outbox;
    outbox = [];
    return { messages, isOver, isInterrupted, isStopping: isInterrupted || shouldStop() };
  };
  try {
    for (;;) {
      const rounds = await ranks.each(bring);
      try {
        rounds.forEach(({ messages }, rank) => {
          for (const message of messages) {
            if (message.type === "answer") ranks.progress.keeps();
            listeners[rank]?.({ ...message, job: shares[rank]![message.job]! });
          }
        });
      } catch (error) {
        failure ??= { error };
        continue; // the others learn of it in the next round
      }
      if (rounds.every((round) => round.isOver)) {
        const ends = rounds.some((round) => round.isInterrupted);
        await ranks.meet(ends);
        return;
      }
      isStopping ||= rounds.some((round) => round.isStopping);
      await atMost(ROUND_MS, ended);
    }
  } finally {
    isStopping = true;
    await work;
  }
}

/** @throws UsageError when a rank is another version, or has other models */
async function compareRanks(ranks: Ranks, jobs: readonly Job[]): Promise<void> {
  const own: Record<string, string> = { version: VERSION };
  await ranks.each(() => {
    for (const { name, where } of new Set(jobs.map(({ model }) => model))) {
      if (where.kind !== "local") continue;
      own[`files of ${name}`] = fileSizesOf(where).slice(0, DIGITS);
    }
  });
  await ranks.compare(own, "Start all ranks with the same program, arguments and files.");
}

/** Digits of a hash in a message. */
const DIGITS = 16;
