/**
 * What the import graph says about a folder: its entries (files and folders directly in it) and the
 * arrows between them. In every folder the entries must form a graph without circles.
 */
import type { ImportGraph } from "./imports.ts";

/** Entries of a folder by name, each with the entries that it imports. */
export type EntryGraph = ReadonlyMap<string, ReadonlySet<string>>;

/** The entries of a folder; "" is the root of the project. */
export function entriesOf(graph: ImportGraph, folder: string): EntryGraph {
  const prefix = folder === "" ? "" : `${folder}/`;
  const entry = (path: string) => path.slice(prefix.length).split("/")[0]!;
  const entries = new Map<string, Set<string>>();
  for (const [path, targets] of graph) {
    if (!path.startsWith(prefix)) continue;
    const from = entry(path);
    const arrows = entries.get(from) ?? new Set<string>();
    entries.set(from, arrows);
    for (const target of targets) {
      if (target.startsWith(prefix) && graph.has(target) && entry(target) !== from) {
        arrows.add(entry(target));
      }
    }
  }
  return entries;
}

/** All folders that hold sources, the root first. */
export function foldersOf(graph: ImportGraph): string[] {
  const folders = new Set([""]);
  for (const path of graph.keys()) {
    const parts = path.split("/");
    for (let n = 1; n < parts.length; n++) folders.add(parts.slice(0, n).join("/"));
  }
  return [...folders].sort();
}

/** A circle among the entries, as its names in order with the first repeated; null where there is none. */
export function circleIn(entries: EntryGraph): string[] | null {
  const done = new Set<string>(), open: string[] = [];
  const visit = (name: string): string[] | null => {
    if (done.has(name)) return null;
    const at = open.indexOf(name);
    if (at >= 0) return [...open.slice(at), name];
    open.push(name);
    for (const next of entries.get(name) ?? []) {
      const circle = visit(next);
      if (circle !== null) return circle;
    }
    open.pop();
    done.add(name);
    return null;
  };
  for (const name of entries.keys()) {
    const circle = visit(name);
    if (circle !== null) return circle;
  }
  return null;
}

/** The same graph without arrows that follow from others: a → c where a → b → c. */
export function reduced(entries: EntryGraph): Map<string, Set<string>> {
  const reach = new Map<string, Set<string>>();
  const reachOf = (name: string): Set<string> => {
    const known = reach.get(name);
    if (known !== undefined) return known;
    const found = new Set<string>();
    for (const next of entries.get(name) ?? []) {
      found.add(next);
      for (const further of reachOf(next)) found.add(further);
    }
    reach.set(name, found);
    return found;
  };
  return new Map([...entries].map(([name, targets]) => {
    const kept = [...targets].filter((target) =>
      ![...targets].some((other) => other !== target && reachOf(other).has(target))
    );
    return [name, new Set(kept)];
  }));
}
