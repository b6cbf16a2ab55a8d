/**
 * What other programs use of this machine's processors: from Linux's counters (/proc/stat) and the
 * processor time of this process. Only the CPUs that this process may use count. Tests read the
 * files below `root` instead of /.
 */
import process from "node:process";
import { allowedCpus } from "./cgroup.ts";

/** Sums over CPUs since some moment, in seconds. */
export interface CpuTimes {
  all: number;
  /** Time without work, or waiting for a disk. */
  idle: number;
  /** Time that the host of a virtual machine has taken. */
  stolen: number;
  /** Time that this process has used. */
  own: number;
}

/** Shares of all processor time, from 0 to 1. */
export interface OtherWork {
  /** Time of other programs, with the time that the host has taken. */
  others: number;
  stolen: number;
}

/** The counters of /proc/stat are in hundredths of seconds, on all machines. */
const TICKS_PER_SECOND = 100;
/** The counters are too coarse for fewer seconds than this, summed over all CPUs. */
const MIN_SECONDS = 0.2;
/** Milliseconds between two readings of a meter. */
const READ_MS = 1000;
/** If others use a smaller share, it is not mentioned. */
const WORTH_SAYING = 0.1;

/** Seconds of all processors that this process has used. */
export function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** The counters now; null where they cannot be known. */
export function cpuTimes(root = "", own = ownSeconds()): CpuTimes | null {
  const allowed = new Set(allowedCpus(root));
  let text: string;
  try {
    text = Deno.readTextFileSync(`${root}/proc/stat`);
  } catch {
    return null; // not Linux
  }
  const times = { all: 0, idle: 0, stolen: 0, own };
  for (const [, cpu, counters] of text.matchAll(/^cpu([0-9]+) +(.*)$/gm)) {
    if (!allowed.has(Number(cpu))) continue;
    // The times of guests come next, but the first two numbers contain them already.
    const seconds = counters!.split(" ").slice(0, 8).map((ticks) =>
      Number(ticks) / TICKS_PER_SECOND
    );
    const [, , , idle = 0, iowait = 0, , , stolen = 0] = seconds;
    times.all += seconds.reduce((sum, value) => sum + value, 0);
    times.idle += idle + iowait;
    times.stolen += stolen;
  }
  return times.all > 0 ? times : null;
}

/** What others used between two moments; null when that is not known. */
export function otherWork(from: CpuTimes | null, to: CpuTimes | null): OtherWork | null {
  if (from === null || to === null) return null;
  const all = to.all - from.all;
  if (!(all >= MIN_SECONDS)) return null;
  const share = (seconds: number) => Math.min(1, Math.max(0, seconds / all));
  return {
    others: share(all - (to.idle - from.idle) - (to.own - from.own)),
    stolen: share(to.stolen - from.stolen),
  };
}

/** A sentence such as "others use 63 % of this machine"; null when it is not worth saying. */
export function otherWorkText(work: OtherWork | null): string | null {
  if (work === null || work.others < WORTH_SAYING) return null;
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  const stolen = work.stolen < WORTH_SAYING ? "" : ` (its host ${percent(work.stolen)})`;
  return `others use ${percent(work.others)} of this machine${stolen}`;
}

/** Measures what others use while this process works. */
export class OtherWorkMeter {
  #from: { at: number; times: CpuTimes | null };
  #last: OtherWork | null = null;

  constructor(
    private readonly read: () => CpuTimes | null = cpuTimes,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#from = { at: now(), times: read() };
  }

  /** What others used in the last second or longer; null when that is not known. */
  current(): OtherWork | null {
    const at = this.now();
    if (at - this.#from.at < READ_MS) return this.#last;
    const times = this.read();
    this.#last = otherWork(this.#from.times, times);
    this.#from = { at, times };
    return this.#last;
  }
}
