/**
 * The types of configuration values: what is expected, in words, and how a node of the tree becomes
 * a value or an error. Nothing is converted silently: the text "8" is not a number.
 */
import { didYouMean } from "../../core/suggest.ts";
import {
  type ConfigNode,
  describeNode,
  isNull,
  type Json,
  mistakeText,
  type Position,
  toJson,
} from "../documents/node.ts";
import { type TrackerName, TRACKERS } from "../../core/tracker_names.ts";

/** Called with what is wrong. `sub` is appended to the key (".0" for the first item of a list). */
export type Complain = (at: Position, text: string, sub?: string) => undefined;

export interface ValueType<T> {
  /** The words after "expected". */
  readonly expected: string;
  /** The TypeScript type of a value after reading, for the types of a package. */
  readonly ts: string;
  readonly nullable?: boolean;
  /** All values as text, if there are only a few. */
  readonly values?: readonly string[];
  /** The value, or undefined after `complain` was called. */
  read(node: ConfigNode, complain: Complain): T | undefined;
}

function mismatch(expected: string, node: ConfigNode, complain: Complain): undefined {
  return complain(node.at, `expected ${expected}, found ${describeNode(node)}`);
}

/** Complains of a part: of an item of a list, or an entry of a map. */
export function below(part: string | number, complain: Complain): Complain {
  return (at, text, sub = "") => complain(at, text, `.${part}${sub}`);
}

/** Complains with the words of a type in place of those of the type in it. */
function inWords(inner: string, outer: string, complain: Complain): Complain {
  return (at, text, sub) =>
    complain(at, text.replace(`expected ${inner}`, `expected ${outer}`), sub);
}

/** Bounds of a number: `min` and `max` are allowed values, `above` and `below` are not. */
export interface Range {
  min?: number;
  above?: number;
  max?: number;
  below?: number;
}

