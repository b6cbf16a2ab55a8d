/**
 * OmegaConf's relative keys: `${.a}` is a key beside the one that holds the text, `${..a}` one of
 * the section around. They are made absolute while the key is still where it was written.
 */
import type { ConfigNode } from "../documents/node.ts";

const RELATIVE = /(\$\{\s*(?:oc\.select:\s*)?)(\.+)(?=[\w-])/g;

/** The node of the key `written`, with absolute keys in its texts. */
export function absolute(node: ConfigNode, written: string): ConfigNode {
  if (node.kind === "list") {
    return { ...node, items: node.items.map((item, i) => absolute(item, `${written}.${i}`)) };
  }
  if (node.kind === "map") {
    const entries = [...node.entries].map(([name, entry]) =>
      [name, { ...entry, node: absolute(entry.node, `${written}.${name}`) }] as const
    );
    return { ...node, entries: new Map(entries) };
  }
  if (typeof node.value !== "string" || !node.value.includes("${")) return node;
  const value = node.value.replace(RELATIVE, (_, begin: string, dots: string) => {
    const around = written.split(".").slice(0, -dots.length);
    return begin + around.map((part) => `${part}.`).join("");
  });
  return { ...node, value };
}
