/**
 * The messages between the program and the Worker that runs a user's reward, lines of JSON, which
 * the process between them hands on unread.
 */
import type { ExtraValue, RewardSample, RewardValue } from "../types.ts";

/** The executable's hidden command that hosts a reward. */
export const HOST_COMMAND = "reward-host";

/** Bytes that the process of a reward may hold. */
export const MEMORY_LIMIT = 2 ** 30;
/** Exit code of a process that was over it. */
export const MEMORY_EXIT = 86;

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
  extras: (readonly [column: string, cell: Cell])[];
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

export function toLine(messages: readonly FromReward[]): string {
  return stringify(messages);
}

/** The messages of a line; none when it is something else, as a crashing process may print. */
export function fromLine(line: string): FromReward[] {
  try {
    const messages = parse(line);
    return Array.isArray(messages) ? messages : [];
  } catch {
    return [];
  }
}

/** A cell of an extra column; the numbers that JSON lacks travel as text. */
export type Cell = ExtraValue | { number: string };

export function encodeCell(value: ExtraValue): Cell {
  return typeof value !== "number" || Number.isFinite(value) ? value : { number: String(value) };
}

export function decodeCell(cell: Cell): ExtraValue {
  return typeof cell === "object" && cell !== null ? Number(cell.number) : cell;
}
