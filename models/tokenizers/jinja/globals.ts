/** The functions that every chat template may call. */
import { PyDict } from "../../../tasks/python/literals.ts";
import { bind, bindUnnamed } from "./call.ts";
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
  const functions: Readonly<Record<string, (given: Call) => Value>> = {
    range: (given) => {
      const range = rangeOf(given);
      count(range.length);
      return range;
    },
    dict: (given) => dict(entriesOf("dict", given)),
    namespace: (given) =>
      new Namespace(
        entriesOf("namespace", given).map(([name, value]) =>
          [text(name, "a name of a namespace"), value] as const
        ),
      ),
    raise_exception: (given) => {
      throw new Error(
        str(bind("raise_exception", given, ["message"], 1)[0]!).slice(0, MAX_MESSAGE),
      );
    },
    strftime_now: (given) =>
      formatTime(new Date(), text(bind("strftime_now", given, ["format"], 1)[0]!, "format")),
    cycler,
    joiner,
    lipsum: () => {
      throw new Error("lipsum is not supported: a prompt would differ from call to call");
    },
  };
  return new Map(
    Object.entries(functions).map(([name, call]) => [name, new Callable(name, call)]),
  );
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
    return new Callable(name, (given) => {
      bindUnnamed(name, given, []);
      const now = this.items[this.#at]!;
      this.#at = name === "next" ? (this.#at + 1) % this.items.length : 0;
      return name === "next" ? now : null;
    });
  }

  override shown(): string {
    throw new Error("a cycler cannot be printed, only what its next() gives");
  }
}

function cycler(given: Call): Value {
  bind("cycler", { ...given, positional: [] }, []);
  if (given.positional.length === 0) throw new Error("cycler needs values");
  return new Cycler(given.positional);
}

/** A function that gives nothing at its first call, and the separator at each other. */
function joiner(given: Call): Value {
  const [separator = ", "] = bind("joiner", given, ["sep"]);
  let isUsed = false;
  return new Callable("joiner", (inner) => {
    bindUnnamed("joiner", inner, []);
    const now = isUsed ? separator : "";
    isUsed = true;
    return now;
  });
}
