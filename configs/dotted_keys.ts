/**
 * The configuration as a flat list of dotted keys (`training.learning_rate`): their values, their
 * origins, and which of them contain secrets.
 */
import {
  type ConfigNode,
  DEFAULTS,
  formatPosition,
  type Json,
  type MapNode,
  nodeAt,
  nowhere,
  type Position,
} from "./documents/node.ts";
import type { RunConfig } from "./schema/run_config.ts";
import { asDocument } from "./to_yaml.ts";

/** Dotted key → text before interpolation, for every value that contains a secret. */
export function collectSecrets(node: ConfigNode, key = ""): Map<string, string> {
  if (node.kind === "scalar") return new Map(node.secret === undefined ? [] : [[key, node.secret]]);
  const children: [string | number, ConfigNode][] = node.kind === "list"
    ? [...node.items.entries()]
    : [...node.entries].map(([name, entry]) => [name, entry.node]);
  return new Map(
    children.flatMap(([name, child]) => [
      ...collectSecrets(child, key === "" ? `${name}` : `${key}.${name}`),
    ]),
  );
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

/** The origin of every value: `file:line`, `command line`, `RGX_…` or `default`. */
export function collectOrigins(config: RunConfig, tree: MapNode): Map<string, string> {
  return new Map(leaves(config).map(([key]) => [key, origin(originOf(key, tree))]));
}

function originOf(key: string, tree: MapNode): Position {
  const at = (path: string) => nodeAt(tree, path.split("."))?.at;
  const [section, index, field] = key.split(".");
  if (section === "rewards" && index !== undefined) {
    const weight = field === "weight" ? at(`training.reward_weights.${index}`) : undefined;
    // A reward can be written as only its name, and a single reward without a list.
    const named = field === "name" ? at(`rewards.${index}`) ?? at("rewards") : undefined;
    return weight ?? at(key) ?? named ?? nowhere(DEFAULTS);
  }
  const derived = key === "training.max_prompt_length" ? at("model.max_seq_length") : undefined;
  return at(key) ?? derived ?? nowhere(DEFAULTS);
}

function origin(at: Position): string {
  return at.line === 0 ? at.source.name : formatPosition(at).replace(/:\d+$/, "");
}
