import assert from "node:assert/strict";
import { createDataset } from "../../../dataset.ts";
import { scoreAnswer } from "../../../registry.ts";
import { entriesOf } from "../../../testing.ts";
import type { Entry } from "../../../types.ts";
import { dateOfDay, dayNumber, weekdayOfDay } from "./dates.ts";

const DAY = 86_400_000;
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

Deno.test("days, dates and weekdays agree with JavaScript's calendar over all years", () => {
  for (let year = 1; year <= 9999; year += year < 1890 || year > 2110 ? 37 : 1) {
    for (const [month, day] of [[1, 1], [2, 28], [3, 1], [7, 31], [12, 31]] as const) {
      const date = new Date(0);
      date.setUTCFullYear(year, month - 1, day);
      const number = dayNumber({ year, month, day });
      assert.equal(number, date.getTime() / DAY, `${year}-${month}-${day}`);
      assert.equal((weekdayOfDay(number) + 1) % 7, date.getUTCDay());
      assert.deepEqual(dateOfDay(number), { year, month, day });
    }
  }
});

/** The first two dates of a question, such as "7 March 2022", in milliseconds. */
function datesIn({ question }: Entry): number[] {
  return [...question.matchAll(/\d{1,2} [A-Z][a-z]+ \d+/g)].map(([text]) =>
    Date.parse(`${text} UTC`)
  );
}

function weekday(time: number): string {
  return WEEKDAYS[new Date(time).getUTCDay()]!;
}

function countDays(from: number, to: number, wanted: (name: string) => boolean): number {
  let count = 0;
  for (let time = from; time <= to; time += DAY) count += wanted(weekday(time)) ? 1 : 0;
  return count;
}

function firstMatch(pattern: RegExp, text: string): string {
  const match = pattern.exec(text);
  assert.ok(match, `${pattern} in ${text}`);
  return match[1]!;
}

/** Solves a calendar question from its text with JavaScript's calendar. */
function solve(entry: Entry): string {
  const { question, metadata } = entry;
  const [first, second] = datesIn(entry);
  switch (metadata["task"]) {
    case "weekday_offset": {
      assert.equal(firstMatch(/(\w+day),/, question), weekday(first!));
      const days = Number(firstMatch(/(\d+) days? (?:after|before)/, question));
      return weekday(first! + (question.includes("before") ? -days : days) * DAY);
    }
    case "weekday_of_date":
      return weekday(first!);
    case "weekday_of_date_from_first_date": {
      const year = question.includes("not a leap") ? 2023 : 2024;
      const [, day] = /is (\d+ [A-Z]\w+) of that year/.exec(question)!;
      const passed = (Date.parse(`${day} ${year} UTC`) - Date.UTC(year, 0, 1)) / DAY;
      const start = WEEKDAYS.indexOf(firstMatch(/1 January is a (\w+)\./, question));
      return WEEKDAYS[(start + passed) % 7]!;
    }
    case "recurring_event_day": {
      const [, ordinal, name] = /the (first|second|third|fourth|last) (\w+day) of/.exec(question)!;
      const month = Date.parse(`1 ${firstMatch(/([A-Z]\w+ \d{4})[?.]/, question)} UTC`);
      const days: number[] = [];
      for (let day = 0; day < 31; day++) {
        const date = new Date(month + day * DAY);
        if (date.getUTCMonth() !== new Date(month).getUTCMonth()) break;
        if (weekday(date.getTime()) === name) days.push(day + 1);
      }
      const index = ["first", "second", "third", "fourth"].indexOf(ordinal!);
      return String(days.at(index)!);
    }
    case "count_days": {
      const name = firstMatch(/does a (\w+) occur/, question);
      return String(countDays(first!, second!, (other) => other === name));
    }
    case "count_business_days":
      return String(countDays(first!, second!, (name) => !name.startsWith("S")));
    default: {
      const year = Number(firstMatch(/(\d+)/, question));
      return new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1 ? "Yes" : "No";
    }
  }
}

Deno.test("calendar questions are answered from their text", () => {
  const kinds = new Set<unknown>();
  const sets = [{}, { year: 2024, offset_upper_bound: 400 }, { year: 1900 }];
  for (const entry of entriesOf("calendar_arithmetic", sets, { seed: 1, size: 200 })) {
    assert.equal(entry.answer, solve(entry), entry.question);
    kinds.add(entry.metadata["task"]);
  }
  assert.equal(kinds.size, 7);
});

Deno.test("the period of a calendar question stays within its year", () => {
  const options = {
    seed: 2,
    size: 300,
    tasks: ["count_business_days", "count_days"],
    offset_upper_bound: 360,
  };
  for (const { metadata } of createDataset("calendar_arithmetic", options)) {
    assert.match(metadata["start_date"] as string, /^2022-/);
    assert.match(metadata["end_date"] as string, /^2022-/);
  }
});

