/**
 * Builds the typed {@link RunConfig} from the merged tree, with the types, ranges and defaults of
 * the schema. Rules about several keys are in `rules/`.
 */
import { modelName } from "../hub/repository.ts";
import {
  type ConfigNode,
  describeNode,
  type MapNode,
  nodeAt,
  type Problems,
} from "./documents/node.ts";
import { TRANSLATED_KEYS } from "./foreign/foreign_keys.ts";
import { checkRules } from "./rules/rules.ts";
import { readRewards } from "./schema/reward_list.ts";
import type { RunConfig } from "./schema/run_config.ts";
import { type Keys, type KeySpec, REQUIRED, type Section, type Values } from "./types/key_spec.ts";
import * as schema from "./schema/schema.ts";

function at(tree: MapNode, path: string): ConfigNode | undefined {
  return nodeAt(tree, path.split("."));
}

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
  const rewards = readRewards(at(tree, "rewards"), shaping["training.reward_weights"], problems);
  const environments = readSection(schema.ENVIRONMENTS, tree, problems);
  const playing = environments.environment ?? environments.environments;
  if (playing && !rewards.some(({ name, file }) => name === "environment" && !file)) {
    rewards.push({ name: "environment", weight: 1, params: {} });
  }
  const optional = <K extends Keys>(section: Section<K>, isOn?: (values: Values<K>) => boolean) =>
    readOptional(section, tree, problems, isOn);
  const init = optional(schema.INIT),
    lora = optional(schema.LORA, ({ enabled }) => enabled !== false);
  const curriculum = optional(schema.CURRICULUM, ({ enabled }) => enabled);
  const { enabled: _, ...adapter } = lora ?? {} as NonNullable<typeof lora>;
  const config: RunConfig = {
    model: {
      ...readSection(schema.MODEL, tree, problems),
      init: init && { ...init, tokenizer: readSection(schema.TOKENIZER, tree, problems) },
    },
    lora: lora && adapter,
    data: readSection(schema.DATA, tree, problems),
    curriculum: curriculum && {
      ...curriculum,
      enabled: true,
      schedule: readSection(schema.CURRICULUM_SCHEDULE, tree, problems),
    },
    rewards,
    sft: optional(schema.SFT, ({ max_steps }) => max_steps !== 0),
    dpo: optional(schema.DPO),
    teacher: optional(schema.TEACHER),
    eval: readSection(schema.EVAL, tree, problems),
    generation: readSection(schema.GENERATION, tree, problems),
    ...environments,
    multi_turn: readSection(schema.MULTI_TURN, tree, problems),
    training: readSection(schema.TRAINING, tree, problems),
    logging: readSection(schema.LOGGING, tree, problems),
    hf_upload: optional(schema.HF_UPLOAD, ({ enabled }) => enabled !== false),
    slurm: readSlurm(tree, problems),
  };
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
  const node = at(tree, "model.shape"), source = at(tree, "model.model_name_or_path")?.at.source;
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
  return readOptional(schema.SLURM, tree, problems);
}

/** A section that may be missing or switched off. Its value is then null. */
function readOptional<K extends Keys>(
  section: Section<K>,
  tree: MapNode,
  problems: Problems,
  isOn: (values: Values<K>) => boolean = () => true,
): Values<K> | null {
  if (at(tree, section.path)?.kind !== "map") return null;
  const values = readSection(section, tree, problems);
  return isOn(values) ? values : null;
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
    values[name] = readKey(spec, path, at(tree, path), values, tree, problems);
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
  const around = at(tree, path.split(".").slice(0, -1).join(".")) ?? tree;
  const inside = describeNode(around) === "a map" ? "" : `, found ${describeNode(around)}`;
  problems.add(around.at, path, `missing, expected ${spec.type.expected}: ${spec.doc}${inside}`);
  return undefined;
}
