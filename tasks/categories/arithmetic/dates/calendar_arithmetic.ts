/** Seven kinds of questions on dates: weekdays, leap years, and counts of days in a period. */
import type { RandomStream } from "../../../../core/philox.ts";
import { choices, type ConfigOf, defineTask, int, levels, nullable } from "../../../define.ts";
import { parseInteger } from "../../../python/integers.ts";
import { strip } from "../../../python/text.ts";
import {
  dateOfDay,
  dayNumber,
  daysInMonth,
  isLeapYear,
  isoDate,
  MONTHS,
  weekdayOfDay,
  WEEKDAYS,
} from "./dates.ts";

const TASKS = [
  "weekday_offset",
  "weekday_of_date",
  "weekday_of_date_from_first_date",
  "recurring_event_day",
  "count_days",
  "count_business_days",
  "is_leap_year",
] as const;
type Kind = typeof TASKS[number];

const LAST_YEAR = 9999;
const ORDINALS = ["first", "second", "third", "fourth", "last"] as const;

const EASIEST: Kind[] = [
  "weekday_of_date",
  "is_leap_year",
  "weekday_offset",
  "count_days",
  "count_business_days",
  "weekday_of_date_from_first_date",
  "recurring_event_day",
];

interface Question {
  question: string;
  answer: string;
  facts: Record<string, unknown>;
}

const params = {
  year: int(2022, "year that the dates are in", { min: 1, max: LAST_YEAR }),
  tasks: nullable(choices([], "kinds of questions; null for all", TASKS)),
  offset_upper_bound: int(100, "most days between two dates", { min: 1, max: 1_000_000 }),
  leap_year_range: int(200, "width of the span of years around `year`", { min: 0 }),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Answer questions about weekdays, spans of days and leap years.",
  scoring:
    "Weekdays: 1 for the right one, 0.1 for another, 0.05 for one that is not in title case. " +
    "Counts: 1 when right, else e^(−5·error/count). Leap years: 1 for the right word in any " +
    "case. Else 0.",
  params,
  curriculum: {
    tasks: levels([1, 3, 5, 7].map((count) => EASIEST.slice(0, count)), "kinds of questions"),
    offset_upper_bound: levels([30, 100, 250, 365], "most days between two dates"),
  },
  generate(random, config) {
    const kinds = config.tasks ?? [...TASKS];
    const task = random.choice(kinds) as Kind;
    const { question, answer, facts } = MAKERS[task](random, config);
    return {
      question,
      answer,
      metadata: { task, ...facts },
      difficulty: { tasks: [...kinds], offset_upper_bound: config.offset_upper_bound },
    };
  },
  score(answer, entry) {
    const given = strip(answer), oracle = strip(entry.answer ?? "");
    switch (entry.metadata?.["task"]) {
      case "weekday_offset":
      case "weekday_of_date":
      case "weekday_of_date_from_first_date":
        if (given === oracle) return 1;
        if ((WEEKDAYS as readonly string[]).includes(given)) return 0.1;
        return LOWER_WEEKDAYS.has(given.toLowerCase()) ? 0.05 : 0;
      case "recurring_event_day":
      case "count_days":
      case "count_business_days":
        return countScore(parseInteger(given), parseInteger(oracle));
      case "is_leap_year":
        return given.toLowerCase() === oracle.toLowerCase() ? 1 : 0;
      default:
        return 0;
    }
  },
});

const NAME_ONLY = "Answer with the English name of the weekday only, written in full.";
const COUNT_ONLY = "Answer with the number only.";

