/** How a user names a model of a benchmark: `PLACE`, or `NAME=PLACE` with a name of their own. */
import { statSync } from "node:fs";

export const REMOTE_PREFIX = "openai:";

export interface NamedModel {
  /** The name of the model in tables, charts and files. */
  name: string;
  /** A folder, a name on the Hub, or `openai:NAME`. */
  place: string;
}

/** A file or folder whose own name contains `=` is taken as the place. */
export function namedModel(text: string): NamedModel {
  const [, name, place] = /^(?!openai:)([^=/]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || place === undefined || isThere(text)) {
    return { name: text, place: text };
  }
  return { name, place };
}

export function isRemoteName(text: string): boolean {
  return namedModel(text).place.startsWith(REMOTE_PREFIX);
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
