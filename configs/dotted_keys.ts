/**
 * The configuration as a flat list of dotted keys (`training.learning_rate`): their values, their
 * origins, which of them contain secrets, and the table that `rgx config show` prints.
 */
import {
  type ConfigNode,
  DEFAULTS,
  formatPosition,
  type Json,
  type MapNode,
  mapScalars,
  nodeAt,
} from "./documents/node.ts";
import type { RunConfig } from "./schema/run_config.ts";
import { asDocument, rememberSecret } from "./to_yaml.ts";
import { stringify } from "yaml";

/** Dotted key → text before interpolation, for every value that contains a secret. */
export function collectSecrets(tree: ConfigNode): Map<string, string> {
  const secrets = new Map<string, string>();
  mapScalars(tree, (scalar, key) => {
    if (scalar.secret === undefined) return scalar;
    rememberSecret(String(scalar.value), scalar.secret);
    secrets.set(key, scalar.secret);
    return scalar;
  });
  return secrets;
}

/**
 * Every key with its value. Sections and rewards are split into their fields; other lists stay
 * whole.
 */
export function leaves(config: RunConfig): [key: string, value: Json][] {
  const found: [string, Json][] = [];
  const walk = (value: Json, key: string) => {
    const children = key === "rewards" && Array.isArray(value) ||
        (typeof value === "object" && value !== null && !Array.isArray(value))
      ? Object.entries(value as Record<string, Json>)
      : [];
    if (children.length === 0) found.push([key, value]);
    for (const [name, child] of children) walk(child, key === "" ? name : `${key}.${name}`);
  };
  walk(asDocument(config), "");
  return found;
}

/**
 * The origin of every value: `file:line`, `command line`, `RGX_…` or `default`; after it the key
 * that was written, where it is one of another project.
 */
export function collectOrigins(config: RunConfig, tree: MapNode): Map<string, string> {
  return new Map(leaves(config).map(([key]) => [key, origin(key, tree)]));
}

/** The paths at which the value of a key can stand. The first path that exists counts. */
function placesOf(key: string): string[] {
  const [section, index, field] = key.split(".");
  if (section === "rewards" && index !== undefined) {
    if (field === "weight") return [`training.reward_weights.${index}`, key];
    // A reward can be written as only its name, and a single reward without a list.
    if (field === "name") return [key, `rewards.${index}`, "rewards"];
  }
  return key === "training.max_prompt_length" ? [key, "model.max_seq_length"] : [key];
}

function origin(key: string, tree: MapNode): string {
  for (const place of placesOf(key)) {
    const path = place.split("."), node = nodeAt(tree, path);
    if (node === undefined) continue;
    const { at } = node, foreign = foreignKey(node, path, tree);
    const shown = at.line === 0 ? at.source.name : formatPosition(at).replace(/:\d+$/, "");
    return foreign === undefined ? shown : `${shown} (${foreign})`;
  }
  return DEFAULTS.name;
}

/**
 * The key of another project that the user wrote for a node, or for the map or list that contained
 * the node. A value that another source has set later does not come from that key.
 */
function foreignKey(node: ConfigNode, path: readonly string[], tree: MapNode): string | undefined {
  for (let length = path.length; length > 0; length--) {
    const above = nodeAt(tree, path.slice(0, length));
    if (above?.foreign === undefined) continue;
    return above.at.source === node.at.source ? above.foreign : undefined;
  }
  return undefined;
}

/** Lines `key: value   # file:line`. The comments are aligned, except after very long lines. */
export function renderOrigins(
  { config, origins, secrets }: {
    config: RunConfig;
    origins: ReadonlyMap<string, string>;
    secrets: ReadonlyMap<string, string>;
  },
): string {
  const rows = leaves(config).map(([key, value]) => {
    const shown = secrets.get(key) ?? value;
    return [`${key}: ${oneLine(shown)}`, origins.get(key) ?? "default"] as const;
  });
  const width = Math.min(60, Math.max(...rows.map(([text]) => text.length)));
  return rows.map(([text, origin]) => `${text.padEnd(width)}   # ${origin}`).join("\n");
}

function oneLine(value: Json): string {
  if (typeof value === "string" && /[\n\r]/.test(value)) return JSON.stringify(value);
  return stringify(value, { lineWidth: 0, collectionStyle: "flow" }).trim();
}
