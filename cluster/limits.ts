/** Times and sizes as SLURM writes them, and how long before its end a job is warned. */
import { UsageError } from "../core/errors.ts";

export interface TimeLimit {
  /** As it was given: SLURM reads it the same way. */
  text: string;
  seconds: number;
}

/**
 * M, M:S, H:M:S, D-H, D-H:M or D-H:M:S.
 * @throws UsageError for anything else
 */
export function parseTimeLimit(text: string): TimeLimit {
  const wrong = (found: string) =>
    new UsageError(`--time ${text}: ${found}, expected HH:MM:SS or D-HH:MM:SS`, {
      advice: "For example 04:00:00 or 1-12:00:00. (A bare number is minutes.)",
    });
  const match = /^(?:(\d{1,4})-)?(\d{1,6})(?::(\d{1,2}))?(?::(\d{1,2}))?$/.exec(text);
  if (match === null) throw wrong("is no time");
  const days = match[1] === undefined ? null : Number(match[1]);
  const [a, b, c] = [match[2]!, match[3], match[4]].map((part) =>
    part === undefined ? undefined : Number(part)
  );
  const [hours, minutes, seconds] = days !== null
    ? [a!, b ?? 0, c ?? 0]
    : c !== undefined
    ? [a!, b!, c]
    : [0, a!, b ?? 0];
  if (days !== null && hours > 23) throw wrong(`has ${hours} hours beside days`);
  if ((days !== null || c !== undefined) && minutes > 59) throw wrong(`has ${minutes} minutes`);
  if (seconds > 59) throw wrong(`has ${seconds} seconds`);
  const all = (((days ?? 0) * 24 + hours) * 60 + minutes) * 60 + seconds;
  if (all === 0) throw wrong("is no time at all");
  return { text, seconds: all };
}

/** Something like `04:00`, which many take for hours. */
export function isMinutesAndSeconds({ text }: TimeLimit): boolean {
  return /^\d+:\d+$/.test(text);
}

/**
 * A number with its unit, as `320G`; `0` is all that a node has.
 * @throws UsageError for anything else
 */
export function parseMemory(text: string): string {
  if (text === "0") return text;
  const [, number, unit] = /^(\d+)([KMGT])(?:i?B)?$/i.exec(text) ?? [];
  if (number !== undefined && Number(number) > 0) return `${number}${unit!.toUpperCase()}`;
  if (/^\d+$/.test(text)) {
    throw new UsageError(`--memory ${text}: has no unit, expected for example ${text}G`, {
      advice: `SLURM would read a bare number as megabytes. Write ${text}G or ${text}M.`,
    });
  }
  throw new UsageError(
    `--memory ${text}: expected a whole number and a unit K, M, G or T, for example 320G`,
  );
}

/** Of what {@link parseMemory} returns. */
export function megabytes(memory: string): number {
  const power = "MGT".indexOf(memory.at(-1)!);
  return Number(memory.slice(0, -1)) * 1024 ** power;
}

/** SLURM's own limit for `--signal`. */
const MOST_SECONDS = 65535;
const DEFAULT_WARNING = 600;

/**
 * Seconds before the end at which the job is told to save. SLURM looks every 30 seconds and may come up to a
 * minute early; with a warning as long as the limit, every run would be warned at its first look.
 * @throws UsageError when a given one is out of range
 */
export function warningSeconds(limit: TimeLimit, given: number | null): number {
  const half = Math.floor(limit.seconds / 2);
  if (given === null) {
    const quarter = Math.floor(limit.seconds / 4);
    return Math.min(DEFAULT_WARNING, half, Math.max(quarter, 60));
  }
  const most = Math.min(MOST_SECONDS, half);
  if (given <= most) return given;
  throw new UsageError(
    `--warn ${given}: with --time ${limit.text} expected at most ${most} seconds`,
    {
      advice:
        "A job that is warned in the first half of its time does little else than save. It takes the " +
        "time of one step and of one checkpoint, and a minute.",
    },
  );
}
