/** Reads and scores answers of time_intervals. */
import { parseInteger } from "../../../python/integers.ts";
import { strip, words } from "../../../python/text.ts";
import type { ScorableEntry } from "../../../types.ts";

const DEFAULT_DAYS = 100;
const DEFAULT_SECONDS = 86_400;
/** Longer answers are refused. */
const MAX_LENGTH = 20_000;

/** Scores by the error relative to the maximum possible difference. */
export function score(answer: string, entry: ScorableEntry): number {
  if (answer.length > MAX_LENGTH) return 0;
  const type = entry.metadata?.["task_type"];
  if (typeof type !== "string") return 0;
  const [read, unit] = type === "date"
    ? [readDays, 1] as const
    : type.startsWith("datetime")
    ? [readDaysAndTime, 86_400] as const
    : [readTime, 1] as const;
  const given = read(answer), oracle = read(entry.answer ?? "");
  if (given === null || oracle === null) return 0;
  const limit = type.startsWith("date")
    ? setting(entry, "max_date_difference_days", DEFAULT_DAYS) * unit
    : setting(entry, "max_time_difference_seconds", DEFAULT_SECONDS);
  return given === oracle ? 1 : Math.max(0, 1 - Math.abs(given - oracle) / limit);
}

function setting(entry: ScorableEntry, key: string, otherwise: number): number {
  const difficulty = entry.metadata?.["difficulty"] as Record<string, unknown> | null | undefined;
  const value = difficulty?.[key];
  return typeof value === "number" && value > 0 ? value : otherwise;
}

function integer(text: string | undefined): number | null {
  const value = parseInteger(text ?? "");
  return value === null ? null : Number(value);
}

function readDays(text: string): number | null {
  return integer(words(text)[0]);
}

/** Reads "12 days, 03:45" and "12 days, 03:45:10" in seconds. */
function readDaysAndTime(text: string): number | null {
  const days = integer(text.split(" days,")[0]);
  const [hours, minutes, seconds] = (text.split(",")[1] ?? "").split(":");
  return sum(days, [hours, minutes, seconds ?? "0"].map(integer));
}

/**
 * Reads "03:45", "03:45:10" and "03:45:10.250" in seconds. Digits after the point are a decimal
 * fraction.
 */
function readTime(text: string): number | null {
  const [hours, minutes, seconds = "0"] = text.split(":");
  const point = seconds.indexOf(".");
  const whole = point < 0 ? seconds : seconds.slice(0, point);
  const fraction = point < 0 ? "" : strip(seconds.slice(point + 1));
  if (point >= 0 && !/^[0-9]+$/.test(fraction)) return null;
  const total = sum(0, [hours, minutes, whole].map(integer));
  return total === null ? null : total + Number(`0.${fraction || "0"}`);
}

function sum(days: number | null, values: (number | null)[]): number | null {
  const [hours, minutes, seconds] = values;
  if (days === null || hours == null || minutes == null || seconds == null) return null;
  return days * 86_400 + hours * 3600 + minutes * 60 + seconds;
}
