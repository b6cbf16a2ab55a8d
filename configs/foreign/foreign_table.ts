/**
 * What rgx knows about the keys of one other project, as one table. Each project has a file of its
 * own in this folder; `foreign_keys.ts` puts the tables together.
 */
import type { ConfigNode, Json } from "../documents/node.ts";
import type { KeySpec } from "../types/key_spec.ts";

/** In every list a key is a full spelling: `num_epochs` or `training.num_epochs`. */
export interface ForeignTable {
  /** Spellings of keys that rgx obeys → rgx's canonical key. */
  readonly obeyed: Readonly<Record<string, string>>;
  /** Of these: spellings whose values are written in other words than rgx's. */
  readonly values: Readonly<Record<string, ValueRule>>;
  /**
   * Keys that rgx obeys by setting several keys, or depending on others. They are checked like
   * rgx's keys, then `translate_foreign_keys.ts` turns them into rgx's keys.
   */
  readonly translated: Readonly<Record<string, KeySpec>>;
  /**
   * Keys that steer another engine and change no result here → why. Each is accepted with a note,
   * which ends with the reason ("" = nothing to add).
   */
  readonly withoutEffect: Readonly<Record<string, string>>;
  /**
   * Keys that act only together with another one, which is refused or which GRPO does not have →
   * that one. They are taken in silence, since they do nothing in their own project either.
   */
  readonly dormant?: Readonly<Record<string, string>>;
  /** Keys that would change results: accepted at a neutral value, otherwise refused by name. */
  readonly refused: Readonly<Record<string, RefusedKey>>;
}

/** Turns a written value into the value of rgx's key, or says what is wrong with it. */
export type ValueRule = (node: ConfigNode) => ConfigNode | string;

export interface RefusedKey {
  /** Values that change nothing. They are accepted silently. null is always one of them. */
  readonly neutral: readonly Json[];
  /** Further values that are accepted, with a note; null = none. */
  readonly noted: ((value: Json) => boolean) | null;
  /** The end of the refusal: how to say it in rgx, or why rgx does not do it. */
  readonly advice: string;
}

/** A key that is accepted at the neutral values only. */
export function refused(advice: string, ...neutral: Json[]): RefusedKey {
  return { neutral, noted: null, advice };
}

/** A key that is accepted silently at `neutral`, and with a note at one of `others`. */
export function noted(advice: string, neutral: Json, ...others: Json[]): RefusedKey {
  return { neutral: [neutral], noted: (value) => others.includes(value), advice };
}

/** The rule of keys of which no value is refused. */
export const anyValue = (): boolean => true;

/** A key without effect: accepted silently at the neutral values, and with a note at all others. */
export function steersElsewhere(advice: string, ...neutral: Json[]): RefusedKey {
  return { neutral, noted: anyValue, advice };
}

/** The keys as they can be written at the top of a file, and inside `section`. */
export function flatAndIn<T>(section: string, keys: Readonly<Record<string, T>>) {
  return { ...keys, ...insideOf([section], keys) };
}

/** The keys inside each of `sections`. */
export function insideOf<T>(
  sections: readonly string[],
  keys: Readonly<Record<string, T>>,
): Record<string, T> {
  return Object.fromEntries(
    sections.flatMap((section) =>
      Object.entries(keys).map(([name, value]) => [`${section}.${name}`, value])
    ),
  );
}

/** All spellings → the same canonical key. */
export function allMean(canonical: string, ...spellings: string[]): Record<string, string> {
  return Object.fromEntries(spellings.map((spelling) => [spelling, canonical]));
}

/** A list of names, separated by white space, all with the same value. */
export function each<T>(names: string, value: T): Record<string, T> {
  return Object.fromEntries(names.trim().split(/\s+/).map((name) => [name, value]));
}

/** Checks that a number is a ratio: rgx would read 1 and more as whole steps. */
export function ratio(node: ConfigNode): ConfigNode | string {
  if (node.kind !== "scalar" || typeof node.value !== "number" || node.value < 1) return node;
  return `expected a ratio < 1, found ${node.value}`;
}
