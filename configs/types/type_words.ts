/**
 * Types of values in words, as the tables of keys have them, those of rgx and those of other
 * projects:
 *
 *     bool   name   text   map                 as in value_types.ts
 *     int>=1   number>0<=1                     with bounds
 *     one sgd|adam not lion same adamw=adam    a choice, what is not there yet, other spellings
 *     any a list of files                      any value, which is read elsewhere
 *     int?                                     or null
 */
import type { Json } from "../documents/node.ts";
import {
  anything,
  bool,
  choice,
  float,
  freeMap,
  int,
  name,
  nullable,
  type Range,
  text,
  type ValueType,
} from "./value_types.ts";

/** Types that a table names by words of its own. */
export type NamedTypes = Readonly<Record<string, ValueType<unknown>>>;

/** The values of a type in words. */
export type ReadAs<S extends string, N> = S extends `${infer T}?` ? ReadAs<T, N> | null
  : S extends keyof N ? N[S] extends ValueType<infer T> ? T : never
  : S extends "bool" ? boolean
  : S extends "name" | "text" ? string
  : S extends "map" ? Record<string, unknown>
  : S extends `int${string}` | `number${string}` ? number
  : S extends `one ${infer List}` ? OneOf<List>
  : unknown;

type OneOf<S extends string> = S extends `${infer List} not ${string}` ? Parts<List>
  : S extends `${infer List} same ${string}` ? Parts<List>
  : Parts<S>;

type Parts<S extends string> = S extends `${infer First}|${infer More}` ? First | Parts<More> : S;

export function typeOf(words: string, named: NamedTypes = {}): ValueType<unknown> {
  if (words.endsWith("?")) return nullable<unknown>(typeOf(words.slice(0, -1), named));
  if (named[words] !== undefined) return named[words];
  const [kind, rest] = [/^\w+/.exec(words)![0], words.replace(/^\w+ ?/, "")];
  if (kind === "int") return int(rangeOf(rest));
  if (kind === "number") return float(rangeOf(rest));
  if (kind === "any") return anything(rest);
  if (kind === "one") return choiceOf(rest);
  return ({ bool, name, text, map: freeMap } as Record<string, () => ValueType<unknown>>)[kind]!();
}

function choiceOf(words: string): ValueType<string> {
  const [known, ...more] = words.split(/ (?=not |same )/) as [string, ...string[]];
  const list = (word: string) =>
    more.find((part) => part.startsWith(word))?.slice(word.length).split("|") ?? [];
  const same = list("same ").map((pair): [Json, string] => {
    const [spelling, value] = pair.split("=") as [string, string];
    return [/^(true|false)$/.test(spelling) ? spelling === "true" : spelling, value];
  });
  return choice(known.split("|"), { notYet: list("not "), same });
}

/** `>=1<=65535` */
export function rangeOf(text: string): Range {
  const names = { ">=": "min", ">": "above", "<=": "max", "<": "below" } as const;
  return Object.fromEntries(
    [...text.matchAll(/([<>]=?)(-?[\d.]+)/g)].map((
      [, sign, value],
    ) => [names[sign as keyof typeof names], Number(value)]),
  );
}
