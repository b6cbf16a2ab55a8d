/**
 * The time between two clock times, two dates, or two dates with times and perhaps time zones. The
 * difference is computed from what the question shows. Clock times have no date.
 */
import type { RandomStream } from "../../../../core/philox.ts";
import { choices, type ConfigOf, defineTask, int, text } from "../../../define.ts";
import { parseInteger } from "../../../python/integers.ts";
import { strip, words } from "../../../python/text.ts";
import type { ScorableEntry } from "../../../types.ts";
import * as dates from "./dates.ts";

const TASK_TYPES = ["time", "time_seconds", "time_ms", "date", "datetime", "datetime_tz"] as const;
type TaskType = typeof TASK_TYPES[number];

const DATE_FORMATS = [
  "%Y-%m-%d",
  "%d %B %Y",
  "%B %d, %Y",
  "%m/%d/%Y",
  "%A, %d %B %Y",
  "%a %b %d %Y",
  "%Y-%m-%d (%A)",
];
const DATETIME_FORMATS = [
  "%Y-%m-%d %H:%M",
  "%Y-%m-%d %H:%M:%S",
  "%d %B %Y, %H:%M",
  "%A, %d %B %Y at %H:%M",
  "%a %b %d %Y %H:%M:%S",
  "%m/%d/%Y %H:%M:%S",
];
const ZONED_FORMATS = [
  "%Y-%m-%d %H:%M %z",
  "%Y-%m-%d %H:%M:%S %z",
  "%d %B %Y, %H:%M %z",
  "%Y-%m-%d (%A) %H:%M:%S %z",
];

const SECOND = 1000, MINUTE = 60 * SECOND, DAY = 1440 * MINUTE;
/**
 * Maximum number of draws of a second time zone whose date is in range. After that, both zones are
 * equal.
 */
const ZONE_DRAWS = 20;

const params = {
  min_time: text("00:00:00", "earliest clock time, HH:MM:SS"),
  max_time: text("23:59:59.999999", "latest clock time, HH:MM:SS"),
  max_time_difference_seconds: int(86400, "most seconds between clock times", {
    min: 1,
    levels: [60, 3600, 10800, 21600, 32400, 43200, 86400],
  }),
  min_date: text("1900-01-01", "earliest date, YYYY-MM-DD"),
  max_date: text("3000-01-01", "latest date, YYYY-MM-DD"),
  max_date_difference_days: int(100, "most days between dates", {
    min: 1,
    levels: [1, 7, 30, 365, 1825],
  }),
  task_types: choices([...TASK_TYPES], "kinds of questions", TASK_TYPES),
};

type Config = ConfigOf<typeof params>;

interface Interval {
  start: LocalTime;
  end: LocalTime;
  format: string;
  /** In milliseconds. */
  difference: number;
}

export default defineTask({
  description: "Find the time between two clock readings or dates.",
  scoring:
    "1 − error / largest difference that the data set can have, at least 0, for an answer in the " +
    "asked form (for dates its first word must be the number of days); else 0.",
  params,
  rules: {
    "min_time: must be a time such as 08:30:00": (c) => parseClock(c.min_time) !== null,
    "max_time: must be a time such as 08:30:00": (c) => parseClock(c.max_time) !== null,
    "min_date: must be a date such as 2024-02-29": (c) => dates.parseIsoDate(c.min_date) !== null,
    "max_date: must be a date such as 2024-02-29": (c) => dates.parseIsoDate(c.max_date) !== null,
    "min_time: must be ≤ max_time": ({ min_time: low, max_time: high }) =>
      parseClock(low) === null || parseClock(high) === null ||
      parseClock(low)! <= parseClock(high)!,
    "max_date: must be after min_date": ({ min_date: low, max_date: high }) =>
      dates.parseIsoDate(low) === null || dates.parseIsoDate(high) === null ||
      dates.parseIsoDate(low)! < dates.parseIsoDate(high)!,
  },
  generate(random, config) {
    const type = random.choice(config.task_types) as TaskType;
    const interval = type.startsWith("time")
      ? clockInterval(random, config, type)
      : dateInterval(random, config, type);
    const { start, end, format, difference } = interval;
    const forms = EXPECTED[type]!;
    const expected = forms.length === 1 ? forms[0]! : random.choice(forms);
    const show = (reading: LocalTime) => formatLocalTime(format, reading);
    const plain = (reading: LocalTime) =>
      type.startsWith("time") ? clockText(reading.time) : dateTimeText(reading);
    return {
      question: `${story(random, type, show(start), show(end))}${explained(format, expected)}`,
      answer: answerText(difference, expected),
      metadata: {
        task_type: type,
        start_time: plain(start),
        end_time: plain(end),
        format,
        expected_format: expected,
      },
    };
  },
  /** Scores by the error relative to the maximum possible difference. */
  score(answer, entry) {
    if (answer.length > MAX_LENGTH) return 0;
    const type = entry.metadata?.["task_type"];
    if (typeof type !== "string") return 0;
    const [read, unit] = type === "date"
      ? [(text: string) => integer(words(text)[0]), 1] as const
      : type.startsWith("datetime")
      ? [readDaysAndTime, 86_400] as const
      : [readTime, 1] as const;
    const given = read(answer), oracle = read(entry.answer ?? "");
    if (given === null || oracle === null) return 0;
    const limit = type.startsWith("date")
      ? setting(entry, "max_date_difference_days", DEFAULT_DAYS) * unit
      : setting(entry, "max_time_difference_seconds", DEFAULT_SECONDS);
    return given === oracle ? 1 : Math.max(0, 1 - Math.abs(given - oracle) / limit);
  },
});

