/** Values of a configuration object that can be written in several ways. */
import type { TrackerName } from "../../core/tracker_names.ts";
import type { RewardSection } from "../schema/run_config.ts";

/** A reward of rgx, or one that was registered, by name; other fields are its parameters. */
export interface NamedReward {
  name: string;
  weight?: number;
  /** Seconds for one value. */
  timeout?: number;
  [parameter: string]: unknown;
}

/** A reward from a file, which runs without permissions; other fields are its parameters. */
export interface FileReward {
  path: string;
  name?: string;
  weight?: number;
  /** Seconds for one value. */
  timeout?: number;
  sha256?: string;
  /** Hosts that it may connect to. */
  net?: string | string[];
  concurrency?: number;
  retries?: number;
  [parameter: string]: unknown;
}

/** A reward in the list `rewards`; also one of a configuration that was read. */
export type RewardItem = string | NamedReward | FileReward | RewardSection;

/** A task in a mixture of tasks. */
export interface TaskItem {
  task_name: string;
  /** Its share, relative to the other tasks; default 1. */
  weight?: number;
  config?: Record<string, unknown>;
}

/** A mixture of tasks: a list of them, or a map of names. */
export type TaskItems = (string | TaskItem)[] | Record<string, Omit<TaskItem, "task_name">>;

/** Starting levels of tasks. */
export type Curricula = Record<
  string,
  { attribute_levels?: Record<string, number>; weight?: number }
>;

/** Trackers by name. */
export type Trackers = TrackerName | "none" | "all" | (TrackerName | "none" | "all")[];
