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