/** Two times of one day; the second is not before the first. */
function clockInterval(random: RandomStream, config: Config, type: TaskType): Interval {
  const unit = type === "time" ? MINUTE : type === "time_seconds" ? SECOND : 1;
  const format = type === "time" ? "%H:%M" : type === "time_seconds" ? "%H:%M:%S" : "%H:%M:%S.%f";
  const last = Math.floor(parseClock(config.max_time)! / unit);
  const first = Math.min(last, Math.ceil(parseClock(config.min_time)! / unit));
  const maximum = Math.floor(config.max_time_difference_seconds * SECOND / unit);
  const start = random.int(first, last);
  const end = random.int(start, Math.min(last, start + maximum));
  const reading = (units: number): LocalTime => ({ day: 0, time: units * unit });
  return { start: reading(start), end: reading(end), format, difference: (end - start) * unit };
}

function dateInterval(random: RandomStream, config: Config, type: TaskType): Interval {
  const first = dates.parseIsoDate(config.min_date)!, last = dates.parseIsoDate(config.max_date)!;
  const format = random.choice(
    type === "date" ? DATE_FORMATS : type === "datetime" ? DATETIME_FORMATS : ZONED_FORMATS,
  );
  const unit = type === "date" ? DAY : format.includes("%S") ? SECOND : MINUTE;
  const perDay = DAY / unit, maximum = config.max_date_difference_days * perDay;
  const end = (last + 1) * perDay - 1;
  const from = random.int(first * perDay, type === "date" ? end - perDay + 1 : end);
  const to = random.int(from, Math.min(end, from + maximum));
  const reading = (units: number): LocalTime => {
    const day = Math.floor(units / perDay);
    return { day, time: (units - day * perDay) * unit };
  };
  const interval = { format, difference: (to - from) * unit, start: reading(from) };
  if (type !== "datetime_tz") return { ...interval, end: reading(to) };
  const offset = random.int(-12, 12), perHour = perDay / 24;
  let other = offset, moved = to;
  for (let draw = 0; draw < ZONE_DRAWS; draw++) {
    const drawn = random.int(-12, 12), local = to + (drawn - offset) * perHour;
    if (local < first * perDay || local > end) continue;
    other = drawn;
    moved = local;
    break;
  }
  const start = { ...interval.start, offset };
  return { ...interval, start, end: { ...reading(moved), offset: other } };
}

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  time: ["HH:MM"],
  time_seconds: ["HH:MM:SS"],
  time_ms: ["HH:MM:SS.mmm"],
  date: ["D days"],
  datetime: ["D days, HH:MM", "D days, HH:MM:SS"],
  datetime_tz: ["D days, HH:MM", "D days, HH:MM:SS"],
};

/** Formats the difference. Digits beyond the format are truncated, not rounded. */
function answerText(difference: number, expected: string): string {
  const clock = formatLocalTime("%H:%M:%S.%f", { day: 0, time: difference % DAY });
  return expected.replace("D", String(Math.floor(difference / DAY)))
    .replace(/HH.*/, (form) => clock.slice(0, form.length));
}

function story(random: RandomStream, type: TaskType, start: string, end: string): string {
  if (type === "date") {
    return random.choice([
      `How many days after ${start} is ${end}?`,
      `A library book is lent on ${start} and comes back on ${end}. After how many days is that?`,
      `Building begins on ${start} and is finished on ${end}. How many days later is that?`,
    ]);
  }
  if (type.startsWith("datetime")) {
    return random.choice([
      `A ship leaves its harbour at ${start} and reaches the next one at ${end}. How long is it ` +
      "at sea?",
      `A measurement runs from ${start} to ${end}. How long does it take?`,
      `How much time passes between ${start} and ${end}?`,
    ]);
  }
  return random.choice([
    `A film begins at ${start} and ends at ${end} on the same day. How long is it?`,
    `A runner starts at ${start} and arrives at ${end} on the same day. How long is the run?`,
    `How much time passes from ${start} to ${end} on the same day?`,
  ]);
}

