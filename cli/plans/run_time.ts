/** The time that a run is estimated to take, and what other programs used while it was measured. */
import { duration } from "../../core/duration.ts";
import {
  cpuTimes,
  type OtherWork,
  otherWork,
  otherWorkText,
} from "../../core/machine/other_work.ts";

export interface RunTime {
  seconds: number;
  /** Null when that is not known. */
  others: OtherWork | null;
}

/** @param estimate measures a part of the run, and returns the seconds of all of it */
export async function measuredRunTime(estimate: () => Promise<number>): Promise<RunTime> {
  const before = cpuTimes();
  const seconds = await estimate();
  return { seconds, others: otherWork(before, cpuTimes()) };
}

/** For example "about 7 min 39 s while others use 63 % of this machine". */
export function runTimeText({ seconds, others }: RunTime): string {
  const busy = otherWorkText(others);
  return `about ${duration(seconds)} ${busy === null ? "on this machine" : `while ${busy}`}`;
}