Deno.test("the first and the last year have questions too", () => {
  for (const year of [1, 9999]) {
    const dataset = createDataset("calendar_arithmetic", { seed: 3, size: 200, year });
    for (const entry of dataset) assert.equal(scoreAnswer(entry.answer, entry), 1);
  }
});

/** The milliseconds of a time, a date or both, as a question writes them. */
function timeOf(text: string): number {
  const clock = /(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?(?: ([+-]\d\d):00)?$/.exec(text);
  const number = (part: string | undefined) => Number(part ?? 0);
  const time = clock === null ? 0 : ((number(clock[1]) * 60 + number(clock[2])) * 60 +
        number(clock[3]) - number(clock[5]) * 3600) * 1000 + number(clock[4]);
  const date = clock === null ? text : text.slice(0, clock.index).replace(/(,| at)? $/, "");
  if (date.trim() === "") return time;
  const iso = /(\d{4})-(\d\d)-(\d\d)/.exec(date), us = /(\d\d)\/(\d\d)\/(\d{4})/.exec(date);
  if (iso) return Date.UTC(Number(iso[1]), Number(iso[2]) - 1, Number(iso[3])) + time;
  if (us) return Date.UTC(Number(us[3]), Number(us[1]) - 1, Number(us[2])) + time;
  const plain = date.replace(/^[A-Z][a-z]+day, /, "").replace(/^[A-Z][a-z]{2} (?=[A-Z])/, "");
  const parsed = Date.parse(`${plain.replace(",", "")} UTC`);
  assert.ok(Number.isFinite(parsed), text);
  return parsed + time;
}

const BETWEEN = [
  /after (.*) is (.*)\? Answer|after (.*) is (.*)\? \(/,
  /lent on (.*) and comes back on (.*)\. After/,
  /begins on (.*) and is finished on (.*)\. How/,
  /harbour at (.*) and reaches the next one at (.*)\. How/,
  /runs from (.*) to (.*)\. How/,
  /between (.*) and (.*)\? /,
  /begins at (.*) and ends at (.*) on the/,
  /starts at (.*) and arrives at (.*) on the/,
  /passes from (.*) to (.*) on the/,
];

function shown({ question }: Entry): [string, string] {
  for (const pattern of BETWEEN) {
    const match = pattern.exec(question);
    if (match === null) continue;
    const [a, b] = match.slice(1).filter((part) => part !== undefined) as [string, string];
    return [a, b.replace(/\? \(.*$/, "")];
  }
  throw new Error(`no two times in: ${question}`);
}

function answerFor(difference: number, form: string): string {
  const pad = (value: number, width = 2) => String(Math.floor(value)).padStart(width, "0");
  const days = Math.floor(difference / DAY), rest = difference % DAY;
  return form.replace(/^D(?= )/, String(days)).replace("HH", pad(rest / 3_600_000))
    .replace("MM", pad(rest / 60_000 % 60)).replace("SS", pad(rest / 1000 % 60))
    .replace("mmm", pad(rest % 1000, 3));
}

Deno.test("differences of times are computed from what the question shows", () => {
  const kinds = new Set<unknown>(), formats = new Set<unknown>();
  const sets = [
    {},
    { max_date_difference_days: 1, max_time_difference_seconds: 60 },
    {
      min_time: "09:30:30",
      max_time: "09:45:15.25",
      min_date: "2023-12-31",
      max_date: "2024-01-01",
    },
  ];
  for (const options of sets) {
    for (const entry of createDataset("time_intervals", { seed: 4, size: 300, ...options })) {
      const [start, end] = shown(entry).map(timeOf) as [number, number];
      const form = firstMatch(
        /Answer in the form (D days, HH:MM:SS|D days, HH:MM|D days|HH[:MS.m]*)/,
        entry.question,
      );
      assert.equal(entry.answer, answerFor(end - start, form), entry.question);
      assert.ok(end >= start);
      // The original's clock times have the date of the day on which they are generated (G2).
      const hasDate = /^\d{4}-/.test(entry.metadata["start_time"] as string);
      assert.equal(hasDate, form.startsWith("D"));
      kinds.add(entry.metadata["task_type"]);
      formats.add(entry.metadata["format"]);
      if (!form.startsWith("D")) {
        const low = timeOf(options.min_time ?? "00:00:00");
        assert.ok(
          start >= low && end - start <= (options.max_time_difference_seconds ?? 86_400) * 1000,
        );
      } else assert.ok(end - start <= (options.max_date_difference_days ?? 100) * DAY);
    }
  }
  assert.equal(kinds.size, 6);
  assert.equal(formats.size, 20);
});
