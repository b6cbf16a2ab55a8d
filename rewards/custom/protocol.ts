/**
 * The messages between the program and the Worker that runs a user's reward, a line of JSON each, which
 * the process between them hands on unread.
 */
import type { ExtraValue, RewardSample, RewardValue } from "../types.ts";

/** The executable's hidden command that hosts a reward. */
export const HOST_COMMAND = "reward-host";

/** Bytes that the process of a reward may hold. */
export const MEMORY_LIMIT = 2 ** 30;

export interface Limits {
  /** Seconds for one value. */
  timeout: number;
  /** Values in the making at a time. */
  concurrency: number;
  /** Further attempts after an exception. */
  retries: number;
}

export type ToWorker =
  | { type: "load"; url: string }
  | {
    type: "score";
    batch: number;
    samples: readonly { row: number; sample: RewardSample }[];
    params: Readonly<Record<string, unknown>>;
    limits: Limits;
  };

/** A value or why there is none, and what was logged on the way. */
export interface Scored {
  result: { value: RewardValue } | { error: string };
  /** There is none because the time was up. */
  late?: boolean;
  logged: (readonly [name: string, value: number])[];
  extras: (readonly [column: string, value: ExtraValue])[];
}

export type FromWorker =
  | { type: "loaded"; wholeBatch: boolean }
  | { type: "broken"; message: string }
  | { type: "started"; batch: number; row: number }
  | { type: "scored"; batch: number; row: number; scored: Scored }
  /** An exception outside of any call: in a timer, or a promise that nobody waited for. */
  | { type: "uncaught"; message: string };

/** What the program reads: also from the process itself. */
export type FromReward = FromWorker | { type: "ended"; message: string };

// Taken before the user's code can put something else in their place.
const { parse, stringify } = JSON;

/** A message as a line; numbers that JSON lacks, which extra columns may hold, are kept. */
export function toLine(message: FromWorker): string {
  return stringify(
    message,
    (_, value) =>
      typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))
        ? { $number: Object.is(value, -0) ? "-0" : String(value) }
        : value,
  );
}

/** The message of a line, null for one that is none. */
export function fromLine(line: string): FromReward | null {
  try {
    const message = parse(line, (_, value) => value?.$number ? Number(value.$number) : value);
    return typeof message?.type === "string" ? message : null;
  } catch {
    return null;
  }
}
