/** What the readers of all components of a `tokenizer.json` share. */

/** An object of a JSON file, before its values have been checked. */
export type Json = Readonly<Record<string, unknown>>;

/** A component that is known but not implemented. The message names it. */
export class NotSupported extends Error {}

/** A part of the file that contradicts another part, or lacks what it must have. */
export class Damaged extends Error {}

/** The value as an object whose fields can be looked up. Other kinds of values have no fields. */
export function fieldsOf(value: unknown): Json {
  return Object(value) as Json;
}

/** How the components of one place in a `tokenizer.json` are made. */
export interface Makers<T> {
  /** By type. */
  readonly kinds: Readonly<Record<string, (part: Json) => T>>;
  /** Where the parts of a Sequence are, and what one of them is called in messages. */
  readonly key: string;
  readonly name: string;
  /** One of the parts of a Sequence. */
  inTurn(parts: readonly T[]): T;
}

/**
 * A component of a `tokenizer.json`; null where there is none.
 * @throws NotSupported for another kind, Error for one that is not as it should be
 */
export function componentOf<T>(json: unknown, makers: Makers<T>): T | null {
  if (json === null || json === undefined) return null;
  const part = fieldsOf(json), { kinds, key, name } = makers, { type } = part;
  if (type === "Sequence") {
    const parts = part[key];
    if (!Array.isArray(parts)) throw new Error(`a Sequence of ${name}s without any`);
    return makers.inTurn(
      parts.map((one) => componentOf(one, makers)).filter((one) => one !== null),
    );
  }
  if (typeof type !== "string" || !Object.hasOwn(kinds, type)) {
    throw new NotSupported(`the ${name} ${JSON.stringify(type)}`);
  }
  return kinds[type]!(part);
}
