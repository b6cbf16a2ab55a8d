/**
 * The messages between the program and the Worker that runs a user's reward. They are lines of
 * JSON. The process between the two passes them on without reading them.
 */
import type { ExtraValue, RewardSample, RewardValue, SamplePart } from "../types.ts";

export interface Limits {
  /** The time limit for one value, in seconds. */
  timeout: number;
  /** Number of values that are computed at the same time. */
  concurrency: number;
  /** Number of further attempts after an exception. */
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

/** A value or why there is none, and what the reward logged. */
export interface Scored {
  result: { value: RewardValue } | { error: string };
  /** There is no value because of the time limit. */
  late?: boolean;
  logged: (readonly [name: string, value: number])[];
  extras: (readonly [column: string, cell: Cell])[];
  /** What the value has cost. */
  cost: number;
}

/** What the module of a reward says about itself. */
export interface AboutReward {
  /** It exports computeBatch. */
  wholeBatch: boolean;
  /** Its export `needs`; default none. */
  needs: readonly SamplePart[];
}

export type FromWorker =
  | { type: "loaded"; about: AboutReward }
  | { type: "broken"; message: string }
  | { type: "started"; batch: number; row: number }
  | { type: "scored"; batch: number; row: number; scored: Scored }
  /** An exception outside of any call: in a timer, or in a promise that nobody awaits. */
  | { type: "uncaught"; message: string };

// Captured before the user's code can replace them.
const { stringify } = JSON;

export function toLine(messages: readonly FromWorker[]): string {
  return stringify(messages);
}

/** A cell of an extra column. Numbers that JSON does not have are sent as text. */
export type Cell = ExtraValue | { number: string };

export function encodeCell(value: ExtraValue): Cell {
  return typeof value !== "number" || Number.isFinite(value) ? value : { number: String(value) };
}

export function decodeCell(cell: Cell): ExtraValue {
  return typeof cell === "object" && cell !== null ? Number(cell.number) : cell;
}
