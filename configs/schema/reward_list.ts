/**
 * Reads the list of rewards. An item is a name, or `{name, weight, …parameters}`, which is checked
 * against the registry, or `{path, weight, …parameters}` for a file of the user.
 */
import { basename, extname } from "node:path";
import { RgxError } from "../../core/errors.ts";
import { hostProblem } from "../../rewards/custom/reward_file.ts";
import { type BuiltInReward, getReward } from "../../rewards/registry.ts";
import { checkParams, withDefaults } from "../../core/named_params.ts";
import { didYouMean } from "../../core/suggest.ts";
import {
  type ConfigNode,
  describeNode,
  type MapNode,
  type Problems,
  toJson,
} from "../documents/node.ts";
import type { RewardSection } from "./reward_section.ts";
import { bool, float, int, oneOrMore, refine, text, type ValueType } from "../types/value_types.ts";

/** `weights` (TRL's `reward_weights`) replace the weights of the items, in order. */
export function readRewards(
  node: ConfigNode | undefined,
  weights: readonly number[] | null | undefined,
  problems: Problems,
): RewardSection[] {
  if (node === undefined) return [];
  const items = node.kind === "list"
    ? node.items
    : node.kind === "scalar" && typeof node.value === "string"
    ? [node]
    : null;
  if (items === null) {
    const text = `expected a list of names or of {name, weight, …parameters}, found `;
    problems.add(node.at, "rewards", text + describeNode(node));
    return [];
  }
  const sections = items.map((item, i) => readReward(item, `rewards.${i}`, problems));
  const names = sections.map((section) => section?.as ?? section?.name);
  for (const [i, section] of sections.entries()) {
    const first = names.indexOf(names[i]);
    if (section === null || first === i) continue;
    const remedy = section.file === undefined
      ? "; `as` gives one another name in metrics"
      : "; give each a name of its own";
    const text = `${names[i]} is listed twice (as rewards.${first} too)${remedy}`;
    problems.add(items[i]!.at, `rewards.${i}`, text);
  }
  if (weights) {
    if (weights.length !== items.length) {
      const text = `${weights.length} weights for ${items.length} rewards`;
      problems.add(node.at, "training.reward_weights", text);
    }
    weights.forEach((weight, i) => {
      const section = sections[i];
      if (section) section.weight = weight;
    });
  }
  return sections.filter((section) => section !== null);
}

function readReward(item: ConfigNode, key: string, problems: Problems): RewardSection | null {
  if (item.kind === "scalar" && typeof item.value === "string") {
    const reward = find(item.value, item, key, problems);
    return reward && {
      name: reward.name,
      weight: reward.defaultWeight ?? 1,
      params: withDefaults(reward.params, {}),
    };
  }
  if (item.kind !== "map") {
    const text = `expected a name or {name, weight, …parameters}, found ${describeNode(item)}`;
    problems.add(item.at, key, text);
    return null;
  }
  const fields = new Fields(item, key, problems);
  const path = fields.read("path", text());
  if (path !== undefined) return readFileReward(fields, path);
  const name = fields.read("name", text());
  if (name === undefined) {
    if (!item.entries.has("name") && !item.entries.has("path")) {
      problems.add(item.at, key, "name is missing");
    }
    return null;
  }
  const reward = find(name, item.entries.get("name")!.node, `${key}.name`, problems);
  const weight = fields.read("weight", float(), reward?.defaultWeight ?? 1);
  const timeout = fields.read("timeout", SECONDS);
  const as = fields.read("as", METRIC_NAME);
  if (reward === null || weight === undefined) return null;
  const given = fields.rest();
  for (const message of checkParams(`reward ${reward.name}`, reward.params, given)) {
    const field = message.slice(0, message.indexOf(":"));
    const near = Object.hasOwn(given, field) && !Object.hasOwn(reward.params, field)
      ? didYouMean(field, COMMON_FIELDS)
      : "";
    reportField(message + near, item, key, problems);
  }
  const params = withDefaults(reward.params, given);
  if ("check" in reward && checkParams(reward.name, reward.params, given).length === 0) {
    try {
      reward.check(params);
    } catch (error) {
      if (!(error instanceof RgxError)) throw error;
      reportField(error.message, item, key, problems);
    }
  }
  return {
    name: reward.name,
    ...as !== undefined && { as },
    weight,
    params,
    ...timeout !== undefined && { timeout },
  };
}

