/** How the schema describes one key and one section of keys. */
import type { ValueType } from "./value_types.ts";

/** In the place of a default: the key has none and must be written. */
export const REQUIRED: unique symbol = Symbol("required");

export type Default<T> =
  | T
  | typeof REQUIRED
  | ((section: Readonly<Record<string, unknown>>) => T);

export interface KeySpec<T = unknown> {
  readonly type: ValueType<T>;
  /**
   * A value, a function of the section's keys that were read before this one, or {@link REQUIRED}.
   */
  readonly default: Default<T>;
  /** Its meaning, for docs/configuration.md. */
  readonly doc: string;
  /** Other full spellings of the key. Those of other trainers are in `configs/foreign/`. */
  readonly aliases: readonly string[];
}

/** The keys of one section. */
export interface Section<K extends Keys = Keys> {
  readonly path: string;
  /** Whether a key may also be written at the top of a file, by its last part alone. */
  readonly flat: boolean;
  readonly keys: K;
}

export type Keys = Readonly<Record<string, KeySpec>>;

/** A section where the types of the values do not matter. */
export type AnySection = Section;

/** The values of keys, as they are after reading. */
export type Values<K> = {
  -readonly [N in keyof K]: K[N] extends { readonly type: ValueType<infer T> } ? T : never;
};

export function key<T>(
  type: ValueType<T>,
  defaultValue: Default<NoInfer<T>>,
  doc: string,
  aliases: readonly string[] = [],
): KeySpec<T> {
  return { type, default: defaultValue, doc, aliases };
}

/** All keys of a section at their defaults. A required key is missing, although the type has it. */
export function defaultsOf<K extends Keys>(section: Section<K>): Values<K> {
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(section.keys)) {
    const fallback = spec.default;
    if (fallback === REQUIRED) continue;
    values[name] = typeof fallback === "function" ? fallback(values) : fallback;
  }
  return values as Values<K>;
}
