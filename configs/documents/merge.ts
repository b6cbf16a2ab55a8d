/**
 * Merges canonical trees. Maps are merged key by key; any other value is replaced. The result
 * depends only on the order of the trees, not on how they are grouped, so bases that have bases
 * themselves need no special care.
 */
import type { ConfigNode, MapEntry, MapNode } from "./node.ts";

/** `over` on top of `under`. A map that is marked `replace` (`_delete_: true`) inherits nothing. */
function mergeNodes(under: ConfigNode, over: ConfigNode): ConfigNode {
  if (over.kind !== "map" || over.replace) return over;
  // A map that replaces a value also hides what is below that value in further bases.
  if (under.kind !== "map") return { ...over, replace: true };
  return mergeMaps(under, over);
}

export function mergeMaps(under: MapNode, over: MapNode): MapNode {
  if (over.replace) return over;
  const entries = new Map<string, MapEntry>(under.entries);
  for (const [name, entry] of over.entries) {
    const inherited = entries.get(name);
    const node = inherited === undefined ? entry.node : mergeNodes(inherited.node, entry.node);
    entries.set(name, { ...entry, node });
  }
  const { foreign = under.foreign } = over;
  return {
    ...over,
    entries,
    ...(foreign === undefined ? {} : { foreign }),
    ...(under.replace ? { replace: true } : {}),
  };
}
