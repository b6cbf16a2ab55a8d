/** Values of a configuration object that can be written in several ways. */
import type { TrackerName } from "../../core/tracker_names.ts";
import type { RewardSection } from "../schema/sections/reward.ts";

/** A reward of rgx, or one that was registered, by name; other fields are its parameters. */
export interface NamedReward {
  /** A name of `rewardNames()`. */
  name: string;
  /** Factor in the sum; default: that of the reward, mostly 1. */
  weight?: number;
  /** Seconds for one value. */
  timeout?: number;
  /** The reward's parameters, by their names. */
  [parameter: string]: unknown;
}

/** A reward from a file, which runs without permissions; other fields are its parameters. */
export interface FileReward {
  /** The file, relative to the configuration. */
  path: string;
  /** Its name in metrics; default: the file's. */
  name?: string;
  /** Factor in the sum; default 1. */
  weight?: number;
  /** Seconds for one value. */
  timeout?: number;
  /** The checksum that the file must have. */
  sha256?: string;
  /** Hosts that it may connect to. */
  net?: string | string[];
  /** Completions that it judges at the same time. */
  concurrency?: number;
  /** Further attempts after a failure. */
  retries?: number;
  /** The reward's parameters, by their names. */
  [parameter: string]: unknown;
}

/** A reward in the list `rewards`; also one of a configuration that was read. */
export type RewardItem = string | NamedReward | FileReward | RewardSection;

/** A task in a mixture of tasks. */
export interface TaskItem {
  /** A name of `taskNames()`, or the file of a task. */
  task_name: string;
  /** Its share, relative to the other tasks; default 1. */
  weight?: number;
  /** Its parameters. */
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
