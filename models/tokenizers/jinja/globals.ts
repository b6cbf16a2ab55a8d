/** The functions that every chat template may call. */
import { PyDict } from "../../../tasks/python/literals.ts";
import {
  bind,
  type Call,
  Callable,
  described,
  dict,
  integer,
  itemsOf,
  Lazy,
  Namespace,
  str,
  takes,
  text,
  type Value,
  type Work,
} from "./values.ts";

/** As in Jinja's sandbox. */
const MAX_RANGE = 100_000;

/** Characters of a template's own error. */
const MAX_MESSAGE = 1000;

const FUNCTIONS: Readonly<Record<string, Work<null>>> = {
  range: takes("start [stop] [step]", range),
  dict: (_, given, name) => dict(entriesOf(name, given)),
  namespace: (_, given, name) =>
    new Namespace(
      entriesOf(name, given).map(([key, value]) =>
        [text(key, "a name of a namespace"), value] as const
      ),
    ),
  raise_exception: takes("message", (_, message: Value) => {
    throw new Error(str(message).slice(0, MAX_MESSAGE));
  }),
  strftime_now: takes(
    "format",
    (_, format: Value) => formatTime(new Date(), text(format, "format")),
  ),
};

export const GLOBALS: ReadonlyMap<string, Value> = new Map(
  Object.entries(FUNCTIONS).map(([name, work]) =>
    [name, new Callable(name, (given) => work(null, given, name))] as const
  ),
);

/** Python's `range(stop)`, `range(start, stop)` and `range(start, stop, step)`. */
function range(_: null, ...given: readonly (Value | undefined)[]): Value {
  const [first, second, step = 1] = given.filter((one) => one !== undefined)
    .map((one) => integer(one, "an argument of range"));
  const [start, stop] = second === undefined ? [0, first!] : [first!, second];
  if (step === 0) throw new Error("range() with a step of 0");
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!(length <= MAX_RANGE)) {
    throw new Error(`range() with ${length} numbers, of which ${MAX_RANGE} are allowed`);
  }
  return new Lazy(Array.from({ length }, (_, i) => BigInt(start + i * step)), "range");
}

/** The entries of a dict or of pairs, then the named arguments. */
function entriesOf(name: string, { positional, named }: Call): [Value, Value][] {
  const [source] = bind(name, { positional, named: new Map() }, ["source"]);
  const given = source instanceof PyDict
    ? source.entries
    : source === undefined
    ? []
    : itemsOf(source).map((pair) => {
      const [key, value, ...others] = itemsOf(pair);
      if (key === undefined || value === undefined || others.length > 0) {
        throw new Error(`${name}() of ${described(pair)}, expected pairs`);
      }
      return [key, value];
    });
  return [...given, ...named] as [Value, Value][];
}

// `strftime_now` of transformers, with English names whatever the machine's language is.

const MONTHS = "January February March April May June July August September October November " +
  "December";
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday";

const WHOLE: Readonly<Record<string, string>> = { F: "%Y-%m-%d", T: "%H:%M:%S" };

/** Characters of a format. Each directive may become nine. */
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
  const written = format.replaceAll(/%([FT%])/g, (one, name) => WHOLE[name] ?? one);
  return written.replaceAll(/%(-?)([A-Za-z%])/g, (directive, minus, name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`strftime_now: ${directive} is not supported`);
    return minus === "" ? value : value.replace(/^[0 ]+(?=.)/, "");
  });
}

function valuesOf(time: Date): Readonly<Record<string, string>> {
  const digits = (number: number, length = 2) => String(number).padStart(length, "0");
  const month = MONTHS.split(" ")[time.getMonth()]!, day = DAYS.split(" ")[time.getDay()]!;
  const hour = time.getHours();
  return {
    Y: String(time.getFullYear()),
    y: digits(time.getFullYear() % 100),
    m: digits(time.getMonth() + 1),
    d: digits(time.getDate()),
    e: String(time.getDate()).padStart(2),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: digits(hour),
    I: digits((hour + 11) % 12 + 1),
    M: digits(time.getMinutes()),
    S: digits(time.getSeconds()),
    p: hour < 12 ? "AM" : "PM",
    Z: "",
    z: "",
    "%": "%",
  };
}
