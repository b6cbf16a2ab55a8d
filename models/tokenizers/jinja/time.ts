/** `strftime_now` of transformers, with English names whatever the machine's language is. */
const MONTHS = "January February March April May June July August September October November " +
  "December";
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday";
const DAY = 86_400_000;

/** Directives that stand for others. */
const WHOLE: Readonly<Record<string, string>> = {
  F: "%Y-%m-%d",
  T: "%H:%M:%S",
  X: "%H:%M:%S",
  D: "%m/%d/%y",
  x: "%m/%d/%y",
  R: "%H:%M",
  r: "%I:%M:%S %p",
  c: "%a %b %e %H:%M:%S %Y",
  n: "\n",
  t: "\t",
};

/** Characters of a format. Each directive may become 24. */
const MAX_FORMAT = 1000;

/**
 * Python's `strftime` in its C locale, of a local time without a zone, as `datetime.now()` is. A
 * minus removes the zeros in front: `%-d`.
 * @throws Error for a directive that is not known here
 */
export function formatTime(time: Date, format: string): string {
  if (format.length > MAX_FORMAT) {
    throw new Error(`strftime_now: a format of ${format.length} characters, at most ${MAX_FORMAT}`);
  }
  const values = valuesOf(time);
  const written = format.replaceAll(/%([FTXDxRrcnt%])/g, (one, name) => WHOLE[name] ?? one);
  return written.replaceAll(/%(-?)([A-Za-z%])/g, (directive, minus, name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`strftime_now: ${directive} is not supported`);
    return minus === "" ? value : value.replace(/^[0 ]+(?=.)/, "");
  });
}

function valuesOf(time: Date): Readonly<Record<string, string>> {
  const digits = (number: number, length = 2) => String(number).padStart(length, "0");
  const month = MONTHS.split(" ")[time.getMonth()]!, day = DAYS.split(" ")[time.getDay()]!;
  const year = time.getFullYear(), weekday = time.getDay(), hour = time.getHours();
  const midday = (hour + 11) % 12 + 1, ofYear = dayOfYear(time), iso = isoWeek(time);
  return {
    Y: String(year),
    C: digits(Math.floor(year / 100)),
    y: digits(year % 100),
    m: digits(time.getMonth() + 1),
    d: digits(time.getDate()),
    e: String(time.getDate()).padStart(2),
    j: digits(ofYear + 1, 3),
    B: month,
    b: month.slice(0, 3),
    h: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    w: String(weekday),
    u: String(weekday === 0 ? 7 : weekday),
    U: digits(Math.floor((ofYear + 7 - weekday) / 7)),
    W: digits(Math.floor((ofYear + 7 - (weekday + 6) % 7) / 7)),
    V: digits(iso.week),
    G: String(iso.year),
    g: digits(iso.year % 100),
    H: digits(hour),
    k: String(hour).padStart(2),
    I: digits(midday),
    l: String(midday).padStart(2),
    M: digits(time.getMinutes()),
    S: digits(time.getSeconds()),
    f: digits(time.getMilliseconds() * 1000, 6),
    p: hour < 12 ? "AM" : "PM",
    P: hour < 12 ? "am" : "pm",
    Z: "",
    z: "",
    "%": "%",
  };
}

/** From 0, for the date alone: hours may be missing or twice where clocks are changed. */
function dayOfYear(time: Date): number {
  const year = time.getFullYear();
  return (Date.UTC(year, time.getMonth(), time.getDate()) - Date.UTC(year, 0, 1)) / DAY;
}

/** The week of ISO 8601: that of its Thursday, and the year in which this lies. */
function isoWeek(time: Date): { year: number; week: number } {
  const toThursday = 4 - (time.getDay() || 7);
  const thursday = new Date(time.getFullYear(), time.getMonth(), time.getDate() + toThursday);
  return { year: thursday.getFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}
