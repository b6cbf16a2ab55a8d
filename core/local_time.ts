/**
 * Local times as text, without a zone: "2026-11-22T23:17:05". A run stores the time of its start in
 * this form, so that a machine in another zone shows the same time of day.
 */

/** Such as "2026-11-22T23:17:05"; `new Date` takes it as a local time. */
export type LocalTime = string;

export function localTime(date: Date = new Date()): LocalTime {
  const two = (number: number) => String(number).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${day}T${time}`;
}

/** The time for the name of a file: "20261122_231705". */
export function timeStamp(date: Date): string {
  return localTime(date).replaceAll(/[-:]/g, "").replace("T", "_");
}

export function isLocalTime(value: unknown): value is LocalTime {
  return typeof value === "string" && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/.test(value) &&
    !Number.isNaN(Date.parse(value));
}
