/**
 * Keys that belong to the value of another key: the revision of a model, and the configuration of
 * a data set. Where a file or the command line names another model, the revision that a base has
 * for its own model is left behind.
 */
import { asText, type MapNode, nodeAt, type Problems, withEntry } from "../documents/node.ts";

/** Section, the key that names, and the key that belongs to what it names. */
const OWNED = [
  ["model", "model_name_or_path", "model_revision"],
  ["data", "dataset_name", "dataset_config"],
] as const;

/**
 * The tree `after` a merge, without keys that belong to what was named `before` it. Each has a
 * note. A key that the merge brings stays.
 */
export function leaveBehind(before: MapNode, after: MapNode, problems: Problems): MapNode {
  for (const [section, name, owned] of OWNED) {
    const map = nodeAt(after, [section]), key = nodeAt(after, [section, owned]);
    const old = asText(nodeAt(before, [section, name]))?.value;
    const now = asText(nodeAt(after, [section, name]))?.value;
    if (map?.kind !== "map" || old === undefined || now === undefined || old === now) continue;
    if (key === undefined || key !== nodeAt(before, [section, owned])) continue;
    problems.note(key.at, key.foreign ?? owned, `is that of ${old}, and is left out for ${now}`);
    const entries = new Map(map.entries);
    entries.delete(owned);
    after = withEntry(after, section, { ...map, entries });
  }
  return after;
}
