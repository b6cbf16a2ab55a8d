/**
 * Runs a job of many ranks in thought: steps that take as long as their slowest rank, checkpoints,
 * failures of nodes that throw the run back to its last checkpoint, and restarts, which may fail
 * too. Unlike the formulas of checkpoint_interval.ts, a step cannot be divided, and steps differ.
 */
import { RandomStream, uniform23 } from "../../core/philox.ts";
import { mean, sampleStd } from "../../core/statistics.ts";
import type { SaveTimes } from "./checkpoint_interval.ts";
import { slowestFactor } from "./stragglers.ts";

export interface SimulatedJob extends SaveTimes {
  ranks: number;
  steps: number;
  /** Seconds of a step of one rank without stragglers. */
  step: number;
  /** Steps between two checkpoints. */
  saveSteps: number;
  /** Spread of the times of ranks (`stragglers.ts`). */
  sigma: number;
}

export interface SimulatedTime {
  /** Seconds from the start to the end, mean over the runs. */
  seconds: number;
  /** Its standard error. */
  error: number;
  failures: number;
  /** Share of the time that is not steps which count: checkpoints, lost steps, restarts. */
  lost: number;
  /** Share of the time that ranks wait for the slowest one. */
  waiting: number;
}

/** A job that has failed so often without finishing a checkpoint never ends. */
const MAX_FAILURES = 1e5;

/** @param runs number of simulated runs; their random numbers depend on `seed` alone */
export function simulate(job: SimulatedJob, runs: number, seed = 42): SimulatedTime {
  const times: number[] = [];
  let failures = 0, useful = 0;
  for (let run = 0; run < runs; run++) {
    const one = simulateOne(job, RandomStream.forPurpose(seed, "simulation", "failures", run));
    times.push(one.seconds);
    failures += one.failures / runs;
    useful += one.useful / runs;
  }
  const seconds = mean(times);
  return {
    seconds,
    error: runs < 2 ? NaN : sampleStd(times) / Math.sqrt(runs),
    failures,
    lost: 1 - useful / seconds,
    waiting: (useful - job.steps * job.step) / seconds,
  };
}

function simulateOne(job: SimulatedJob, random: RandomStream) {
  const uniform = () => uniform23(random.u32());
  const untilFailure = () => -job.betweenFailures * Math.log(uniform());
  let clock = 0, nextFailure = untilFailure(), failures = 0, useful = 0;
  /** Fails: the time until the run works again. A restart may be cut off by the next failure. */
  const fail = () => {
    do {
      if (++failures > MAX_FAILURES) throw new RangeError("the job never ends");
      clock = nextFailure;
      nextFailure = clock + untilFailure();
    } while (nextFailure < clock + job.restart);
    clock += job.restart;
  };
  for (let done = 0; done < job.steps;) {
    const count = Math.min(job.saveSteps, job.steps - done);
    let work = 0;
    for (let i = 0; i < count; i++) {
      work += job.step * slowestFactor(uniform(), job.ranks, job.sigma);
    }
    const end = clock + work + job.checkpoint;
    if (nextFailure < end) {
      fail();
      continue;
    }
    clock = end;
    useful += work;
    done += count;
  }
  return { seconds: clock, failures, useful };
}
