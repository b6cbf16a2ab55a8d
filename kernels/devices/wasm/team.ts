/**
 * How threads run a plan together. While a stage is open (the OPEN bit of STATE) a thread joins it by compare-and-swap
 * of STATE to STATE + 1, takes chunks of its jobs' units, first from its own region of each and then from the others',
 * and leaves by subtracting 1. Who leaves last finds all done: it closes the stage, does what follows as long as that is
 * too little to be shared, and opens the next stage or ends the work. A thread that wakes late cannot join a closed
 * stage, so nobody ever waits for a sleeper, nor for a thread that is still starting.
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
  /** Whether to look for work for a moment before sleeping; wrong when threads outnumber cores. */
  spin: boolean;
  /** What is being run, asked for while it cannot end. */
  plan(): Plan;
}

/** Runs all units of a job on this thread. */
export function runAlone({ call, run, units }: PlannedJob): void {
  call[call.length - 3] = 0;
  call[call.length - 2] = units;
  run.apply(undefined, call);
}

function takeChunks({ words }: Control, job: PlannedJob, region: number): void {
  const { grain, call, run } = job;
  const counter = WORD.next + (job.slot + region) * SLOT_STEP, end = words[counter + 1]!;
  for (;;) {
    const begin = Atomics.load(words, counter), left = end - begin;
    if (left <= 0) return;
    // Half of what is left: few chunks, and the last ones are small, so that the threads end together.
    const size = left < 2 * grain ? left : left >> 1;
    if (Atomics.compareExchange(words, counter, begin, begin + size) !== begin) continue;
    call[call.length - 3] = begin;
    call[call.length - 2] = begin + size;
    run.apply(undefined, call);
  }
}

/** Takes chunks of the open stage until none is left. */
function takeAll({ control, thread }: Member, { jobs }: Stage): void {
  let most = 1;
  for (let i = 0; i < most; i++) {
    for (const job of jobs) {
      if (job.regions > most) most = job.regions;
      if (i >= job.regions) continue;
      try {
        takeChunks(control, job, (thread + i) % job.regions);
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
 * Goes on with stage `number` while this thread alone is at work: true when it has joined an open one, false at the
 * end of the work.
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

/** What is being run; nothing, if this thread cannot know it: it must leave what it has joined all the same. */
function planOf(member: Member): Plan {
  try {
    return member.plan();
  } catch (error) {
    recordFailure(member.control, member.thread, NO_KERNEL, error);
    return [];
  }
}

/** Works on the open stage, which it has joined, and on what follows while it is the last to leave. */
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

/** Helps with all work until STATE has one of these flags: IDLE or CLOSED. */
export function help(member: Member, until: number): void {
  const { control, spin } = member, { words } = control;
  // The stage that it has left is open as long as others are in it.
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

/** Runs a plan, of which the control block tells the others, to its end. */
export function lead(member: Member, plan: Plan): void {
  const { words } = member.control;
  const sequence = Atomics.load(words, WORD.state) & SEQUENCE_MASK;
  Atomics.store(words, WORD.state, sequence);
  if (goOn(member, plan, 0, sequence)) work(member);
  help(member, IDLE);
}

/** Ends the help of all threads, also of those that are about to sleep; nothing is being run. */
export function dismiss(control: Control): void {
  announce(control, CLOSED);
}
