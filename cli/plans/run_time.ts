/**
 * The time that a run is estimated to take before it begins, with what other programs used while
 * that was measured; and the time that a run still takes, from its own steps.
 */
import { duration } from "../../core/duration.ts";
import {
  cpuTimes,
  type OtherWork,
  otherWork,
  otherWorkText,
} from "../../core/machine/other_work.ts";

export interface RunTime {
  seconds: number;
  /** Null when the share of other programs is not known. */
  others: OtherWork | null;
  /** Whether the time was counted from the speed of a few operations, not measured. */
  isRough?: boolean;
}

/** @param estimate measures a part of the run, and returns the seconds of all of it */
export async function measuredRunTime(estimate: () => Promise<number>): Promise<RunTime> {
  const before = cpuTimes();
  const seconds = await estimate();
  return { seconds, others: otherWork(before, cpuTimes()) };
}

/** For example "about 7 min 39 s while others use 63 % of this machine". */
export function runTimeText({ seconds, others, isRough = false }: RunTime): string {
  if (isRough) return `roughly ${duration(seconds)} on this machine; --measure takes real steps`;
  const busy = otherWorkText(others);
  return `about ${duration(seconds)} ${busy === null ? "on this machine" : `while ${busy}`}`;
}

/** The time that a run still takes, by the time of its steps so far. */
export class TimeLeft {
  #phase = "";
  #begin = 0;
  /** When each step of the phase ended, in milliseconds. */
  #ends: number[] = [];
  /** Milliseconds of the evaluation before the training; the one after it takes as long. */
  #evaluation = 0;

  /** @param now in milliseconds */
  phase(name: string, now: number): void {
    if (this.#phase === "eval_before") this.#evaluation = now - this.#begin;
    this.#phase = name;
    this.#begin = now;
    this.#ends = [now];
  }

  /**
   * Seconds after a step. Only the later half of the steps counts: the first ones compile kernels
   * and start the processes of rewards, and completions change their lengths while a model learns.
   * @param stepsLeft number of steps that the phase has left
   */
  step(stepsLeft: number, now: number): number {
    this.#ends.push(now);
    const from = this.#ends.length >> 1;
    const perStep = (now - this.#ends[from - 1]!) / (this.#ends.length - from);
    const after = this.#phase === "grpo" ? this.#evaluation : 0;
    return (perStep * stepsLeft + after) / 1000;
  }
}
