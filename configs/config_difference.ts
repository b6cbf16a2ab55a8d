/**
 * The keys in which two configurations differ: for the warning of a run that resumes with another
 * one, and for the dashboard.
 */
import { parse } from "yaml";

const MAX_SHOWN = 6;

/**
 * Dotted keys, in the order of the newer text; an ellipsis replaces those beyond the maximum. Keys
 * of section `slurm` are left out, because a run does not depend on them.
 */
export function changedKeys(older: string, newer: string): string[] {
  const keys = compareConfigs(older, newer).filter(({ before, after }) => before !== after)
    .map(({ key }) => key).filter((key) => !/^slurm(\.|$)/.test(key));
  return keys.length <= MAX_SHOWN ? keys : [...keys.slice(0, MAX_SHOWN), "…"];
}

/**
 * All keys of two configurations with their values as JSON, in the order of the newer text; null:
 * the key is not there.
 * @throws YAMLParseError when a text is no YAML
 */
export function compareConfigs(
  older: string,
  newer: string,
): { key: string; before: string | null; after: string | null }[] {
  const before = leaves(parse(older)), after = leaves(parse(newer));
  const keys = [...after.keys(), ...[...before.keys()].filter((key) => !after.has(key))];
  return keys.map((key) => ({
    key,
    before: before.get(key) ?? null,
    after: after.get(key) ?? null,
  }));
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
