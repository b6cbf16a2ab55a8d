/**
 * How threads run a plan together. While a stage is open (bit OPEN of the state), a thread joins it
 * by a compare-and-swap from `state` to `state + 1`. It takes chunks of the units of each job,
 * first from its own region and then from the others, and leaves the stage by subtracting 1. When
 * the last thread leaves, all units are done. This thread closes the stage, runs the following
 * stages as long as they are too small to be shared, and then opens the next stage or ends the
 * work. A thread that wakes up late cannot join a closed stage, so no thread ever waits for one
 * that sleeps or starts.
 */
import {
  announce,
  CLOSED,
  type Control,
  IDLE,
  JOINED_MASK,
  NO_KERNEL,
  OPEN,
  recordFailure,
  SEQUENCE_MASK,
  SEQUENCE_STEP,
  SLOT_STEP,
  waitWhile,
  WORD,
} from "./control.ts";
import { type Plan, type PlannedJob, regionStart, type Stage } from "./program.ts";

/** One thread of a team. */
export interface Member {
  control: Control;
  thread: number;
  /** Whether to poll for work before sleeping; false when there are more threads than cores. */
  spin: boolean;
  /** The plan that is run. Only called between joining and leaving a stage, so it cannot change. */
  plan(): Plan;
}

/** Runs all units of a job on this thread. */
export function runAlone({ run, args, scratch, units }: PlannedJob): void {
  run(args, 0, units, scratch);
}

/**
 * How many of the `left` units of a region a thread takes at once. Half of the rest gives few
 * chunks, and the last ones are small, so all threads end at about the same time. Of a small region
 * the thread that begins there takes nearly all, because a kernel needs some time until its reads
 * from memory flow.
 */
function chunkSize({ grain, isSmall }: PlannedJob, left: number, isOwn: boolean): number {
  if (left < 2 * grain) return left;
  return isSmall && isOwn ? left - Math.max(grain, left >> 3) : left >> 1;
}

function takeChunks({ words }: Control, job: PlannedJob, region: number, isOwn: boolean): void {
  const { run, args, scratch } = job;
  const counter = WORD.next + (job.slot + region) * SLOT_STEP, end = words[counter + 1]!;
  for (;;) {
    const begin = Atomics.load(words, counter), left = end - begin;
    if (left <= 0) return;
    const size = chunkSize(job, left, isOwn);
    if (Atomics.compareExchange(words, counter, begin, begin + size) !== begin) continue;
    run(args, begin, begin + size, scratch);
  }
}

/** Takes chunks of the open stage until none is left. */
function takeAll({ control, thread }: Member, { jobs }: Stage): void {
  let regions = 1;
  for (let i = 0; i < regions; i++) {
    for (const job of jobs) {
      if (job.regions > regions) regions = job.regions;
      if (i >= job.regions) continue;
      try {
        takeChunks(control, job, (thread + i) % job.regions, i === 0);
      } catch (error) {
        recordFailure(control, thread, job.index, error);
        return;
      }
    }
  }
}

/** Whether some unit of the open stage has not been dealt; a guess, as it may be closing. */
function hasChunks({ words }: Control): boolean {
  const slots = words[WORD.slots]!;
  for (let slot = 0; slot < slots; slot++) {
    const counter = WORD.next + slot * SLOT_STEP;
    if (Atomics.load(words, counter) < words[counter + 1]!) return true;
  }
  return false;
}

function open({ control }: Member, { jobs }: Stage, number: number, sequence: number): void {
  const { words } = control;
  let counter: number = WORD.next;
  for (const { units, regions } of jobs) {
    for (let region = 0; region < regions; region++, counter += SLOT_STEP) {
      words[counter] = regionStart(units, regions, region);
      words[counter + 1] = regionStart(units, regions, region + 1);
    }
  }
  words[WORD.stage] = number;
  words[WORD.slots] = (counter - WORD.next) / SLOT_STEP;
  announce(control, OPEN | sequence | 1);
}

/**
 * Continues with stage `number` when no other thread works.
 * @returns true when this thread has opened and joined a stage, false at the end of the plan
 */
function goOn(member: Member, plan: Plan, number: number, sequence: number): boolean {
  const { control, thread } = member, { words } = control;
  const next = (sequence + SEQUENCE_STEP) & SEQUENCE_MASK;
  for (; number < plan.length && Atomics.load(words, WORD.failed) === 0; number++) {
    const stage = plan[number]!;
    if (!stage.alone) {
      open(member, stage, number, next);
      return true;
    }
    for (const job of stage.jobs) {
      try {
        runAlone(job);
      } catch (error) {
        recordFailure(control, thread, job.index, error);
      }
    }
  }
  announce(control, IDLE | next);
  return false;
}

/**
 * The current plan; empty after a failure, since the thread must still leave the stage it joined.
 */
function planOf(member: Member): Plan {
  try {
    return member.plan();
  } catch (error) {
    recordFailure(member.control, member.thread, NO_KERNEL, error);
    return [];
  }
}

/**
 * Works on the open stage, which this thread has joined, and on the following stages as long as it
 * is the last to leave.
 * @returns the sequence number of the stage that it left to other threads, or −1 at the plan's end
 */
function work(member: Member): number {
  const { words } = member.control, plan = planOf(member);
  for (;;) {
    const number = words[WORD.stage]!, stage = plan[number];
    if (stage !== undefined) takeAll(member, stage);
    for (;;) {
      const state = Atomics.load(words, WORD.state), sequence = state & SEQUENCE_MASK;
      const last = (state & JOINED_MASK) === 1, left = last ? sequence : state - 1;
      if (Atomics.compareExchange(words, WORD.state, state, left) !== state) continue;
      if (!last) return sequence;
      if (!goOn(member, plan, number + 1, sequence)) return -1;
      break;
    }
  }
}

/** Joins all open stages until the state has the flag `until`: IDLE or CLOSED. */
export function help(member: Member, until: number): void {
  const { control, spin } = member, { words } = control;
  // The sequence number of the stage that this thread left. It is still open while others work on
  // it.
  let left = -1;
  for (;;) {
    const state = Atomics.load(words, WORD.state);
    if ((state & until) !== 0) return;
    if ((state & OPEN) !== 0 && (state & SEQUENCE_MASK) !== left && hasChunks(control)) {
      if (Atomics.compareExchange(words, WORD.state, state, state + 1) === state) {
        left = work(member);
      }
      continue;
    }
    waitWhile(control, state, spin);
  }
}

/** Runs a plan to its end; the other threads read it from the control block. */
export function lead(member: Member, plan: Plan): void {
  const { words } = member.control;
  const sequence = Atomics.load(words, WORD.state) & SEQUENCE_MASK;
  Atomics.store(words, WORD.state, sequence);
  if (goOn(member, plan, 0, sequence)) work(member);
  help(member, IDLE);
}

/** Ends the loop of all helping threads, also of those about to sleep. No work may be running. */
export function dismiss(control: Control): void {
  announce(control, CLOSED);
}
