/**
 * Builds the typed {@link RunConfig} from the merged tree, with the types, ranges and defaults of
 * the schema. Rules about several keys are in `rules/`.
 */
import { modelName } from "../hub/repository.ts";
import type { ConfigNode, MapNode, Problems } from "./documents/node.ts";
import { describeNode, nodeAt } from "./documents/node.ts";
import { TRANSLATED_KEYS } from "./foreign/foreign_keys.ts";
import { checkRules } from "./rules/rules.ts";
import { readRewards } from "./schema/reward_list.ts";
import type { RunConfig } from "./schema/run_config.ts";
import type { Keys, KeySpec, PartValues, Section, SectionParts } from "./types/key_spec.ts";
import { REQUIRED, type Values } from "./types/key_spec.ts";
import * as schema from "./schema/schema.ts";

/**
 * The complete configuration. Use it only if `problems` stays empty: keys with a wrong value have
 * no value.
 */
export function buildRunConfig(
  tree: MapNode,
  problems: Problems,
  phases: "all" | "sft" = "all",
): RunConfig {
  const shaping = readSection(schema.SHAPING, tree, problems);
  // These keys have been translated already. Here their values are only checked.
  readSection(TRANSLATED_KEYS, tree, problems);
  const rewards = readRewards(
    nodeAt(tree, "rewards"),
    shaping["training.reward_weights"],
    problems,
  );
  const environments = readSection(schema.ENVIRONMENTS, tree, problems);
  const playing = environments.environment ?? environments.environments;
  if (playing && !rewards.some(({ name, file }) => name === "environment" && !file)) {
    rewards.push({ name: "environment", weight: 1, params: {} });
  }
  const parts = readParts(schema.PARTS, tree, problems);
  const config: RunConfig = { ...parts, rewards, ...environments };
  // A section that is there is on.
  if (config.lora !== null) Reflect.deleteProperty(config.lora, "enabled");
  config.model.shape = shapeOfModel(config.model, tree, problems);
  const limit = shaping["model.max_seq_length"];
  checkRules(config, limit ?? null, tree, problems, phases);
  if (limit !== null && config.training.max_prompt_length === null) {
    config.training.max_prompt_length = limit - config.training.max_completion_length;
  }
  return config;
}

/**
 * Model sizes written in the configuration; `of` names their model. Null if the configuration names
 * another model than the base file that gave the sizes.
 */
function shapeOfModel(
  { model_name_or_path: name, shape }: RunConfig["model"],
  tree: MapNode,
  problems: Problems,
): RunConfig["model"]["shape"] {
  // Both are undefined if their values are wrong.
  if (!shape || !name) return null;
  if (shape["of"] === undefined) return { of: name, ...shape };
  if (shape["of"] === name || shape["of"] === modelName(name)) return shape;
  const node = nodeAt(tree, "model.shape"),
    source = nodeAt(tree, "model.model_name_or_path")?.at.source;
  const entries = node?.kind === "map" ? [...node.entries] : [];
  const overridden = entries.find(([, { keyAt }]) =>
    keyAt.source === source || keyAt.source.isLast
  );
  if (overridden !== undefined) {
    const [key, { keyAt }] = overridden;
    problems.add(
      keyAt,
      `model.shape.${key}`,
      `sizes of "${shape["of"]}", and the model is "${name}": ` +
        "write its name in model.shape.of, with all its sizes",
    );
  }
  return null;
}

/** The job of `rgx slurm`, alone. */
export function readSlurm(tree: MapNode, problems: Problems): RunConfig["slurm"] {
  return readParts({ slurm: schema.SLURM }, tree, problems).slurm;
}

/** The sections. An optional one that is missing or switched off is null. */
function readParts<P extends SectionParts>(
  parts: P,
  tree: MapNode,
  problems: Problems,
): PartValues<P> {
  const read = Object.entries(parts).map(([name, section]) => {
    if (section === null) return [name, undefined];
    if (section.isOptional && nodeAt(tree, section.path)?.kind !== "map") return [name, null];
    const values = readSection(section, tree, problems);
    if (section.isOptional && section.isOn?.(values) === false) return [name, null];
    return [name, { ...values, ...readParts(section.parts ?? {}, tree, problems) }];
  });
  return Object.fromEntries(read);
}

/** Reads all keys of a section. A key with a wrong value is reported and stays undefined. */
function readSection<K extends Keys>(
  section: Section<K>,
  tree: MapNode,
  problems: Problems,
): Values<K> {
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(section.keys)) {
    const path = section.path === "" ? name : `${section.path}.${name}`;
    values[name] = readKey(spec, path, nodeAt(tree, path), values, tree, problems);
  }
  return values as Values<K>;
}

function readKey(
  spec: KeySpec,
  path: string,
  node: ConfigNode | undefined,
  section: Readonly<Record<string, unknown>>,
  tree: MapNode,
  problems: Problems,
): unknown {
  // A value with a `${…}` that could not be filled in has been reported.
  if (problems.has(path)) return undefined;
  if (node !== undefined) {
    // If the user wrote a key of another project, the message names that key, too.
    const written = node.foreign === undefined ? "" : ` (${node.foreign})`;
    return spec.type.read(
      node,
      (where, text, sub = "") => problems.add(where, path + sub, text + written),
    );
  }
  if (spec.default !== REQUIRED) {
    return typeof spec.default === "function" ? spec.default(section) : spec.default;
  }
  if (path === "rewards") return undefined; // the rules report it
  const around = nodeAt(tree, path.split(".").slice(0, -1).join(".")) ?? tree;
  const inside = describeNode(around) === "a map" ? "" : `, found ${describeNode(around)}`;
  problems.add(around.at, path, `missing, expected ${spec.type.expected}: ${spec.doc}${inside}`);
  return undefined;
}
