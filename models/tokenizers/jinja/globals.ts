/** The functions that every chat template may call. */
import { PyDict } from "../../../tasks/python/literals.ts";
import { bind, NO_ARGUMENTS, takes, takesUnnamed, type Work } from "./call.ts";
import { formatTime } from "./time.ts";
import {
  type Call,
  Callable,
  described,
  dict,
  Instance,
  integer,
  itemsOf,
  Namespace,
  Range,
  str,
  text,
  type Value,
} from "./values.ts";

/** As in Jinja's sandbox. */
const MAX_RANGE = 100_000;

/** Characters of a template's own error. */
const MAX_MESSAGE = 1000;

/** @param count told how many numbers a `range` gives */
export function globals(count: (steps: number) => void): Map<string, Value> {
  const functions: Readonly<Record<string, Work<null>>> = {
    range: (_, given) => {
      const range = rangeOf(given);
      count(range.length);
      return range;
    },
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
    cycler: (_, { positional, named }, name) => {
      bind(name, { ...NO_ARGUMENTS, named }, []);
      if (positional.length === 0) throw new Error("cycler needs values");
      return new Cycler(positional);
    },
    joiner: takes("[sep]", (_, separator: Value = ", ") => joiner(separator)),
    lipsum: () => {
      throw new Error("lipsum is not supported: a prompt would differ from call to call");
    },
  };
  return new Map(
    Object.entries(functions).map(([name, work]) => [name, callable(name, null, work)]),
  );
}

/** A function that needs no value, or a method of one. */
function callable<Self>(name: string, self: Self, work: Work<Self>): Callable {
  return new Callable(name, (given) => work(self, given, name));
}

/** Python's `range(stop)`, `range(start, stop)` and `range(start, stop, step)`. */
function rangeOf(given: Call): Range {
  const numbers = bind("range", { ...given, named: new Map() }, ["start", "stop", "step"], 1)
    .flatMap((one) => one === undefined ? [] : [integer(one, "an argument of range")]);
  const [start, stop] = numbers.length > 1 ? [numbers[0]!, numbers[1]!] : [0, numbers[0]!];
  const step = numbers[2] ?? 1;
  if (step === 0) throw new Error("range() with a step of 0");
  const range = new Range(start, stop, step);
  if (!(range.length <= MAX_RANGE)) {
    throw new Error(`range() with ${range.length} numbers, of which ${MAX_RANGE} are allowed`);
  }
  return range;
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

// Jinja's `cycler(…)` and `joiner(…)`.

class Cycler extends Instance {
  override readonly kind = "Cycler";
  #at = 0;

  constructor(readonly items: readonly Value[]) {
    super();
  }

  override field(name: string): Value | undefined {
    if (name === "current") return this.items[this.#at];
    if (name === "pos") return BigInt(this.#at);
    if (name !== "next" && name !== "reset") return undefined;
    const turn = () => {
      const now = this.items[this.#at]!;
      this.#at = name === "next" ? (this.#at + 1) % this.items.length : 0;
      return name === "next" ? now : null;
    };
    return callable(name, null, takesUnnamed("", turn));
  }

  override shown(): string {
    throw new Error("a cycler cannot be printed, only what its next() gives");
  }
}

/** A function that gives nothing at its first call, and the separator at each other. */
function joiner(separator: Value): Value {
  let isUsed = false;
  const join = () => {
    const now = isUsed ? separator : "";
    isUsed = true;
    return now;
  };
  return callable("joiner", null, takesUnnamed("", join));
}
