/**
 * Reads the list of rewards. An item is a name, or `{name, weight, …parameters}`, which is checked
 * against the registry, or `{path, weight, …parameters}` for a file of the user; `function` names
 * the function of a file of Python.
 */
import { basename, extname } from "node:path";
import { RgxError } from "../../core/errors.ts";
import { hostProblem, isPython, type RewardFile } from "../../rewards/custom/reward_file.ts";
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
import {
  anything,
  bool,
  float,
  int,
  oneOrMore,
  refine,
  text,
  type ValueType,
} from "../types/value_types.ts";

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
  if (item.entries.has("path")) return readFileReward(item, key, problems);
  const { values: { name, ...common }, rest: given } = readFields(item, key, COMMON, problems);
  if (name === undefined) {
    if (!item.entries.has("name")) problems.add(item.at, key, "name is missing");
    return null;
  }
  const reward = find(name, item.entries.get("name")!.node, `${key}.name`, problems);
  if (reward === null) return null;
  for (const message of checkParams(`reward ${reward.name}`, reward.params, given)) {
    const field = message.slice(0, message.indexOf(":"));
    const near = Object.hasOwn(given, field) && !Object.hasOwn(reward.params, field)
      ? didYouMean(field, Object.keys(COMMON))
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
  return { name: reward.name, weight: reward.defaultWeight ?? 1, ...common, params };
}

const METRIC_NAME = refine(
  text(),
  (name) =>
    /^[A-Za-z0-9_]+$/.test(name)
      ? null
      : `expected a name of letters, digits and _, found ${JSON.stringify(name)}`,
);
const SECONDS = float({ above: 0 });
export const HOSTS = refine(
  oneOrMore(text(), "a list of hosts"),
  (hosts) => hosts.map(hostProblem).find((problem) => problem !== null) ?? null,
);

const COMMON = { name: text(), as: METRIC_NAME, weight: float(), timeout: SECONDS };

const OF_PYTHON = { function: text(), python: text() };

/** Fields of a reward from a user's file. Every other field is a parameter of the reward. */
const OF_FILE = {
  path: text(),
  name: text(),
  weight: float(),
  timeout: SECONDS,
  sha256: text(),
  net: HOSTS,
  permissions: anything("{net: [hosts]}") as ValueType<ConfigNode>,
  concurrency: int({ min: 1 }),
  retries: int({ min: 0 }),
  cache: bool(),
} satisfies Record<Exclude<keyof RewardFile, keyof typeof OF_PYTHON>, ValueType<unknown>> & Types;

function readFileReward(item: MapNode, key: string, problems: Problems): RewardSection | null {
  const written = item.entries.get("path")!.node;
  const inPython = written.kind === "scalar" && isPython(String(written.value));
  const types: typeof OF_FILE & Partial<typeof OF_PYTHON> = inPython
    ? { ...OF_FILE, ...OF_PYTHON }
    : OF_FILE;
  const { values, rest: params } = readFields(item, key, types, problems);
  const { path, name, weight = 1, timeout, permissions, ...more } = values;
  if (path === undefined) return null;
  for (const field of inPython ? ["net", "permissions"] : []) {
    const text = "a reward in Python has no sandbox: it may connect to any host";
    if (item.entries.has(field)) {
      problems.add(item.entries.get(field)!.keyAt, `${key}.${field}`, text);
    }
  }
  if (permissions !== undefined) {
    const net = grantedHosts(permissions, `${key}.permissions`, problems);
    if (net !== undefined && more.net !== undefined) {
      problems.add(permissions.at, `${key}.permissions`, "net is given twice: here and as `net`");
    } else if (net !== undefined) more.net = net;
  }
  return {
    name: name ?? more.function ?? nameOf(path),
    weight,
    params,
    ...timeout !== undefined && { timeout },
    file: { path, ...more },
  };
}

/** The hosts of `permissions: {net: …}`, as Deno's Workers have it. */
function grantedHosts(node: ConfigNode, key: string, problems: Problems): string[] | undefined {
  if (node.kind !== "map") {
    problems.add(node.at, key, `expected {net: [hosts]}, found ${describeNode(node)}`);
    return undefined;
  }
  for (const [name, { keyAt }] of node.entries) {
    if (name !== "net") problems.add(keyAt, `${key}.${name}`, "cannot be granted: only net can");
  }
  return readFields(node, key, { net: HOSTS }, problems).values.net;
}

/**
 * The name of the file without its extension, with only the characters that names of metrics may
 * have.
 */
function nameOf(path: string): string {
  return basename(path, extname(path)).replace(/[^A-Za-z0-9_]/g, "_");
}

type Types = Readonly<Record<string, ValueType<unknown>>>;
type ValuesOf<K extends Types> = {
  -readonly [N in keyof K]?: K[N] extends ValueType<infer T> ? T : never;
};

/** The fields of a map that have these types, without wrong ones, and the values of the others. */
function readFields<K extends Types>(
  map: MapNode,
  key: string,
  types: K,
  problems: Problems,
): { values: ValuesOf<K>; rest: Record<string, unknown> } {
  const values: Record<string, unknown> = {}, rest: typeof values = Object.create(null);
  for (const [name, { node }] of map.entries) {
    if (!Object.hasOwn(types, name)) rest[name] = toJson(node);
    else {
      const value = types[name]!.read(node, (at, words, sub = "") => {
        problems.add(at, `${key}.${name}${sub}`, words);
      });
      if (value !== undefined) values[name] = value;
    }
  }
  return { values: values as ValuesOf<K>, rest };
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
