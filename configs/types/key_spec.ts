/**
 * How the schema describes one key and one section of keys. A key is a line of text, its type, its
 * default and its meaning, and perhaps other full spellings of it:
 *
 *     beta: "number>=0 = 0 -- KL coefficient; 0: no reference model"
 *     lora_dropout: "number>=0<1 = 0 -- share of its input that is dropped [lora.dropout]"
 *
 * The default is JSON or a bare word, `required` where there is none. The words of types are in
 * `type_words.ts`. A line goes on in the next one.
 */
import type { ValueType } from "./value_types.ts";
import { type NamedTypes, type ReadAs, typeOf } from "./type_words.ts";

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
  /** The meaning of the key, for docs/configuration.md. */
  readonly doc: string;
  /** Other full spellings of the key. Those of other trainers are in `configs/foreign/`. */
  readonly aliases: readonly string[];
}

export interface Section<K extends Keys = Keys> {
  readonly path: string;
  /** What it says, for the types of a package. */
  readonly about?: string;
  /** Whether a key may also be written at the top of a file, by its last part alone. */
  readonly flat?: boolean;
  /** Whether it may be null: the run then does without what the section describes. */
  readonly isOptional?: true;
  /** Whether an optional section that is written is not switched off. */
  isOn?(values: Values<K>): boolean;
  readonly keys: K;
  /** The sections in it, by their names. */
  readonly parts?: SectionParts;
}

/** Null: what stands in this place and is no section. */
export type SectionParts = Readonly<Record<string, Section | null>>;

export type Keys = Readonly<Record<string, KeySpec>>;

export type Values<K> = {
  -readonly [N in keyof K]: K[N] extends { readonly type: ValueType<infer T> } ? T : never;
};

/** The values of sections by their names. An optional section that is off is null. */
export type PartValues<P> = {
  -readonly [N in keyof P as P[N] extends null ? never : N]:
    | SectionValues<P[N]>
    | (P[N] extends { isOptional: true } ? null : never);
};

/** The values of a section and of those in it. */
export type SectionValues<S> =
  & (S extends { keys: infer K } ? Values<K> : unknown)
  & (S extends { parts: infer P } ? PartValues<P> : unknown);

export function key<T>(
  type: ValueType<T>,
  defaultValue: Default<NoInfer<T>>,
  doc: string,
  aliases: readonly string[] = [],
): KeySpec<T> {
  return { type, default: defaultValue, doc, aliases };
}

type Declared<S, N> = S extends `${infer T} = ${string}` ? KeySpec<ReadAs<T, N>> : S;

/**
 * The keys of these lines.
 * @param named types that the lines name, besides those of `type_words.ts`
 */
export function keys<
  const N extends NamedTypes,
  const K extends Readonly<Record<string, string | KeySpec>>,
>(named: N, lines: K): { readonly [P in keyof K]: Declared<K[P], N> } {
  const declared = Object.entries(lines).map(([name, line]) => {
    if (typeof line !== "string") return [name, line];
    const [, type, value, doc, aliases] = /^(.*?) = (.*?) -- (.*?)(?: \[([\w., ]+)\])?$/.exec(
      line.replace(/\s*\n\s*/g, " "),
    )!;
    const spellings = aliases === undefined ? [] : aliases.split(", ");
    return [name, key(typeOf(type!, named), defaultOf(value!), doc!, spellings)];
  });
  return Object.fromEntries(declared);
}

function defaultOf(text: string): Default<unknown> {
  if (text === "required") return REQUIRED;
  // Each configuration gets a list or a map of its own.
  if (/^[[{]/.test(text)) return () => JSON.parse(text);
  return /^(null|true|false|"|-?\d[\d.e-]*$)/.test(text) ? JSON.parse(text) : text;
}

/**
 * All keys of a section at their defaults. Required keys are missing, although the type has them.
 */
export function defaultsOf<K extends Keys>(section: Section<K>): Values<K> {
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(section.keys)) {
    const fallback = spec.default;
    if (fallback === REQUIRED) continue;
    values[name] = typeof fallback === "function" ? fallback(values) : fallback;
  }
  return values as Values<K>;
}