/** Explains the formats of the dates and the expected form of the answer. */
function explained(format: string, expected: string): string {
  let text = "";
  if (format.includes("%m/%d/%Y")) text += " (Dates are written month/day/year.)";
  if (format.includes("%z")) text += " (The end of each time is its zone's offset from UTC.)";
  text += ` Answer in the form ${expected}`;
  if (expected === "D days") return `${text}, such as 7 days, also for 0 and 1.`;
  if (!expected.startsWith("D")) return `${text} only.`;
  const withSeconds = expected.endsWith("SS");
  const example = withSeconds ? "7 days, 04:05:00" : "7 days, 04:05";
  const hint = withSeconds || !format.includes("%S") ? "" : "; leave out the seconds";
  return `${text}, such as ${example}, also for 0 and 1 days${hint}.`;
}

/** A local date and time. */
interface LocalTime {
  /** Days since 1970-01-01. */
  day: number;
  /** Milliseconds since midnight. */
  time: number;
  /** Hours ahead of UTC; undefined when no time zone is given. */
  offset?: number;
}

/** What each letter of a format stands for; %f has three digits, %z is such as +05:00. */
const LETTERS: Readonly<Record<string, (reading: LocalTime) => string | undefined>> = {
  Y: ({ day }) => dates.zeroPadded(dates.dateOfDay(day).year, 4),
  m: ({ day }) => dates.zeroPadded(dates.dateOfDay(day).month),
  d: ({ day }) => dates.zeroPadded(dates.dateOfDay(day).day),
  B: ({ day }) => dates.MONTHS[dates.dateOfDay(day).month - 1],
  b: ({ day }) => dates.MONTHS[dates.dateOfDay(day).month - 1]!.slice(0, 3),
  A: ({ day }) => dates.WEEKDAYS[dates.weekdayOfDay(day)],
  a: ({ day }) => dates.WEEKDAYS[dates.weekdayOfDay(day)]!.slice(0, 3),
  H: ({ time }) => dates.zeroPadded(Math.floor(time / 3_600_000)),
  M: ({ time }) => dates.zeroPadded(Math.floor(time / 60_000) % 60),
  S: ({ time }) => dates.zeroPadded(Math.floor(time / 1000) % 60),
  f: ({ time }) => dates.zeroPadded(time % 1000, 3),
  z: ({ offset }) => zone(offset ?? 0),
};

/** Formats dates and clock times, with the letters of C's `strftime` that questions use. */
function formatLocalTime(format: string, reading: LocalTime): string {
  return format.replace(/%(.)/g, (_, letter) => LETTERS[letter]!(reading)!);
}

function zone(offset: number): string {
  return `${offset < 0 ? "-" : "+"}${dates.zeroPadded(Math.abs(offset))}:00`;
}

/** Formats a time like Python: HH:MM:SS, with six decimals if there is a fraction. */
function clockText(time: number): string {
  const text = formatLocalTime("%H:%M:%S", { day: 0, time });
  return time % 1000 === 0 ? text : `${text}.${dates.zeroPadded(time % 1000, 3)}000`;
}

/** Formats a date with a time like Python, with the time zone if there is one. */
function dateTimeText({ day, time, offset }: LocalTime): string {
  return `${dates.isoDate(day)} ${clockText(time)}${offset === undefined ? "" : zone(offset)}`;
}

/**
 * The milliseconds of a text such as 09:30, 09:30:15 or 09:30:15.250999 (truncated, not rounded);
 * null for other texts.
 */
function parseClock(text: string): number | null {
  const match = /^([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,6}))?)?$/.exec(text);
  if (match === null) return null;
  const [, hours, minutes, seconds = "0", fraction = ""] = match;
  const milliseconds = Number(fraction.padEnd(3, "0").slice(0, 3));
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + milliseconds;
}

const DEFAULT_DAYS = 100;
const DEFAULT_SECONDS = 86_400;
const MAX_LENGTH = 20_000;

function setting(entry: ScorableEntry, key: string, otherwise: number): number {
  const difficulty = entry.metadata?.["difficulty"] as Record<string, unknown> | null | undefined;
  const value = difficulty?.[key];
  return typeof value === "number" && value > 0 ? value : otherwise;
}

function integer(text: string | undefined): number | null {
  const value = parseInteger(text ?? "");
  return value === null ? null : Number(value);
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
