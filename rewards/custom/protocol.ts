/** The messages of the Worker of a user's reward to the program (core/sandbox/sandbox_calls.ts). */
import type { CallLimits } from "../../core/sandbox/sandbox_calls.ts";
import type { ExtraValue, RewardValue, SamplePart } from "../types.ts";

/** The limits of a batch of a reward. */
export interface Limits extends CallLimits {
  /** Number of further attempts after an exception. */
  retries: number;
}

/** A value, or the reason why there is none, and the notes of the reward. */
export interface Scored {
  result: { value: RewardValue } | { error: string };
  /** There is no value because of the time limit. */
  late?: boolean;
  logged: (readonly [name: string, value: number])[];
  extras: (readonly [column: string, cell: Cell])[];
  /** What the value has cost. */
  cost: number;
}

/** Facts about the module of a reward. */
export interface AboutReward {
  /** It exports computeBatch. */
  wholeBatch: boolean;
  /** Its export `needs`; default none. */
  needs: readonly SamplePart[];
}

/** A cell of an extra column. Numbers that JSON does not have are sent as text. */
export type Cell = ExtraValue | { number: string };

export function encodeCell(value: ExtraValue): Cell {
  return typeof value !== "number" || Number.isFinite(value) ? value : { number: String(value) };
}

export function decodeCell(cell: Cell): ExtraValue {
  return typeof cell === "object" && cell !== null ? Number(cell.number) : cell;
}
