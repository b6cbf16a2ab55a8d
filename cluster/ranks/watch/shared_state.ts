/** The state that the two threads of a rank share: one thread works, one watches other ranks. */

/** Words of the shared memory. */
export const WORD = {
  /** Increased by the working thread while it works or waits. */
  beats: 0,
  /** 1 + the lost rank; 0 = none; 1 + the number of ranks = the process that started them. */
  lost: 1,
  /** How it was lost: an index of LOSSES. */
  loss: 2,
  /** The exit code for an end without the working thread. */
  exitCode: 3,
  count: 4,
} as const;

/** How a rank is lost, in words. */
const LOSSES = [
  "its process has ended or was killed",
  "it has been silent for too long: its process or its machine hangs",
  "it has made no progress for too long",
  "it has failed, and has said why",
] as const;
/** The index of the last of these losses, about which no other rank prints anything. */
export const FAILED = 3;

/** The variable with the process of rgx that starts the ranks, which that process sets. */
export const STARTER_VARIABLE = "RGX_RANKS_STARTER";

export const BEAT_MS = 1000;
/** A rank that is silent for so long is lost. */
export const SILENT_MS = 6000;
/** A rank whose working thread has not moved for so long is lost. */
export const STALLED_MS = 600_000;
/** The time for the working thread to end the run after a loss, before the other thread does. */
export const GRACE_MS = 2000;
/** How long the silent ranks wait for the one that prints the error. */
export const SPEAKER_FIRST_MS = 3000;

export interface WatchRequest {
  words: Int32Array<SharedArrayBuffer>;
  rank: number;
  size: number;
  /** Proves that a connection is from a rank of this run. */
  token: string;
  /** The address at which the first rank listens; null on the first rank itself. */
  at: { addresses: readonly string[]; port: number } | null;
  /** The process that has started the ranks, and its start; null: unknown, or elsewhere. */
  starter: { pid: number; ticks: string } | null;
}

/**
 * A later message to the thread. `end`: the rank ends with the others. `failed`: it has failed and
 * printed why, and ends the others.
 */
export type WatchOrder = "end" | "failed";

/** The thread's answers: its address, whether it has a connection, and that the others know. */
export type WatchAnswer = { port: number } | { connected: boolean } | { told: true };

/** The message about a lost rank of `size`, or about what has started them. */
export function lossText(rank: number, loss: number, size: number): string {
  if (rank === size) return "the process that has started the ranks was killed";
  return `rank ${rank} is lost: ${LOSSES[loss] ?? LOSSES[0]}`;
}
