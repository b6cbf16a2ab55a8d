/**
 * What a tracker is: something that keeps a run's metrics where another program shows them. `metrics.jsonl`
 * is always written and is the record; trackers are copies of it. They write at once and never wait for
 * anything but the disk; nothing goes to a network.
 */
import type { TrackerName } from "../core/tracker_names.ts";

export interface TrackedRun {
  name: string;
  project: string;
  outputDir: string;
  /** 32 hexadecimal digits, the same for every session of the run. */
  id: string;
  /** The configuration, as JSON. */
  config: Readonly<Record<string, unknown>>;
  /** Step that this session goes on from: what a tracker holds of later ones is void. 0 = from the beginning. */
  resumedFrom: number;
  /** When this session began. */
  start: Date;
  host: string;
  pid: number;
}

export interface TrackedPoint {
  step: number;
  time: Date;
  /** By names as in {@link trackedMetrics}. */
  metrics: Readonly<Record<string, number>>;
}

export interface TrackedAlert {
  step: number;
  time: Date;
  title: string;
  text: string;
}

export interface Tracker {
  readonly name: TrackerName;
  /** Where it writes, for people. */
  readonly place: string;
  log(point: TrackedPoint): void;
  /** Something that a person should look at. */
  alert(alert: TrackedAlert): void;
  /** `completed` is false for a run that was stopped or failed. Idempotent. */
  close(completed: boolean): void;
}

/**
 * Finite values by the names under which transformers' integrations report them: `eval_x` becomes `eval/x`,
 * everything else `train/…`.
 */
export function trackedMetrics(
  metrics: Readonly<Record<string, number | null>>,
): Record<string, number> {
  const named: Record<string, number> = {};
  for (const [name, value] of Object.entries(metrics)) {
    if (value === null || !Number.isFinite(value)) continue;
    named[name.startsWith("eval_") ? `eval/${name.slice(5)}` : `train/${name}`] = value;
  }
  return named;
}