const MAKERS: Record<Kind, (random: RandomStream, config: Config) => Question> = {
  weekday_offset(random, { year, offset_upper_bound }) {
    const start = dayIn(random, year);
    const size = random.int(1, offset_upper_bound),
      first = dayNumber({ year: 1, month: 1, day: 1 });
    const offset = random.chance(0.5) && start - size >= first ? -size : size;
    const target = start + offset, side = offset < 0 ? "before" : "after";
    return {
      question: random.choice([
        `${longDate(start)}: which day of the week is it ${count(size)} ${side} this date? ` +
        `${NAME_ONLY}`,
        `A calendar shows ${longDate(start)}. What is the weekday ${count(size)} ${side} that? ` +
        `${NAME_ONLY}`,
      ]),
      answer: weekdayName(target),
      facts: { start_date: isoDate(start), offset_days: offset, target_date: isoDate(target) },
    };
  },

  weekday_of_date(random, { year }) {
    const target = dayIn(random, year);
    return {
      question: random.choice([
        `Which day of the week is ${date(target)} in the Gregorian calendar? ${NAME_ONLY}`,
        `On which weekday does ${date(target)} fall in the Gregorian calendar? ${NAME_ONLY}`,
        `Somebody is born on ${date(target)} (Gregorian calendar). On which weekday is that? ` +
        `${NAME_ONLY}`,
      ]),
      answer: weekdayName(target),
      facts: { target_date: isoDate(target) },
    };
  },

  weekday_of_date_from_first_date(random, { year, offset_upper_bound }) {
    const first = dayNumber({ year, month: 1, day: 1 });
    const delta = random.int(1, Math.min(offset_upper_bound, daysIn(year) - 1));
    const { month, day } = dateOfDay(first + delta), weekday = random.below(7);
    const firstDay = WEEKDAYS[weekday]!;
    return {
      question:
        `In a certain ${isLeapYear(year) ? "leap year" : "year that is not a leap year"}, 1 ` +
        `January is a ${firstDay}. Which day of the week is ${day} ${MONTHS[month - 1]} of that ` +
        "year? " +
        NAME_ONLY,
      answer: WEEKDAYS[(weekday + delta) % 7]!,
      facts: {
        year,
        first_day: firstDay,
        target_date: isoDate(first + delta),
        delta_days: delta,
      },
    };
  },

  recurring_event_day(random, { year }) {
    const month = random.int(1, 12), weekday = random.below(7), which = random.below(5);
    const first = 1 + (weekday - weekdayOfDay(dayNumber({ year, month, day: 1 })) + 7) % 7;
    const length = daysInMonth(year, month), when = `${ORDINALS[which]} ${WEEKDAYS[weekday]}`;
    const day = which < 4 ? first + 7 * which : first + 7 * Math.floor((length - first) / 7);
    return {
      question: random.choice([
        `A club meets on the ${when} of every month. On which day of the month does it meet in ` +
        `${MONTHS[month - 1]} ${year}? ${COUNT_ONLY}`,
        `Which day of the month is the ${when} of ${MONTHS[month - 1]} ${year}? ${COUNT_ONLY}`,
        `A market is held on the ${when} of ${MONTHS[month - 1]} ${year}. What is the date, as a ` +
        `day of the month? ${COUNT_ONLY}`,
      ]),
      answer: String(day),
      facts: { year, month, ordinal: ORDINALS[which], weekday: WEEKDAYS[weekday] },
    };
  },

  count_days(random, { year, offset_upper_bound }) {
    const [start, end] = spanIn(random, year, offset_upper_bound), weekday = random.below(7);
    return {
      question: `How many times does a ${WEEKDAYS[weekday]} occur from ${longDate(start)} to ` +
        `${longDate(end)}, counting both dates? ${COUNT_ONLY}`,
      answer: String(weekdaysFrom(start, end, weekday)),
      facts: { year, start_date: isoDate(start), end_date: isoDate(end) },
    };
  },

  count_business_days(random, { year, offset_upper_bound }) {
    const [start, end] = spanIn(random, year, offset_upper_bound);
    let days = 0;
    for (let weekday = 0; weekday < 5; weekday++) days += weekdaysFrom(start, end, weekday);
    return {
      question:
        `How many of the days from ${longDate(start)} to ${longDate(end)}, counting both dates, ` +
        `are working days (Monday to Friday, holidays ignored)? ${COUNT_ONLY}`,
      answer: String(days),
      facts: { start_date: isoDate(start), end_date: isoDate(end) },
    };
  },

  is_leap_year(random, { year, leap_year_range }) {
    const half = Math.floor(leap_year_range / 2);
    const drawn = random.int(Math.max(1, year - half), Math.min(LAST_YEAR, year + half));
    return {
      question: random.choice([
        `Is ${drawn} a leap year in the Gregorian calendar? Answer with Yes or No.`,
        `Does the year ${drawn} of the Gregorian calendar have a 29 February? Answer with Yes or ` +
        "No.",
        `Does the year ${drawn} have 366 days in the Gregorian calendar? Answer with Yes or No.`,
        `In the Gregorian calendar, is the year ${drawn} longer than 365 days? Answer with Yes ` +
        "or No.",
      ]),
      answer: isLeapYear(drawn) ? "Yes" : "No",
      facts: { year: drawn, is_leap: isLeapYear(drawn) },
    };
  },
};

function daysIn(year: number): number {
  return isLeapYear(year) ? 366 : 365;
}

function dayIn(random: RandomStream, year: number): number {
  return dayNumber({ year, month: 1, day: 1 }) + random.below(daysIn(year));
}

/** Two dates of the year, 1 to `maximum` days apart. */
function spanIn(random: RandomStream, year: number, maximum: number): [start: number, end: number] {
  const apart = random.int(1, Math.min(maximum, daysIn(year) - 1));
  const start = dayNumber({ year, month: 1, day: 1 }) + random.below(daysIn(year) - apart);
  return [start, start + apart];
}

/** The number of days with this weekday from start to end, both included. */
function weekdaysFrom(start: number, end: number, weekday: number): number {
  const first = start + (weekday - weekdayOfDay(start) + 7) % 7;
  return first > end ? 0 : 1 + Math.floor((end - first) / 7);
}

function weekdayName(day: number): string {
  return WEEKDAYS[weekdayOfDay(day)]!;
}

/** Formats a day as "7 March 2022". */
function date(number: number): string {
  const { year, month, day } = dateOfDay(number);
  return `${day} ${MONTHS[month - 1]} ${year}`;
}

/** Formats a day as "Monday, 7 March 2022". */
function longDate(number: number): string {
  return `${weekdayName(number)}, ${date(number)}`;
}

function count(days: number): string {
  return `${days} day${days === 1 ? "" : "s"}`;
}

const LOWER_WEEKDAYS: ReadonlySet<string> = new Set(WEEKDAYS.map((name) => name.toLowerCase()));

function countScore(given: bigint | null, oracle: bigint | null): number {
  if (given === null || oracle === null) return 0;
  if (given === oracle) return 1;
  if (oracle <= 0n) return 0;
  return Math.exp(-5 * Math.abs(Number(given - oracle)) / Number(oracle));
}
