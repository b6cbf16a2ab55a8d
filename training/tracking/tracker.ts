/**
 * The interface of trackers. A tracker copies a run's metrics into files that another program
 * displays. The authoritative record is `metrics.jsonl`, which every run writes. Trackers write
 * to the disk at once and never use the network.
 */
import type { TrackerName } from "../../core/tracker_names.ts";

export interface TrackedRun {
  name: string;
  project: string;
  outputDir: string;
  /** 32 hexadecimal digits, the same for every session of the run. */
  id: string;
  config: Readonly<Record<string, unknown>>;
  /**
   * The step that this session resumes from; 0 = from the beginning. What a tracker holds of
   * later steps is no longer valid.
   */
  resumedFrom: number;
  start: Date;
  host: string;
  pid: number;
}

export interface TrackedPoint {
  step: number;
  time: Date;
  /** The names are those that {@link trackedMetrics} gives. */
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
  readonly place: string;
  log(point: TrackedPoint): void;
  alert(alert: TrackedAlert): void;
  /** @param completed false when the run was stopped or failed. Further calls do nothing. */
  close(completed: boolean): void;
}

/**
 * The finite metrics, with the names that transformers' integrations give them: `eval_x` becomes
 * `eval/x`, and any other `x` becomes `train/x`.
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

const TRACKING_FILE = "tracking.json";

/** Of `{outputDir}/tracking.json`, which is made if needed. @returns 32 hexadecimal digits */
export function trackedRunId(outputDir: string): string {
  const path = `${outputDir}/${TRACKING_FILE}`;
  const known = readId(path);
  if (known !== null) return known;
  const id = crypto.randomUUID().replaceAll("-", "");
  Deno.writeTextFileSync(`${path}.tmp`, JSON.stringify({ run_id: id }) + "\n");
  Deno.renameSync(`${path}.tmp`, path);
  return id;
}

function readId(path: string): string | null {
  try {
    const { run_id: id } = JSON.parse(Deno.readTextFileSync(path));
    return typeof id === "string" && /^[0-9a-f]{32}$/.test(id) ? id : null;
  } catch {
    return null;
  }
}
