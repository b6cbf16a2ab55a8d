/**
 * Values in the formats of SLURM: time limits, memory sizes and names. They are those of the flags
 * of `rgx slurm`, and of the keys of section `slurm`.
 */
import { UsageError } from "../../core/errors.ts";

export const DEFAULT_TIME = "04:00:00";

export interface TimeLimit {
  /** The text as the user wrote it; SLURM gives it the same meaning. */
  text: string;
  seconds: number;
}

/**
 * Parses a time limit: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S.
 * @param flag what stands before the value in an error
 * @throws UsageError for anything else
 */
export function parseTimeLimit(text: string, flag = "--time "): TimeLimit {
  const wrong = (found: string) =>
    new UsageError(`${flag}${text}: ${found}, expected HH:MM:SS or D-HH:MM:SS`, {
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
  if (days !== null && hours > 23) throw wrong(`has ${hours} hours after the days`);
  if ((days !== null || c !== undefined) && minutes > 59) throw wrong(`has ${minutes} minutes`);
  if (seconds > 59) throw wrong(`has ${seconds} seconds`);
  const all = (((days ?? 0) * 24 + hours) * 60 + minutes) * 60 + seconds;
  if (all === 0) throw wrong("is no time at all");
  return { text, seconds: all };
}

/** Whether a limit has the form `04:00`, which many people read as hours and minutes. */
export function isMinutesAndSeconds({ text }: TimeLimit): boolean {
  return /^\d+:\d+$/.test(text);
}

/**
 * Parses an amount of memory: a number with a unit, such as `320G`, or `0` for all of a node.
 * @param flag what stands before the value in an error
 * @throws UsageError for anything else
 */
export function parseMemory(text: string, flag = "--memory "): string {
  if (text === "0") return text;
  const [, number, unit] = /^(\d+)([KMGT])(?:i?B)?$/i.exec(text) ?? [];
  if (number !== undefined && Number(number) > 0) return `${number}${unit!.toUpperCase()}`;
  if (/^\d+$/.test(text)) {
    throw new UsageError(`${flag}${text}: has no unit, expected for example ${text}G`, {
      advice: `SLURM would read a bare number as megabytes. Write ${text}G or ${text}M.`,
    });
  }
  throw new UsageError(
    `${flag}${text}: expected a whole number and a unit K, M, G or T, for example 320G`,
  );
}

/** Megabytes of a text that {@link parseMemory} has returned. */
export function megabytes(memory: string): number {
  const power = "MGT".indexOf(memory.at(-1)!);
  return Number(memory.slice(0, -1)) * 1024 ** power;
}

/** The kinds of SLURM's names: the characters of each, and the command that lists them. */
const NAMES = {
  account: {
    shape: /^[A-Za-z0-9_][A-Za-z0-9_.@+:-]*$/,
    advice: "Your accounts: sacctmgr show associations user=$USER format=account",
  },
  partition: {
    shape: /^[A-Za-z0-9_][A-Za-z0-9_.@+,-]*$/,
    advice: "Partitions of the cluster: sinfo -s",
  },
  gpuType: {
    shape: /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/,
    advice: "Types of the cluster's cards: sinfo -o %G",
  },
} as const;

/**
 * Checks the name of an account, a partition or a type of card.
 * @param flag what stands before the value in an error
 * @throws UsageError for a name that SLURM or a shell would misread
 */
export function checkSlurmName(text: string, kind: keyof typeof NAMES, flag: string): string {
  const { shape, advice } = NAMES[kind];
  if (shape.test(text)) return text;
  const found = text === "" ? "is empty" : `cannot be such a name (${badCharacter(text, shape)})`;
  throw new UsageError(`${flag}${JSON.stringify(text)}: ${found}`, { advice });
}

/** The first character that `shape` forbids. Tested after a letter: some may not come first. */
function badCharacter(text: string, shape: RegExp): string {
  const bad = [...text].find((character) => !shape.test(`a${character}`)) ?? text[0]!;
  return `it has ${bad === " " ? "a space" : JSON.stringify(bad)}`;
}
