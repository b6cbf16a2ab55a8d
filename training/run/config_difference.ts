/**
 * The keys in which two configurations differ, for the warning of a run that resumes with another
 * one.
 */
import { parse } from "yaml";

/** Maximum number of keys that are named. */
const MAX_SHOWN = 6;

/** Dotted keys, in the order of the newer text; an ellipsis replaces those beyond the maximum. */
export function changedKeys(older: string, newer: string): string[] {
  const before = leaves(parse(older)), after = leaves(parse(newer));
  const keys = [...after.keys(), ...[...before.keys()].filter((key) => !after.has(key))]
    .filter((key) => before.get(key) !== after.get(key));
  return keys.length <= MAX_SHOWN ? keys : [...keys.slice(0, MAX_SHOWN), "…"];
}

/** Dotted key → value as JSON; lists are values. */
function leaves(value: unknown, path = "", into = new Map<string, string>()): Map<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return into.set(path, JSON.stringify(value));
  }
  for (const [name, inner] of Object.entries(value)) {
    leaves(inner, path === "" ? name : `${path}.${name}`, into);
  }
  return into;
}
