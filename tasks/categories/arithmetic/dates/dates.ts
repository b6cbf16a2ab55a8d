/**
 * The proleptic Gregorian calendar. JavaScript's `Date` is not used, because it depends on a time
 * zone and misreads years below 100. Days are counted from 1970-01-01; weekday 0 is Monday.
 */

export const WEEKDAYS: readonly string[] =
  "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ");

export const MONTHS: readonly string[] =
  ("January February March April May June July August September October November " +
    "December").split(" ");

export interface CalendarDate {
  year: number;
  /** 1 to 12. */
  month: number;
  /** 1 to 31. */
  day: number;
}

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

const DAYS_BEFORE = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

function daysBeforeMonth(year: number, month: number): number {
  return DAYS_BEFORE[month - 1]! + (month > 2 && isLeapYear(year) ? 1 : 0);
}

export function daysInMonth(year: number, month: number): number {
  return month === 12 ? 31 : daysBeforeMonth(year, month + 1) - daysBeforeMonth(year, month);
}

/** Sums the days of years 1 … year − 1, of the earlier months, and of this month. */
export function dayNumber({ year, month, day }: CalendarDate): number {
  const y = year - 1;
  const before = 365 * y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  return before + daysBeforeMonth(year, month) + day - 719_163;
}

export function dateOfDay(number: number): CalendarDate {
  let year = Math.floor((number + 719_162) / 365.2425) + 1;
  while (dayNumber({ year, month: 1, day: 1 }) > number) year--;
  while (dayNumber({ year: year + 1, month: 1, day: 1 }) <= number) year++;
  let rest = number - dayNumber({ year, month: 1, day: 1 }), month = 1;
  while (rest >= daysInMonth(year, month)) rest -= daysInMonth(year, month++);
  return { year, month, day: rest + 1 };
}

/** The weekday; 0 is Monday. */
export function weekdayOfDay(number: number): number {
  return ((number + 3) % 7 + 7) % 7;
}

export function isoDate(number: number): string {
  const { year, month, day } = dateOfDay(number);
  return `${zeroPadded(year, 4)}-${zeroPadded(month)}-${zeroPadded(day)}`;
}

/** The day of a text such as 2024-02-29; null when the text is no valid date. */
export function parseIsoDate(text: string): number | null {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (match === null) return null;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  return dayNumber({ year, month, day });
}

export function zeroPadded(value: number, width = 2): string {
  return String(value).padStart(width, "0");
}
