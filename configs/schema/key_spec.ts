/** What the schema says about one key, and about the keys of one section. */
import type { ValueType } from "./value_types.ts";

/** The value must be written: there is no default. */
export const REQUIRED: unique symbol = Symbol("required");

export type Default<T> =
  | T
  | typeof REQUIRED
  | ((section: Readonly<Record<string, unknown>>) => T);

export interface KeySpec<T = unknown> {
  readonly type: ValueType<T>;
  /** A value, or one made from the keys of the section read before, or {@link REQUIRED}. */
  readonly default: Default<T>;
  readonly doc: string;
  /** Other full spellings. */
  readonly aliases: readonly string[];
}

/** The keys of one section. `flat`: a key's last part alone also names it. */
export interface Section<T> {
  readonly path: string;
  readonly flat: boolean;
  readonly keys: { readonly [K in keyof T]-?: KeySpec<T[K]> };
}

/** A section whose keys are known by name only. */
export interface AnySection {
  readonly path: string;
  readonly flat: boolean;
  readonly keys: Readonly<Record<string, KeySpec>>;
}

export function key<T>(
  type: ValueType<T>,
  defaultValue: Default<NoInfer<T>>,
  doc: string,
  aliases: readonly string[] = [],
): KeySpec<T> {
  return { type, default: defaultValue, doc, aliases };
}

/** All keys of a section at their defaults; a key without one is missing, whatever the type says. */
export function defaultsOf<T>(section: Section<T>): T {
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(section.keys as Record<string, KeySpec>)) {
    const fallback = spec.default;
    if (fallback === REQUIRED) continue;
    values[name] = typeof fallback === "function" ? fallback(values) : fallback;
  }
  return values as T;
}
