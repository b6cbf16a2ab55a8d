/**
 * Imports between the entries of a folder. Entries are the files and the folders directly in it. A
 * folder imports another entry if one of the files below it does. In every folder this graph must
 * have no circle.
 */
import type { ImportGraph } from "./imports.ts";

/** For each entry of a folder, by name, the other entries that it imports. */
export type EntryGraph = ReadonlyMap<string, ReadonlySet<string>>;

/** The graph of the entries of a folder. The folder "" is the root of the project. */
export function entriesOf(graph: ImportGraph, folder: string): EntryGraph {
  const prefix = folder === "" ? "" : `${folder}/`;
  const entryOf = (path: string) => path.slice(prefix.length).split("/")[0]!;
  const entries = new Map<string, Set<string>>();
  for (const [path, targets] of graph) {
    if (!path.startsWith(prefix)) continue;
    const from = entryOf(path);
    const imported = entries.get(from) ?? new Set<string>();
    entries.set(from, imported);
    for (const target of targets) {
      if (target.startsWith(prefix) && graph.has(target) && entryOf(target) !== from) {
        imported.add(entryOf(target));
      }
    }
  }
  return entries;
}

/** All folders with sources below them. The root is the first. */
export function foldersOf(graph: ImportGraph): string[] {
  const folders = new Set([""]);
  for (const path of graph.keys()) {
    const parts = path.split("/");
    for (let n = 1; n < parts.length; n++) folders.add(parts.slice(0, n).join("/"));
  }
  return [...folders].sort();
}

/** One circle of imports, such as ["a", "b", "a"]; null if there is none. */
export function circleIn(entries: EntryGraph): string[] | null {
  const done = new Set<string>();
  /** The entries on the way from the start of the search to the visited one. */
  const trail: string[] = [];
  const visit = (name: string): string[] | null => {
    if (done.has(name)) return null;
    const at = trail.indexOf(name);
    if (at >= 0) return [...trail.slice(at), name];
    trail.push(name);
    for (const next of entries.get(name) ?? []) {
      const circle = visit(next);
      if (circle !== null) return circle;
    }
    trail.pop();
    done.add(name);
    return null;
  };
  for (const name of entries.keys()) {
    const circle = visit(name);
    if (circle !== null) return circle;
  }
  return null;
}

/**
 * The transitive reduction: the graph without imports a → c where a also reaches c through other
 * entries. It must have no circle.
 */
export function reduced(entries: EntryGraph): Map<string, Set<string>> {
  const reached = new Map<string, Set<string>>();
  const reachedFrom = (name: string): Set<string> => {
    const known = reached.get(name);
    if (known !== undefined) return known;
    const found = new Set<string>();
    for (const next of entries.get(name) ?? []) {
      found.add(next);
      for (const further of reachedFrom(next)) found.add(further);
    }
    reached.set(name, found);
    return found;
  };
  return new Map([...entries].map(([name, targets]) => {
    const kept = [...targets].filter((target) =>
      ![...targets].some((other) => other !== target && reachedFrom(other).has(target))
    );
    return [name, new Set(kept)];
  }));
}