/** Fields that every built-in reward has. */
const COMMON_FIELDS = ["name", "as", "weight", "timeout"];
const METRIC_NAME = refine(
  text(),
  (name) =>
    /^[A-Za-z0-9_]+$/.test(name)
      ? null
      : `expected a name of letters, digits and _, found ${JSON.stringify(name)}`,
);
const SECONDS = float({ above: 0 });
const HOSTS = refine(
  oneOrMore(text(), "a list of hosts"),
  (hosts) => hosts.map(hostProblem).find((problem) => problem !== null) ?? null,
);

/**
 * A reward from a user's file. Every field that is not one of these is a parameter of the reward.
 */
function readFileReward(fields: Fields, path: string): RewardSection | null {
  const name = fields.read("name", text(), nameOf(path));
  const weight = fields.read("weight", float(), 1);
  const timeout = fields.read("timeout", SECONDS);
  const sha256 = fields.read("sha256", text());
  const net = readHosts(fields);
  const concurrency = fields.read("concurrency", int({ min: 1 }));
  const retries = fields.read("retries", int({ min: 0 }));
  const cache = fields.read("cache", bool());
  if (name === undefined || weight === undefined) return null;
  return {
    name,
    weight,
    params: fields.rest(),
    ...timeout !== undefined && { timeout },
    file: {
      path,
      ...sha256 !== undefined && { sha256 },
      ...net !== undefined && { net },
      ...concurrency !== undefined && { concurrency },
      ...retries !== undefined && { retries },
      ...cache !== undefined && { cache },
    },
  };
}

/** The hosts of `net`, or of `permissions: {net: …}` as Deno's Workers have it. */
function readHosts(fields: Fields): string[] | undefined {
  const net = fields.read("net", HOSTS), { item, key, problems } = fields;
  const permissions = fields.node("permissions");
  if (permissions === undefined) return net;
  if (permissions.kind !== "map") {
    const text = `expected {net: [hosts]}, found ${describeNode(permissions)}`;
    problems.add(permissions.at, `${key}.permissions`, text);
    return net;
  }
  for (const [name, { keyAt }] of permissions.entries) {
    if (name === "net") continue;
    problems.add(keyAt, `${key}.permissions.${name}`, "cannot be granted: only net can");
  }
  const inner = new Fields(permissions, `${key}.permissions`, problems).read("net", HOSTS);
  if (inner === undefined || !item.entries.has("net")) return inner;
  problems.add(permissions.at, `${key}.permissions`, "net is given twice: here and as `net`");
  return net;
}

/**
 * The name of the file without its extension, with only the characters that names of metrics may
 * have.
 */
function nameOf(path: string): string {
  return basename(path, extname(path)).replace(/[^A-Za-z0-9_]/g, "_");
}

/** The fields of one item. Some are read by type; the rest are parameters. */
class Fields {
  readonly #read = new Set<string>();

  constructor(
    readonly item: MapNode,
    readonly key: string,
    readonly problems: Problems,
  ) {}

  /**
   * The value of a field. Undefined when it is missing and has no default, or when it is wrong,
   * which is reported.
   */
  read<T>(name: string, type: ValueType<T>, missing?: T): T | undefined {
    this.#read.add(name);
    const node = this.item.entries.get(name)?.node;
    if (node === undefined) return missing;
    return type.read(node, (at, words, sub = "") => {
      this.problems.add(at, `${this.key}.${name}${sub}`, words);
    });
  }

  /** The node of a field that is read elsewhere. */
  node(name: string): ConfigNode | undefined {
    this.#read.add(name);
    return this.item.entries.get(name)?.node;
  }

  rest(): Record<string, unknown> {
    const given: Record<string, unknown> = Object.create(null);
    for (const [name, { node }] of this.item.entries) {
      if (!this.#read.has(name)) given[name] = toJson(node);
    }
    return given;
  }
}

function find(
  name: string,
  node: ConfigNode,
  key: string,
  problems: Problems,
): BuiltInReward | null {
  try {
    return getReward(name);
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    problems.add(node.at, key, error.message);
    return null;
  }
}

/**
 * Reports a message of the form `field: what` at the position of the field in `map`, or at `map`
 * itself.
 */
export function reportField(
  message: string,
  map: ConfigNode,
  key: string,
  problems: Problems,
): void {
  const [, field, text] = /^([^\s:]+): (.*)$/s.exec(message) ?? [];
  const entry = map.kind === "map" && field !== undefined ? map.entries.get(field) : undefined;
  if (field === undefined || text === undefined) problems.add(map.at, key, message);
  else if (entry === undefined) problems.add(map.at, `${key}.${field}`, text);
  else {
    const at = text.startsWith("unknown") ? entry.keyAt : entry.node.at;
    problems.add(at, `${key}.${field}`, text);
  }
}
