/**
 * The tree of a configuration while foreign keys are translated into rgx's keys. It reads any key,
 * and sets only keys that the configuration does not set itself.
 */
import {
  type ConfigNode,
  emptyMap,
  isNull,
  type MapNode,
  nodeAt,
  type Problems,
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

  /** Sets a key of rgx to what `from` asks for, unless the key itself is written. */
  set(section: string, name: string, value: number | string | boolean, from: ConfigNode): void {
    const map = this.node(section);
    if (map !== undefined && map.kind !== "map") return;
    const there = map?.entries.get(name)?.node;
    if (there !== undefined && !isNull(there)) return;
    const node: ConfigNode = { kind: "scalar", value, at: from.at };
    const base: MapNode = map ?? emptyMap(from.at);
    this.tree = withEntry(this.tree, section, withEntry(base, name, node), base.at);
  }
}
