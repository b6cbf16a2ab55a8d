/**
 * Merging of canonical trees: maps key by key, everything else replaces. The result depends only on the
 * order of the trees, not on how they are grouped, so bases of bases need no special care.
 */
import type { ConfigNode, MapEntry, MapNode } from "./node.ts";

/** `over` on top of `under`. A map marked `replace` (`_delete_: true`) drops what it would inherit. */
function mergeNodes(under: ConfigNode, over: ConfigNode): ConfigNode {
  if (over.kind !== "map" || over.replace) return over;
  // A map over a value hides what lies below that value too.
  if (under.kind !== "map") return { ...over, replace: true };
  return mergeMaps(under, over);
}

export function mergeMaps(under: MapNode, over: MapNode): MapNode {
  if (over.replace) return over;
  const entries = new Map<string, MapEntry>(under.entries);
  for (const [name, entry] of over.entries) {
    const inherited = entries.get(name);
    const node = inherited === undefined ? entry.node : mergeNodes(inherited.node, entry.node);
    entries.set(name, { keyAt: entry.keyAt, node });
  }
  return { ...over, entries, ...(under.replace ? { replace: true } : {}) };
}
