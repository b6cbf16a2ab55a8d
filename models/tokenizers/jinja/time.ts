/** `strftime_now` of transformers, with English names whatever the machine's language is. */
const MONTHS = "January February March April May June July August September October November " +
  "December";
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday";

/**
 * Python's `strftime` in its C locale, with the directives that templates use. A minus removes the
 * zeros in front: `%-d`.
 * @throws Error for a directive that is not known here
 */
export function formatTime(time: Date, format: string): string {
  const two = (number: number) => String(number).padStart(2, "0");
  const month = MONTHS.split(" ")[time.getMonth()]!, day = DAYS.split(" ")[time.getDay()]!;
  const values: Readonly<Record<string, string>> = {
    Y: String(time.getFullYear()),
    y: two(time.getFullYear() % 100),
    m: two(time.getMonth() + 1),
    d: two(time.getDate()),
    e: String(time.getDate()).padStart(2),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: two(time.getHours()),
    I: two((time.getHours() + 11) % 12 + 1),
    M: two(time.getMinutes()),
    S: two(time.getSeconds()),
    p: time.getHours() < 12 ? "AM" : "PM",
    "%": "%",
  };
  const whole = format.replaceAll("%F", "%Y-%m-%d").replaceAll("%T", "%H:%M:%S");
  return whole.replaceAll(/%(-?)([A-Za-z%])/g, (directive, minus, name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`strftime_now: ${directive} is not supported`);
    return minus === "" ? value : value.replace(/^[0 ](?=.)/, "");
  });
}
