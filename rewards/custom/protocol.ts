/** The messages between the program and the Worker that runs a user's reward. */
import type { ExtraValue, RewardSample, RewardValue } from "../types.ts";

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
