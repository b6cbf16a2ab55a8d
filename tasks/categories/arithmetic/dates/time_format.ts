/** Formats dates and clock times, with the letters of C's `strftime` that questions use. */
import { dateOfDay, isoDate, MONTHS, weekdayOfDay, WEEKDAYS, zeroPadded } from "./dates.ts";

/** A local date and time. */
export interface LocalTime {
  /** Days since 1970-01-01. */
  day: number;
  /** Milliseconds since midnight. */
  time: number;
  /** Hours ahead of UTC; undefined when no time zone is given. */
  offset?: number;
}

/** Supported letters: %Y %m %d %B %b %A %a %H %M %S %f (three digits) %z (such as +05:00). */
export function formatLocalTime(format: string, { day, time, offset }: LocalTime): string {
  const { year, month, day: dayOfMonth } = dateOfDay(day);
  let text = "";
  for (let i = 0; i < format.length; i++) {
    if (format[i] !== "%") {
      text += format[i];
      continue;
    }
    switch (format[++i]) {
      case "Y":
        text += zeroPadded(year, 4);
        break;
      case "m":
        text += zeroPadded(month);
        break;
      case "d":
        text += zeroPadded(dayOfMonth);
        break;
      case "B":
        text += MONTHS[month - 1];
        break;
      case "b":
        text += MONTHS[month - 1]!.slice(0, 3);
        break;
      case "A":
        text += WEEKDAYS[weekdayOfDay(day)];
        break;
      case "a":
        text += WEEKDAYS[weekdayOfDay(day)]!.slice(0, 3);
        break;
      case "H":
        text += zeroPadded(Math.floor(time / 3_600_000));
        break;
      case "M":
        text += zeroPadded(Math.floor(time / 60_000) % 60);
        break;
      case "S":
        text += zeroPadded(Math.floor(time / 1000) % 60);
        break;
      case "f":
        text += zeroPadded(time % 1000, 3);
        break;
      case "z":
        text += zone(offset ?? 0);
        break;
    }
  }
  return text;
}

function zone(offset: number): string {
  return `${offset < 0 ? "-" : "+"}${zeroPadded(Math.abs(offset))}:00`;
}

/** Formats a time like Python: HH:MM:SS, with six decimals if there is a fraction. */
export function clockText(time: number): string {
  const text = formatLocalTime("%H:%M:%S", { day: 0, time });
  return time % 1000 === 0 ? text : `${text}.${zeroPadded(time % 1000, 3)}000`;
}

/** Formats a date with a time like Python, with the time zone if there is one. */
export function dateTimeText({ day, time, offset }: LocalTime): string {
  return `${isoDate(day)} ${clockText(time)}${offset === undefined ? "" : zone(offset)}`;
}

/**
 * The milliseconds of a text such as 09:30, 09:30:15 or 09:30:15.250999 (truncated, not rounded);
 * null for other texts.
 */
export function parseClock(text: string): number | null {
  const match = /^([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,6}))?)?$/.exec(text);
  if (match === null) return null;
  const [, hours, minutes, seconds = "0", fraction = ""] = match;
  const milliseconds = Number(fraction.padEnd(3, "0").slice(0, 3));
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + milliseconds;
}
