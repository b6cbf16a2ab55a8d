/**
 * The tree of a configuration while foreign keys are translated into rgx's keys. It reads any key,
 * and sets only keys that the configuration does not set itself.
 */
import {
  type ConfigNode,
  emptyMap,
  formatPosition,
  fromJson,
  isNull,
  type Json,
  type MapNode,
  nearness,
  nodeAt,
  type Problems,
  toJson,
  withEntry,
} from "../documents/node.ts";

export class Translation {
  constructor(public tree: MapNode, readonly problems: Problems) {}

  node(path: string): ConfigNode | undefined {
    return nodeAt(this.tree, path.split("."));
  }

  number(path: string): { value: number; node: ConfigNode } | null {
    const node = this.node(path);
    if (node?.kind !== "scalar" || typeof node.value !== "number") return null;
    return { value: node.value, node };
  }

  isTrue(path: string): boolean {
    const node = this.node(path);
    return node?.kind === "scalar" && node.value === true;
  }

  text(path: string): string | null {
    const node = this.node(path);
    return node?.kind === "scalar" && typeof node.value === "string" ? node.value : null;
  }

  /** The node of a key that has a value: undefined also for null. */
  given(path: string): ConfigNode | undefined {
    const node = this.node(path);
    return node === undefined || isNull(node) ? undefined : node;
  }

  /**
   * Sets a key of rgx to what `from` asks for. Where the key itself is written, the nearer of the
   * two wins; in one file they contradict each other.
   */
  set(section: string, name: string, value: Json, from: ConfigNode): void {
    const path = `${section}.${name}`, there = this.given(path);
    const order = there === undefined ? 1 : nearness(from, there);
    if (there === undefined || order > 0) return this.#put(section, name, value, from);
    if (JSON.stringify(toJson(there)) === JSON.stringify(value)) return;
    const key = from.foreign ?? path, other = there.foreign ?? path;
    if (order < 0 || from.at.source.isLast) {
      return this.problems.note(from.at, key, `${other} is written too, and wins`);
    }
    const where = formatPosition(there.at);
    this.problems.add(from.at, key, `${other} at ${where} says something else: give one of them`);
  }

  /** Sets a key of rgx that is not written, or only in what `from` overrides. */
  prefer(section: string, name: string, value: Json, from: ConfigNode): void {
    const there = this.given(`${section}.${name}`);
    if (there === undefined || nearness(from, there) > 0) this.#put(section, name, value, from);
  }

  /** Sets a key of rgx that is not written, as the other project has it where `from` is written. */
  fill(section: string, name: string, value: Json, from: ConfigNode): void {
    if (this.given(`${section}.${name}`) === undefined) this.#put(section, name, value, from);
  }

  /** Takes a key away, as if it were not written. */
  drop(section: string, name: string): void {
    const map = this.node(section);
    if (map?.kind !== "map") return;
    const entries = new Map(map.entries);
    entries.delete(name);
    this.tree = withEntry(this.tree, section, { ...map, entries });
  }

  /** Adds a problem at a key of another project. */
  refuse(at: ConfigNode, path: string, text: string): void {
    this.problems.add(at.at, at.foreign ?? path, text);
  }

  /** Adds a note at a key of another project. */
  note(at: ConfigNode, path: string, text: string): void {
    this.problems.note(at.at, at.foreign ?? path, text);
  }

  #put(section: string, name: string, value: Json, from: ConfigNode): void {
    const map = this.node(section);
    if (map !== undefined && map.kind !== "map" && !isNull(map)) return;
    const made = fromJson(value, from.at), { foreign } = from;
    const node = foreign === undefined ? made : { ...made, foreign };
    const base: MapNode = map?.kind === "map" ? map : emptyMap(from.at);
    this.tree = withEntry(this.tree, section, withEntry(base, name, node), base.at);
  }
}
