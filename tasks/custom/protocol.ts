/**
 * The messages between the program and the Worker that runs a user's task. They are lines of JSON.
 */
import type { ParamValue } from "../../core/named_params.ts";
import type { ScorableEntry, Task } from "../types.ts";

/** The module whose names a task file may import, and the object in the Worker that has them. */
export const HELPERS = { module: "@rgx/rgx", global: "rgxTaskHelpers" } as const;

type Params = Readonly<Record<string, ParamValue>>;

/** A call of one of the task's functions. */
export type TaskCall =
  /** @param stream arguments of the constructor of `RandomStream` */
  | { call: "generate"; stream: readonly number[]; config: Params; index: number }
  | { call: "score"; answer: string; entry: ScorableEntry }
  | { call: "validate"; config: Params }
  | { call: "clamp"; config: Params };

export type ToWorker =
  | { type: "load"; url: string }
  | { type: "call"; call: TaskCall };

/** The part of a task file's declaration that JSON can hold. */
export interface TaskCard
  extends Partial<Omit<Task, "generate" | "score" | "validate" | "clamp" | "open">> {
  /** Names of the functions that it has. */
  functions: string[];
}

export type FromWorker =
  | { type: "loaded"; task: TaskCard }
  | { type: "broken"; message: string }
  /** `config` is the configuration after `clamp`. */
  | { type: "result"; value: unknown; config?: Params }
  | { type: "error"; message: string };