function rangeText(range: Range): string {
  const parts = [
    range.min !== undefined ? `≥ ${range.min}` : "",
    range.above !== undefined ? `> ${range.above}` : "",
    range.max !== undefined ? `≤ ${range.max}` : "",
    range.below !== undefined ? `< ${range.below}` : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : " " + parts.join(" and ");
}

function inRange(value: number, range: Range): boolean {
  return value >= (range.min ?? -Infinity) && value <= (range.max ?? Infinity) &&
    (range.above === undefined || value > range.above) &&
    (range.below === undefined || value < range.below);
}

function numberType(name: string, range: Range, accepts: (value: number) => boolean) {
  const expected = name + rangeText(range);
  return {
    expected,
    ts: "number",
    read(node: ConfigNode, complain: Complain): number | undefined {
      const value = node.kind === "scalar" ? node.value : undefined;
      if (typeof value === "number" && accepts(value) && inRange(value, range)) return value;
      const sweep = node.kind === "scalar" && node.raw?.includes(",")
        ? "; a run has one value, rgx sweep trains with several"
        : "";
      return complain(node.at, `expected ${expected}, found ${describeNode(node)}${sweep}`);
    },
  };
}

export function int(range: Range = {}): ValueType<number> {
  return numberType("an integer", range, Number.isSafeInteger);
}

export function float(range: Range = {}): ValueType<number> {
  return numberType("a number", range, Number.isFinite);
}

export function bool(): ValueType<boolean> {
  const expected = "true or false";
  return {
    expected,
    ts: "boolean",
    values: ["true", "false"],
    read(node, complain) {
      if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
      return mismatch(expected, node, complain);
    },
  };
}

/** true, false, or a value of another type. */
export function boolOr<T>(other: ValueType<T>): ValueType<boolean | T> {
  return {
    expected: `${other.expected}, true or false`,
    ts: `boolean | ${other.ts}`,
    read(node, complain) {
      if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
      return other.read(node, inWords(other.expected, this.expected, complain));
    },
  };
}

/** Text. A value that was typed on the command line is text even if it looks like a number. */
export function text(): ValueType<string> {
  const expected = "text";
  return {
    expected,
    ts: "string",
    read(node, complain) {
      if (node.kind === "scalar") {
        if (typeof node.value === "string") return node.value;
        if (node.raw !== undefined && node.raw !== "") return node.raw;
        if (node.value !== null) {
          return complain(node.at, `expected text, found ${describeNode(node)}; put it in quotes`);
        }
      }
      return mismatch(expected, node, complain);
    },
  };
}

/** A name: text that is not empty. */
export function name(): ValueType<string> {
  const type = text();
  return {
    expected: "a name",
    ts: "string",
    read(node, complain) {
      const value = type.read(node, complain);
      if (value === undefined || value.trim() !== "") return value;
      return complain(node.at, "expected a name, found empty text");
    },
  };
}

/**
 * One of `values`. `notYet` are values that other trainers have and rgx does not: the error says
 * so. `same` are other spellings of a value.
 */
export function choice<const T extends string>(
  values: readonly T[],
  options: { notYet?: readonly string[]; same?: readonly (readonly [Json, T])[] } = {},
): ValueType<T> {
  const expected = values.length === 1
    ? values[0]!
    : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
  return {
    expected,
    ts: values.map((value) => JSON.stringify(value)).join(" | "),
    values,
    read(node, complain) {
      if (node.kind !== "scalar") return mismatch(expected, node, complain);
      const { value } = node;
      const found = values.find((known) => known === value) ??
        options.same?.find(([spelling]) => spelling === value)?.[1];
      if (found !== undefined) return found;
      if (options.notYet?.includes(String(value))) {
        return complain(
          node.at,
          `${value} is not supported yet by this version, available: ${expected}`,
        );
      }
      const hint = typeof value === "string"
        ? didYouMean(value, [...values, ...options.notYet ?? []])
        : "";
      return complain(node.at, `expected ${expected}, found ${describeNode(node)}${hint}`);
    },
  };
}

export function nullable<T>(type: ValueType<T>): ValueType<T | null> {
  return {
    expected: `${type.expected} or null`,
    ts: `${type.ts} | null`,
    nullable: true,
    ...(type.values === undefined ? {} : { values: [...type.values, "null"] }),
    read(node, complain) {
      if (isNull(node)) return null;
      return type.read(node, inWords(type.expected, this.expected, complain));
    },
  };
}

/** A type of which null is another spelling of a value. */
export function nullAs<T>(value: T, type: ValueType<T>): ValueType<T> {
  const orNull = nullable(type);
  return {
    ...orNull,
    ts: type.ts,
    read: (node, complain) => isNull(node) ? value : orNull.read(node, complain) ?? undefined,
  };
}

export function listOf<T>(type: ValueType<T>, words: string): ValueType<T[]> {
  return {
    expected: words,
    ts: `${/^\w+$/.test(type.ts) ? type.ts : `(${type.ts})`}[]`,
    read(node, complain) {
      if (node.kind !== "list") return mismatch(words, node, complain);
      const values = node.items.map((item, i) => type.read(item, below(i, complain)));
      return values.includes(undefined) ? undefined : values as T[];
    },
  };
}

/** A list, or one value in place of a list with it. */
export function oneOrMore<T>(type: ValueType<T>, words: string): ValueType<T[]> {
  const list = listOf(type, words);
  return {
    ...list,
    read(node, complain) {
      if (node.kind === "list") return list.read(node, complain);
      const one = type.read(node, complain);
      return one === undefined ? undefined : [one];
    },
  };
}

/** A map of names to values of one type. null is an empty map. */
export function mapOf<T>(type: ValueType<T>, words: string): ValueType<Record<string, T>> {
  return {
    expected: words,
    ts: `Record<string, ${type.ts}>`,
    read(node, complain) {
      if (isNull(node)) return {};
      if (node.kind !== "map") return mismatch(words, node, complain);
      const values = [...node.entries]
        .map(([name, entry]) => [name, type.read(entry.node, below(name, complain))]);
      if (values.some(([, value]) => value === undefined)) return undefined;
      return Object.fromEntries(values);
    },
  };
}

/** A type whose values a function checks, which throws a mistake with what is wrong. */
export function checked<T>(type: ValueType<T>, check: (value: T) => unknown): ValueType<T> {
  return refine(type, (value) => {
    try {
      check(value);
      return null;
    } catch (error) {
      return mistakeText(error);
    }
  });
}

/** Any node. It is returned unchanged and read elsewhere. */
export function anything(expected: string): ValueType<unknown> {
  return { expected, ts: "unknown", read: (node) => node };
}

/** A map of names to anything. null is an empty map. */
export function freeMap(): ValueType<Record<string, unknown>> {
  return mapOf<unknown>({ expected: "", ts: "unknown", read: toJson }, "a map");
}

/** Either of two types: `list` reads lists, and `scalar` reads scalars. */
export function either<A, B>(
  scalar: ValueType<A>,
  list: ValueType<B>,
): ValueType<A | B> {
  const expected = `${list.expected}, or ${scalar.expected}`;
  return {
    expected,
    ts: `${list.ts} | ${scalar.ts}`,
    read(node, complain): A | B | undefined {
      if (node.kind === "list") return list.read(node, complain);
      if (node.kind === "map") return mismatch(expected, node, complain);
      return scalar.read(node, inWords(scalar.expected, expected, complain));
    },
  };
}

/** A type with a further rule. `rule` returns what is wrong, or null. */
export function refine<T>(type: ValueType<T>, rule: (value: T) => string | null): ValueType<T> {
  return {
    ...type,
    read(node, complain) {
      const value = type.read(node, complain);
      const wrong = value === undefined ? null : rule(value);
      if (wrong === null) return value;
      return complain(node.at, wrong);
    },
  };
}

/** A map with these keys, each with a type of its own. Keys that are not written are left out. */
export function fields<const K extends Readonly<Record<string, ValueType<unknown>>>>(
  known: K,
  words: string,
): ValueType<{ -readonly [N in keyof K]?: K[N] extends ValueType<infer T> ? T : never }> {
  const parts = Object.entries(known).map(([name, type]) => `${name}?: ${type.ts}`);
  return {
    expected: words,
    ts: `{ ${parts.join("; ")} }`,
    read(node, complain) {
      if (isNull(node)) return {};
      if (node.kind !== "map") return mismatch(words, node, complain);
      const values: Record<string, unknown> = {};
      for (const [name, entry] of node.entries) {
        if (!Object.hasOwn(known, name)) {
          const names = Object.keys(known);
          const hint = didYouMean(name, names) || `, known: ${names.join(", ")}`;
          complain(entry.keyAt, `unknown key${hint}`, `.${name}`);
        } else if (entry.node.kind !== "scalar" || entry.node.value !== null) {
          values[name] = known[name]!.read(entry.node, below(name, complain));
        }
      }
      return Object.values(values).includes(undefined) ? undefined : values as never;
    },
  };
}

/** Names that add no tracker, because metrics.jsonl and the terminal are always written. */
export const NO_TRACKER: readonly string[] = ["none", "jsonl", "console", "file"];

/** One name or a list: trackers, `all`, `none`, `jsonl`. */
export function trackers(): ValueType<TrackerName[]> {
  return {
    expected: `one or a list of none, ${TRACKERS.join(", ")}, jsonl, all`,
    ts: "TrackerName[]",
    read(node, complain) {
      const found = new Set<TrackerName>();
      let good = true;
      itemsOf(node).forEach((item, i) => {
        const names = namesOf(item, (at, text) => {
          good = false;
          complain(at, text, node.kind === "list" ? `.${i}` : "");
        });
        for (const name of names) found.add(name);
      });
      return good ? TRACKERS.filter((name) => found.has(name)) : undefined;
    },
  };
}

/**
 * The items of a list; null counts as an empty list. A text is one name or, as on TRL's command
 * line, several names with commas.
 */
export function itemsOf(node: ConfigNode): readonly ConfigNode[] {
  if (node.kind === "list") return node.items;
  if (isNull(node)) return [];
  if (node.kind !== "scalar" || typeof node.value !== "string") return [node];
  return node.value.split(",").map((name) => ({ kind: "scalar", value: name.trim(), at: node.at }));
}

function namesOf(item: ConfigNode, complain: Complain): readonly TrackerName[] {
  const value = toJson(item);
  if (value === "all") return TRACKERS;
  if (typeof value === "string" && NO_TRACKER.includes(value)) return [];
  const known = TRACKERS.find((name) => name === value);
  if (known !== undefined) return [known];
  const near = typeof value === "string"
    ? didYouMean(value, [...TRACKERS, ...NO_TRACKER, "all"])
    : "";
  complain(
    item.at,
    `expected ${trackers().expected}, found ${describeNode(item)}${near}`,
  );
  return [];
}
